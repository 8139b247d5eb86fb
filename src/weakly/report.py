"""One self-contained HTML file: words first, then tables and pictures; no network, prints well, light and dark."""

from __future__ import annotations

import io
import re
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
  figure svg { background: #fff; border-radius: 6px; } }
body { font: 16px/1.55 system-ui, "Liberation Sans", sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem;
  overflow-wrap: anywhere; }
h1 { line-height: 1.2; } h2 { margin-top: 2.2rem; border-bottom: 1px solid var(--line); padding-bottom: .2rem; }
.answer { font-size: 1.2rem; border-left: 4px solid var(--accent); padding: .4rem 1rem; background: var(--soft); }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .92rem; margin: .6rem 0; }
th, td { padding: .25rem .6rem; border-bottom: 1px solid var(--line); text-align: right;
  overflow-wrap: break-word; }
th { vertical-align: bottom; } td { white-space: nowrap; }
th:first-child, td:first-child, .words { text-align: left; } td.words { white-space: normal; }
.scroll { overflow-x: auto; }
figure { margin: 1.2rem 0; } figure svg { max-width: 100%; height: auto; }
figcaption { font-size: .9rem; opacity: .85; }
code { background: var(--soft); padding: .1rem .3rem; overflow-wrap: anywhere; }
.small { font-size: .85rem; opacity: .8; }
@media print {
  @page { size: A4; margin: 14mm; }
  :root { color-scheme: light; --line: #bbb; --soft: #f4f6f8; --accent: #0072B2; }
  body { max-width: none; margin: 0; padding: 0; font-size: 9.5pt; line-height: 1.35; }
  h1 { font-size: 15pt; margin: 0; } h2 { font-size: 11pt; margin: .8rem 0 .3rem; }
  h1, h2, figure + h2 { break-after: avoid; } p, ul { margin: .3rem 0; } .answer { font-size: 11pt; }
  .scroll { overflow: visible; } table { font-size: 7.5pt; width: 100%; } thead { display: table-header-group; }
  th, td { padding: 1pt 3pt; white-space: normal; } tr, li, figure, .answer { break-inside: avoid; }
  figure { margin: .3rem 0; text-align: center; } figure svg { max-height: 62mm; width: auto; max-width: 100%; }
  figcaption { font-size: 8pt; }
}
"""


def _joined(name: str, names: list[str]) -> bool:
    """Whether a column is shown within another: the error or the ends of the interval of its value."""
    value = name.removesuffix("_se").removesuffix("_low").removesuffix("_high")
    ends = name.endswith("_se") or (f"{value}_low" in names and f"{value}_high" in names)
    return name != value and value in names and ends


def _cell(name: str, row: dict[str, Any]) -> str:
    said = show(name, row[name])
    error, low, high = (show(name, row.get(f"{name}_{end}")) for end in ("se", "low", "high"))
    if error != "–" and row[f"{name}_se"] > 0:
        return f"{said} ± {error}"
    return f"{said} ({low} to {high})" if "–" not in (low, high) else said


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
        """The answer in words, set apart: its first sentence, the others as a list below it."""
        return self.sentences(re.split(r"(?<=\.) (?=[A-Z])", text))

    def sentences(self, texts: list[str]) -> Report:
        """The same, where the sentences are known."""
        self._parts.append(f'<p class="answer">{escape(texts[0])}</p>')
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
        """A table with the house's number formats; headers are the house's words.

        A standard error stands behind its value, an interval too, and a column that says nothing is left out.
        """
        names = [str(name) for name in frame.columns]
        rows = list(frame.itertuples(index=False, name=None))
        filled = {name for k, name in enumerate(names) if any(show(name, row[k]) not in ("–", "") for row in rows)}
        kept = [name for name in names if (name in filled or not rows) and not _joined(name, names)]
        cells = [dict(zip(names, row)) for row in rows]
        words = {name for name in kept if rows and isinstance(cells[0][name], str)}
        left = {name: " class=words" if name in words else "" for name in kept}
        head = "".join(
            f'<th{left[name]} title="{escape(definition(name))}">{escape(plain_name(name))}</th>' for name in kept
        )
        body = "".join(
            "<tr>" + "".join(f"<td{left[name]}>{escape(_cell(name, row))}</td>" for name in kept) + "</tr>"
            for row in cells
        )
        table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        self._parts.append(f'<div class="scroll" tabindex="0">{table}</div>')
        return self

    def figure(self, figure: Any, caption: str, *, name: str | None = None) -> Report:
        """A matplotlib figure, kept inside the file as SVG whose text is text, with its caption."""
        buffer = io.StringIO()
        with style():
            figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
        drawn = re.sub(r"<metadata>.*?</metadata>", "", buffer.getvalue(), flags=re.S)
        drawn = drawn[drawn.index("<svg") :].replace("<svg", f'<svg role="img" aria-label="{escape(caption)}"', 1)
        anchor = f' id="{escape(name)}"' if name else ""
        self._parts.append(f"<figure{anchor}>{drawn}<figcaption>{escape(caption)}</figcaption></figure>")
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
