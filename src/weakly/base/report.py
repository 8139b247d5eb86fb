"""One self-contained HTML file: words first, then tables and pictures; no network, prints well, light and dark."""

from __future__ import annotations

import io
import os
import re
from abc import ABC, abstractmethod
from html import escape
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast, overload

from .plot import style
from .results import Column, Finding, safe_label, write_file
from .symbols import definition

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

T = TypeVar("T")
_CSS = Path(__file__).with_name("report.css")


def _unbroken(text: str) -> str:
    """The text with a number and its unit, and a value and its error, on one line."""
    return re.sub(r"(\d|%) (s|h|%|± .*)(?![a-z])", "\\1\u00a0\\2", text.replace("all classes", "all\u00a0classes"))


def _starts(figure: Any) -> list[str]:
    """Where a linear axis of values begins, if that is above 0: a small difference looks large there."""
    starts = [
        ax.yaxis.get_major_formatter()(float(f"{low:.3g}"), None)
        for ax in figure.axes
        for low, high in [sorted(ax.get_ylim())]
        if ax.get_yscale() == "linear" and low > 0.05 * high  # below that nobody would see it
    ]
    return [f"The axis begins at {start}, not at 0." for start in starts[:1]]


#: On a phone a section that is higher than the screen is folded; on paper none is.
_FOLD = """<script type="module">
const sections = document.querySelectorAll("details");
if (innerWidth <= 560) for (const each of sections) each.open = each.offsetHeight <= innerHeight;
addEventListener("beforeprint", () => { for (const each of sections) each.open = true; });
</script>"""


class _Figure(str):
    """A part that stands beside the figures next to it."""


class Report:
    """A page that grows from top to bottom; everything that comes from outside is escaped.

    >>> page = Report("Plan").text("a < b")
    >>> "a &lt; b" in page.html()
    True
    """

    def __init__(self, title: str) -> None:
        self.title = title
        self._parts: list[str] = [f"<h1>{escape(title)}</h1>"]

    def heading(self, text: str) -> Report:
        """A section heading."""
        return self.raw(f"<h2>{escape(text)}</h2>")

    def sentences(self, texts: list[str], mark: str = "") -> Report:
        """The answer, set apart: a headline, then a list; coloured by a mark: good, fair, poor or worse."""
        self._parts.append(f'<p class="{f"answer {mark}".strip()}">{escape(texts[0])}</p>')
        return self.items(texts[1:]) if len(texts) > 1 else self

    def raw(self, html: str) -> Report:
        """Markup that is ready; what comes from outside is escaped in it."""
        self._parts.append(html)
        return self

    def text(self, text: str, *, small: bool = False) -> Report:
        """A paragraph."""
        return self.raw(f"<p{' class=small' if small else ''}>{escape(text)}</p>")

    def code(self, text: str) -> Report:
        """A line of code."""
        return self.raw(f"<p><code>{escape(text)}</code></p>")

    def items(self, texts: list[str]) -> Report:
        """A list of sentences."""
        return self.raw("<ul>" + "".join(f"<li>{escape(text)}</li>" for text in texts) + "</ul>")

    def table(
        self, frame: Any, *, heads: dict[str, str] | None = None, chosen: int | None = None, most: int | None = None
    ) -> Report:
        """A table with the house's number formats; headers are the house's words, or those of ``heads``.

        The ``chosen`` row is set apart. Of more than ``most`` rows the first are shown.
        """
        if most is not None and len(frame) > most:
            self.text(f"The first {most:,} of {len(frame):,} rows; all are in the JSON.", small=True)
            frame = frame.head(most)
        columns = Column.of(frame, heads)
        left = {each.name: " class=words" if each.is_words else "" for each in columns}
        shown = {each.name: f'data-head="{escape(each.head)}"' for each in columns}  # on a phone each cell has its head
        head = "".join(
            f'<th{left[each.name]} title="{escape(definition(each.name))}">{escape(each.head)}</th>' for each in columns
        )
        body = "".join(
            f"<tr{' class=chosen' if k == chosen else ''}>"
            + "".join(
                f"<td{left[each.name]} {shown[each.name]}>{escape(_unbroken(each.cells[k]))}</td>" for each in columns
            )
            + "</tr>"
            for k in range(len(frame))
        )
        table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        return self.raw(f'<div class="scroll" tabindex="0">{table}</div>')

    def figure(
        self, figure: Any, caption: str, *, name: str | None = None, title: str = "", wide: bool = False
    ) -> Report:
        """A matplotlib figure, kept inside the file as SVG whose text is text, with its caption.

        Figures that follow each other stand in two columns, a ``wide`` one over both.
        """
        caption = " ".join(filter(None, [caption, *_starts(figure)]))
        buffer = io.StringIO()
        with style():
            figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
        drawn = re.sub(r"<metadata>.*?</metadata>|<style.*?</style>", "", buffer.getvalue(), flags=re.S)
        lines = 'style="stroke-linejoin: round; stroke-linecap: butt; max-width: 100%; height: auto"'
        drawn = drawn[drawn.index("<svg") :]
        drawn = drawn.replace("<svg", f'<svg role="img" aria-label="{escape(caption)}" {lines}', 1)
        anchor = f' id="{escape(name)}"' if name else ""
        above = f"<h3>{escape(title)}</h3>" if title else ""
        size = " class=wide" if wide else f' style="--wide: {figure.get_figwidth():g}"'
        part = f"<figure{anchor}{size}>{above}{drawn}<figcaption>{escape(caption)}</figcaption></figure>"
        return self.raw(_Figure(part))

    def add(self, other: Report) -> Report:
        """Everything of another page below this one; its title becomes a section heading."""
        self.heading(other.title)._parts.extend(other._parts[1:])
        return self

    def body(self) -> str:
        """The page without the head, to stand in another page."""
        body = ""
        for figures, parts in groupby(self._parts, key=lambda part: isinstance(part, _Figure)):
            text = "".join(parts)
            body += f'<div class="figures">{text}</div>' if figures else text
        return body

    def html(self) -> str:
        """The whole page."""
        head = (
            '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
            f"<title>{escape(self.title)}</title><style>{_CSS.read_text(encoding='utf-8')}</style>"
        )
        answer, *sections = re.split("(?=<h2)", self.body())
        folded = "".join(
            f"<details open><summary>{each.replace('</h2>', '</h2></summary>', 1)}</details>" for each in sections
        )
        return f'<!doctype html><html lang="en"><head>{head}</head><body>{answer}{folded}{_FOLD}</body></html>\n'

    def write(self, path: str | os.PathLike[str], *, command: str | None = None) -> Path:
        """The path of the written file, which ends with the command; its folder is made if need be."""
        if command:
            self.heading("The command that made it").code(command)
        return write_file(path, self.html())


