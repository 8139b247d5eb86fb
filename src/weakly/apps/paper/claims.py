"""The claims of the paper: its sentences (``claims.toml``), one stated tolerance for each kind, and the verdict.

Below: the sentences without LaTeX, as MathML for a page and as plain text for a terminal or JSON. Only what they use is
known: sub- and superscripts, fractions, roots, Greek letters, relations, references.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from .measures import MEASURES

HOLDS, ABOUT, FAILS, OPEN, REMARK = "holds", "holds approximately", "does not hold", "not repeated", "remark"
VERDICTS = (HOLDS, ABOUT, FAILS, OPEN)
_JUDGING = tomllib.loads(Path(__file__).with_name("judging.toml").read_text(encoding="utf-8"))
#: Category -> what it holds, and how one or several that do not hold are called; kind of comparison -> its tolerance.
CATEGORIES, TOLERANCES = _JUDGING["categories"], _JUDGING["tolerances"]


def judge(kind: str, value: Any, target: Any) -> str:
    """The verdict on a value beside what the paper says, by the tolerance of its kind.

    >>> judge("digits", 0.7639, "0.76"), judge("accuracy", 0.719, 0.764), judge("order", 2, 1)
    ('holds', 'holds approximately', 'does not hold')
    """
    if kind == "share":
        return HOLDS if value == 1 else ABOUT if value >= 0.5 else FAILS
    if kind == "digits":
        pairs = [(float(x), str(printed)) for x, printed in zip(np.atleast_1d(value), np.atleast_1d(target))]
        if all(round(x, len(printed.partition(".")[2])) == float(printed) for x, printed in pairs):
            return HOLDS
        return ABOUT if all(abs(x - float(p)) <= 0.05 * abs(float(p)) for x, p in pairs) else FAILS
    x, aim = np.asarray(value, dtype=np.float64), np.asarray(target, dtype=np.float64)
    if kind == "order":
        return HOLDS if bool(np.all(x <= aim + 1e-9)) else FAILS
    if kind == "exact":
        return HOLDS if bool(np.all(np.abs(x - aim) <= 1e-9 * np.maximum(1.0, np.abs(aim)))) else FAILS
    near, far = {"accuracy": (0.01, 0.05), "effect": (0.05, 0.1), "size": (0.05, 0.25)}[kind]
    off = np.abs(x / aim - 1) if kind == "size" else np.abs(x - aim)
    return HOLDS if np.mean(off) <= near else ABOUT if np.mean(off) <= far else FAILS


@dataclass(frozen=True)
class Claim:
    """One claim; ``verdict`` is the one on record, and a run that finds another is a regression in us."""

    name: str
    category: str
    where: str
    sentence: str  # the paper's own, in LaTeX; of the scripts' claims the one they serve
    printed: str
    tolerance: str
    verdict: str
    measured: str  # what is found, in words with {numbers}
    find: Callable[[], tuple[Any, Any, dict[str, Any]]]
    erratum: str = ""
    short: str = ""

    def check(self) -> Checked:
        """The claim with what was measured now."""
        value, target, numbers = self.find()
        verdict = self.verdict if self.tolerance == "none" else judge(self.tolerance, value, target)
        return Checked(self, value, target, self.measured.format(value=value, target=target, **numbers), verdict)


@dataclass(frozen=True)
class Checked:
    """A claim, what a run found beside what it must meet (for ``order`` an upper limit), the same in words, and the
    verdict that follows."""

    claim: Claim
    value: Any
    target: Any
    words: str
    verdict: str

    @property
    def changed(self) -> bool:
        """Whether the verdict differs from the one on record."""
        return self.verdict != self.claim.verdict

    def to_dict(self) -> dict[str, Any]:
        """The row of ``claims.json``."""
        claim = self.claim
        value = np.atleast_1d(np.asarray(self.value, dtype=np.float64))
        return {
            "name": claim.name,
            "category": claim.category,
            "where": claim.where,
            "sentence": text(claim.sentence),
            "printed": text(claim.printed),
            "measured": self.words,
            "value": float(value.flat[0]) if value.size == 1 and math.isfinite(value.flat[0]) else None,
            "tolerance": f"{claim.tolerance}: {TOLERANCES[claim.tolerance]}",
            "verdict": self.verdict,
            "recorded_verdict": claim.verdict,
            "erratum": claim.erratum,
        }


@cache
def all_claims() -> tuple[Claim, ...]:
    """Every claim, in the order of the paper.

    >>> len(all_claims()) > 50
    True
    """
    rows = tomllib.loads(Path(__file__).with_name("claims.toml").read_text(encoding="utf-8"))
    return tuple(Claim(name, find=MEASURES[name], **row) for name, row in rows.items())


def counts(rows: Iterable[tuple[Claim, str]]) -> dict[str, dict[str, int]]:
    """Category (and "all") -> verdict -> number of claims, from claims and their verdicts; remarks are left out.

    >>> counts([(all_claims()[0], HOLDS)])["number"]["holds"]
    1
    """
    every = Counter((claim.category, verdict) for claim, verdict in rows)
    table = {name: {verdict: every[name, verdict] for verdict in VERDICTS} for name in CATEGORIES}
    return table | {"all": {verdict: sum(row[verdict] for row in table.values()) for verdict in VERDICTS}}


def summary(rows: Iterable[tuple[Claim, str]]) -> str:
    """How the claims fare, in a few sentences: the theorems first, then how many of which category do not hold.

    >>> summary([])
    'No claim was checked.'
    """
    rows = list(rows)
    table = counts(rows)
    holds, about, fails, unchecked = table["all"].values()
    if not rows:
        return "No claim was checked."
    theorems = {claim.name[-1]: (claim, verdict) for claim, verdict in rows if re.fullmatch(r"theorem-\d", claim.name)}
    sound = [number for number, (_, verdict) in theorems.items() if verdict == HOLDS]
    lead = [f"Theorems {sound[0]} to {sound[-1]} hold as printed"] if len(sound) > 1 else []
    lead += [claim.short or f"Theorem {k} {verdict}" for k, (claim, verdict) in theorems.items() if verdict != HOLDS]
    kinds = sorted(((row[FAILS], name) for name, row in table.items() if name != "all" and row[FAILS]), reverse=True)
    parts = [f"{n} {CATEGORIES[name][1 if n == 1 else 2]}" for n, name in kinds]
    said = ["; ".join(lead) + "."] if lead else []
    said += [f"Of {sum(table['all'].values())} claims, {holds} hold, {about} hold approximately and {fails} do not."]
    if parts:
        listed = ", ".join(parts[:-1]) + " and " * (len(parts) > 1) + parts[-1]
        said += [f"{'The one is' if fails == 1 else f'The {fails} are'} {listed}."]
    if unchecked:
        said += [f"For lack of data, {unchecked} {'was' if unchecked == 1 else 'were'} not repeated."]
    return " ".join(said)


_TOKEN = re.compile(r"\\[A-Za-z]+|\\.|\d+(?:\.\d+)?|[{}^_]|\S")
_SIMPLE = re.compile(r"\d+(\.\d+)?|\w(_\w+)?\*?(\^\w)?")
_MATHS = re.compile(r"\$(.+?)\$|\\\((.+?)\\\)")
_SPACED = "=<>≈≥≤∈→≫∼∩+−"
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
        sign = _JUDGING["signs"].get(token, token)
        if not self.markup:
            return f" {sign} " if sign in _SPACED else f"{sign} " if sign == "," else sign
        tag = "mn" if sign[0].isdigit() else "mi" if sign.isalpha() or sign == "∞" else "mo"
        return f"<{tag}>{escape(sign)}</{tag}>"


def _prose(latex: str) -> str:
    words = re.sub(r"~?\\ref\{([^}]*)\}", lambda match: f" {_JUDGING['references'][match[1]]}", latex)
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
