"""The paper's sentences without LaTeX: as MathML for a page, as plain text for a terminal or JSON.

Only what the sentences use is known: sub- and superscripts, fractions, roots, Greek letters, relations, references.
"""

from __future__ import annotations

import re
from html import escape

_TOKEN = re.compile(r"\\[A-Za-z]+|\\.|\d+(?:\.\d+)?|[{}^_]|\S")
_SIMPLE = re.compile(r"\d+(\.\d+)?|\w(_\w+)?\*?(\^\w)?")
_MATHS = re.compile(r"\$(.+?)\$|\\\((.+?)\\\)")
_SIGNS = {
    r"\gamma": "γ", r"\delta": "δ", r"\rho": "ρ", r"\mu": "μ", r"\infty": "∞", r"\E": "𝔼",
    r"\rightarrow": "→", r"\approx": "≈", r"\geq": "≥", r"\ge": "≥", r"\leq": "≤", r"\le": "≤", r"\in": "∈",
    r"\gg": "≫", r"\sim": "∼", r"\cap": "∩", r"\dots": "…", r"\{": "{", r"\}": "}", "-": "−",
}  # fmt: skip
_SPACED = "=<>≈≥≤∈→≫∼∩+−"
#: The labels of the paper that the sentences refer to.
_REFERENCES = {
    "thm:max_iou": "3", "thm:label_accuracy": "5", "app:thm3": "A.3", "eq:label_accuracy_recording": "14",
    "fig:simple_simulation": "6", "fig:normal_mean": "7", "fig:normal_variance": "8", "fig:gamma": "9",
}  # fmt: skip
#: Symbols in our own words: d_q*, f*, t_1, B_ORC, 10^9, and Greek letters.
_BARE = re.compile(r"\b([A-Za-z])_(\w+)(\*?)|\b([fB])\*|(?<=[\dγδ])\^(\d+)|([γδρμ])(\*?)")


class _Formula:
    """A formula as MathML or as text, read from left to right."""

    def __init__(self, latex: str, *, markup: bool) -> None:
        self.tokens, self.at, self.markup = _TOKEN.findall(latex), 0, markup

    def row(self) -> str:
        """Everything up to the closing brace or the end."""
        parts = []
        while self.at < len(self.tokens) and self.tokens[self.at] != "}":
            parts.append(self.scripted())
        return "".join(parts)

    def group(self) -> str:
        """What stands in braces, or the next atom."""
        if self.tokens[self.at] != "{":
            return self.atom()
        self.at += 1
        inside = self.row()
        self.at += 1
        return f"<mrow>{inside}</mrow>" if self.markup else inside

    def scripted(self) -> str:
        """An atom with its sub- and superscript."""
        base, marks = self.group(), {}
        while self.at < len(self.tokens) and self.tokens[self.at] in "_^":
            mark = self.tokens[self.at]
            self.at += 1
            marks[mark] = self.group()
        if not marks:
            return base
        if self.markup:
            tag = {"_": "msub", "^": "msup", "_^": "msubsup"}["".join(sorted(marks, reverse=True))]
            return f"<{tag}>{base}{marks.get('_', '')}{marks.get('^', '')}</{tag}>"
        low = f"_{marks['_']}" if "_" in marks else ""
        return base + low + ("" if "^" not in marks else "*" if marks["^"] == "*" else f"^{marks['^']}")

    def atom(self) -> str:
        """One sign, number, letter, fraction or root."""
        token = self.tokens[self.at]
        self.at += 1
        if token == r"\frac":
            over, under = self.group(), self.group()
            if self.markup:
                return f"<mfrac>{over}{under}</mfrac>"
            return "/".join(part if _SIMPLE.fullmatch(part) else f"({part})" for part in (over, under))
        if token == r"\sqrt":
            inside = self.group()
            return f"<msqrt>{inside}</msqrt>" if self.markup else f"√({inside})"
        if token == r"\text":
            self.at += 1
            end = self.tokens.index("}", self.at)
            word, self.at = "".join(self.tokens[self.at : end]), end + 1
            return f"<mtext>{word}</mtext>" if self.markup else word
        sign = _SIGNS.get(token, token)
        if not self.markup:
            return f" {sign} " if sign in _SPACED else f"{sign} " if sign == "," else sign
        tag = "mn" if sign[0].isdigit() else "mi" if sign.isalpha() or sign == "∞" else "mo"
        return f"<{tag}>{escape(sign)}</{tag}>"


def _prose(latex: str) -> str:
    words = re.sub(r"~?\\ref\{([^}]*)\}", lambda match: f" {_REFERENCES[match[1]]}", latex)
    return words.replace(r"\%", " %").replace("[...]", "…").replace("~", " ")


def text(latex: str) -> str:
    r"""The sentence in plain Unicode.

    >>> text(r"the ratio $\delta^* = d_q^*/d_e$ is $\frac{1}{1+\gamma}$")
    'the ratio δ* = d_q*/d_e is 1/(1 + γ)'
    """
    plain = _MATHS.sub(lambda match: _Formula(match[1] or match[2], markup=False).row().strip(), latex)
    return re.sub(r" {2,}", " ", _prose(plain))


def markup(latex: str) -> str:
    r"""The sentence as HTML, its formulas as MathML, which browsers draw by themselves.

    >>> markup(r"$\gamma$ < 1")
    '<math><mi>γ</mi></math> &lt; 1'
    """
    parts, end = [], 0
    for match in _MATHS.finditer(latex):
        parts += [words(_prose(latex[end : match.start()]))]
        parts += [f"<math>{_Formula(match[1] or match[2], markup=True).row()}</math>"]
        end = match.end()
    return "".join(parts) + words(_prose(latex[end:]))


def words(plain: str) -> str:
    """Our own words as HTML: d_q*, f*, γ and 10^9 are set as symbols.

    >>> words("f* < d_q* at γ = 0.5")
    '<i>f</i><sup>*</sup> &lt; <i>d</i><sub>q</sub><sup>*</sup> at <i>γ</i> = 0.5'
    """

    def symbol(match: re.Match[str]) -> str:
        base, low, star, letter, power, greek, raised = match.groups()
        if power:
            return f"<sup>{power}</sup>"
        star = "*" if letter else star or raised
        name = base or letter or greek
        return f"<i>{name}</i>" + (f"<sub>{low}</sub>" if low else "") + ("<sup>*</sup>" if star else "")

    return _BARE.sub(symbol, escape(plain, quote=False))
