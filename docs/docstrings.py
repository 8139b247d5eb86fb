"""Docstrings for the documentation site: the house writes numpy sections with RST roles, the site reads Markdown.

A griffe extension; mkdocstrings loads it (``extensions`` in mkdocs.yml). The sources stay as they are, so that
``help()`` and editors show what they always showed.
"""

from __future__ import annotations

import re
from typing import Any

import griffe

_ROLE = re.compile(r":(?:class|func|meth|mod|data|attr|exc):`([^`]+)`")
_MATH = re.compile(r":math:`([^`]+)`")
_SECTION = re.compile(r"^(Parameters|Other Parameters)\n-+\n(.*?)(?=^\w[\w ]*\n-+\n|\Z)", re.S | re.M)


def markdown(docstring: str) -> str:
    r"""The docstring with formulas between dollars, roles as code, and each parameter's words below its name.

    >>> print(markdown(".. math:: a\n    + b\n\nSee :func:`~weakly.plan` for :math:`d_q`."))
    <BLANKLINE>
    $$
    a
    + b
    $$
    <BLANKLINE>
    See `plan` for $d_q$.
    """
    return _SECTION.sub(lambda match: match[0].replace(match[2], _parameters(match[2])), _inline(_blocks(docstring)))


def _blocks(text: str) -> str:
    """``.. math::`` with everything that is indented below it as one formula."""
    lines, done = text.split("\n"), []
    while lines:
        line = lines.pop(0)
        if not line.lstrip().startswith(".. math::"):
            done.append(line)
            continue
        indent = len(line) - len(line.lstrip())
        formula = [line.partition(".. math::")[2].strip()]
        while lines and (not lines[0].strip() or len(lines[0]) - len(lines[0].lstrip()) > indent):
            formula.append(lines.pop(0).strip())
        pad = " " * indent
        done += ["", f"{pad}$$", *(pad + part for part in formula if part), f"{pad}$$", ""]
    return "\n".join(done)


def _inline(text: str) -> str:
    text = _ROLE.sub(lambda match: f"`{_shown(match[1])}`", text)
    return re.sub(r" ?\[\d+\]_", "", _MATH.sub(r"$\1$", text))


def _shown(target: str) -> str:
    """``~weakly.Lengths`` as Lengths, ``text <target>`` as text, ``.single`` as single."""
    named = re.fullmatch(r"(.+?) <[^>]+>", target)
    if named:
        return named[1]
    return target[1:].rpartition(".")[2] if target.startswith("~") else target.lstrip(".")


def _parameters(section: str) -> str:
    """``name : words`` is how the house writes; numpy would take the words for the type."""
    return re.sub(r"^(\*{0,2}\w[\w, *]*?) : (?=\S)", r"\1\n    ", section, flags=re.M)


class Docstrings(griffe.Extension):
    """Every docstring, once its object is known."""

    def on_object(self, *, obj: Any, **_: Any) -> None:
        """Rewrite the docstring in place."""
        if obj.docstring is not None:
            obj.docstring.value = markdown(obj.docstring.value)