class Number(Generic[T]):
    """An attribute of a result that is one of its numbers: ``result.event_recall``."""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name
        self.__doc__ = definition(name.removesuffix("_se"))

    @overload
    def __get__(self, result: None, owner: type) -> Number[T]: ...
    @overload
    def __get__(self, result: Result, owner: type) -> T: ...
    def __get__(self, result: Result | None, owner: type) -> Number[T] | T:
        return self if result is None else cast(T, result.number(self.name))


class Result(ABC):
    """What every result offers: itself in words, numbers for JSON, tables, pictures, one report, and in a notebook.

    Results are frozen dataclasses that carry the ``settings`` that made them.
    """

    if TYPE_CHECKING:  # fields of some results, and a dataclass would take them for the fields' defaults

        @property
        def settings(self) -> dict[str, Any]:
            """What made the result."""

        @property
        def answer(self) -> str:
            """What was found, in a few sentences."""

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What there is to mind: findings, warnings, caveats and notes, the heaviest first."""
        return ()

    def sentences(self) -> list[str]:
        """The answer sentence by sentence, as a terminal shows it."""
        return [self.answer]

    def number(self, name: str) -> float | NDArray[np.float64]:
        """One of the numbers by its name; an array where there are several rows."""
        table = self.to_frame()
        if name not in table:
            raise AttributeError(f"this {type(self).__name__} has no {name}")
        values: NDArray[np.float64] = table[name].to_numpy()
        return values if len(values) != 1 else table[name].tolist()[0]

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Everything in plain numbers, for JSON."""

    @abstractmethod
    def to_frame(self) -> pd.DataFrame:
        """The rows of the result."""

    @abstractmethod
    def plot(self, ax: Axes | None = None) -> Axes:
        """The picture of the result, as matplotlib axes."""

    @abstractmethod
    def page(self) -> Report:
        """The report before it is written."""

    def tables(self) -> dict[str, pd.DataFrame]:
        """Every table by the name of its file."""
        return {type(self).__name__.lower(): self.to_frame()}

    def figures(self) -> dict[str, Figure]:
        """Every picture by the name of its file."""
        return {"figure": self.plot().figure}  # type: ignore[dict-item]

    def brief(self) -> pd.DataFrame:
        """The part of the table that people read first."""
        return self.to_frame()

    def shown(self) -> dict[str, pd.DataFrame]:
        """The tables that a terminal shows, by their titles."""
        return {"": self.brief()}

    def report(self, path: str | os.PathLike[str], *, command: str | None = None) -> Path:
        """The path of the HTML file that is written: everything in one file, with the command that made it."""
        return self.page().write(path, command=command)

    def _repr_html_(self) -> str:
        sentences = [text.removeprefix("- ") for text in self.sentences()] or [self.answer]
        page = Report(type(self).__name__).sentences(sentences)
        return page.figure(self.plot().figure, "").table(next(iter(self.shown().values())), most=20).body()

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {safe_label(self.answer.partition(chr(10))[0], most=160)}>"
