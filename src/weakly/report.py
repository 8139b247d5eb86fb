"""One self-contained HTML file: words first, then tables and pictures; no network, prints well, light and dark."""

from __future__ import annotations

import base64
import io
from html import escape
from pathlib import Path
from typing import Any

from .files import atomic_write
from .plot import style
from .results import show
from .symbols import definition, plain_name

_CSS = """
:root { color-scheme: light dark; --line: #8884; --soft: #8881; --accent: #0072B2; }
@media (prefers-color-scheme: dark) { :root { --accent: #56B4E9; }
  figure img { background: #fff; border-radius: 6px; } }
body { font: 16px/1.55 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h1 { line-height: 1.2; } h2 { margin-top: 2.2rem; border-bottom: 1px solid var(--line); padding-bottom: .2rem; }
.answer { font-size: 1.2rem; border-left: 4px solid var(--accent); padding: .4rem 1rem; background: var(--soft); }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .92rem; }
th, td { padding: .25rem .7rem; border-bottom: 1px solid var(--line); text-align: right; }
th:first-child, td:first-child { text-align: left; } td:first-child { white-space: nowrap; }
.scroll { overflow-x: auto; }
.words { text-align: left; }
figure { margin: 1.2rem 0; } figure img { max-width: 100%; height: auto; }
figcaption { font-size: .9rem; opacity: .85; }
code { background: var(--soft); padding: .1rem .3rem; overflow-wrap: anywhere; }
.small { font-size: .85rem; opacity: .8; }
@media print { body { max-width: none; margin: 0; } figure, table { break-inside: avoid; } }
"""


def _words(value: Any) -> str:
    """The class of a table cell that holds words, which start at the left."""
    return " class=words" if isinstance(value, str) else ""


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
        self._parts.append(f"<h2>{escape(text)}</h2>")
        return self

    def answer(self, text: str) -> Report:
        """The answer in words, set apart."""
        self._parts.append(f'<p class="answer">{escape(text)}</p>')
        return self

    def sentences(self, texts: list[str]) -> Report:
        """The first sentence as the answer, the others as a list below it."""
        self.answer(texts[0])
        return self.items(texts[1:]) if len(texts) > 1 else self

    def text(self, text: str, *, small: bool = False) -> Report:
        """A paragraph."""
        self._parts.append(f"<p{' class=small' if small else ''}>{escape(text)}</p>")
        return self

    def code(self, text: str) -> Report:
        """A line of code, such as the command that made the page."""
        self._parts.append(f"<p><code>{escape(text)}</code></p>")
        return self

    def items(self, texts: list[str]) -> Report:
        """A list of sentences."""
        self._parts.append("<ul>" + "".join(f"<li>{escape(text)}</li>" for text in texts) + "</ul>")
        return self

    def table(self, frame: Any) -> Report:
        """A table with the house's number formats; headers are the house's words."""
        first = frame.iloc[0].tolist() if len(frame) else [None] * len(frame.columns)
        head = "".join(
            f'<th{_words(value)} title="{escape(definition(str(name)))}">{escape(plain_name(str(name)))}</th>'
            for name, value in zip(frame.columns, first)
        )
        rows = (
            "".join(f"<td{_words(value)}>{escape(show(name, value))}</td>" for name, value in zip(frame.columns, row))
            for row in frame.itertuples(index=False, name=None)
        )
        body = "".join(f"<tr>{row}</tr>" for row in rows)
        self._parts.append(f'<div class="scroll"><table><tr>{head}</tr>{body}</table></div>')
        return self

    def figure(self, figure: Any, caption: str, *, name: str | None = None) -> Report:
        """A matplotlib figure, kept inside the file as SVG, with its caption."""
        buffer = io.BytesIO()
        with style():
            figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
        data = base64.b64encode(buffer.getvalue()).decode()
        anchor = f' id="{escape(name)}"' if name else ""
        image = f'<img alt="{escape(caption)}" src="data:image/svg+xml;base64,{data}">'
        self._parts.append(f"<figure{anchor}>{image}<figcaption>{escape(caption)}</figcaption></figure>")
        return self

    def html(self) -> str:
        """The whole page."""
        head = (
            '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
            f"<title>{escape(self.title)}</title><style>{_CSS}</style>"
        )
        return f'<!doctype html><html lang="en"><head>{head}</head><body>{"".join(self._parts)}</body></html>\n'

    def write(self, path: str | Path) -> Path:
        """The path of the written file; its folder is made if need be."""
        path = Path(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(path) as file:
            file.write(self.html())
        return path
