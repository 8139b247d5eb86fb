"""One HTML page of the reproduction: verdicts that can be filtered, figures, tables, and the errata they point to."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import pandas as pd

from ...base.report import Report
from ...theory.optimum import optimal_segment_length
from .claims import CATEGORIES, REMARK, TOLERANCES, VERDICTS, Checked, Claim, counts, markup, summary, words
from .drawings import CASES, accuracy_of_end, states
from .facts import attributions
from .figures import Picture

TITLE = "The Accuracy Cost of Weakness, reproduced"
_ICONS = dict(zip((*VERDICTS, REMARK), ("✓", "≈", "✗", "?", "i")))
_CLASSES = dict(zip((*VERDICTS, REMARK), ("holds", "about", "fails", "open", "remark")))


@dataclass(frozen=True)
class PaperTable:
    """One table with its caption."""

    name: str
    number: str
    title: str
    caption: str
    frame: pd.DataFrame

    def to_dict(self) -> dict[str, Any]:
        """The table's rows with its caption."""
        heads = ("name", "number", "title", "caption")
        return {name: getattr(self, name) for name in heads} | {"rows": self.frame.to_dict(orient="records")}


#: Table 1 of the paper: data sets with fixed segments. (name, reference, task, segment length in seconds)
DATASETS = (
    ("CHIME", "Foster et al. 2015", "one pass, all classes", 4.0),
    ("AudioSet", "Gemmeke et al. 2017", "one pass, all classes", 10.0),
    ("MAESTRO Real", "Martín-Morató and Mesaros 2023", "one pass, all classes", 10.0),
    ("OpenMIC-2018", "Humphrey et al. 2018", "one pass per class", 10.0),
)


def datasets() -> PaperTable:
    """Table 1: data sets with fixed segments, and the events that their segments suit best."""
    ratio = float(optimal_segment_length(event_length=1.0, presence_criterion=0.5))
    rows = [(*row, row[-1] / ratio) for row in DATASETS]
    heads = ["data_set", "reference", "task", "segment_length (s)", "best for events of (s)"]
    caption = (
        "Large audio data sets that are labelled in fixed segments. Last column, ours: the event length for which that "
        "segment length is the best one if annotators notice half an event (Theorem 2 with γ = 0.5)."
    )
    return PaperTable(
        "datasets", "Table 1", "Data sets with fixed segments", caption, pd.DataFrame(rows, columns=heads)
    )


_TIMES = {"i": ("0", "γ d_e", "d_q", "d_e"), "ii": ("0", "γ d_e", "d_e", "d_q")}
_TOP = {"i": "1", "ii": "d_e/d_q"}


def expressions() -> PaperTable:
    """Table 2: the states of the accuracy function, with their values in an example and from the definition."""
    rows = []
    for case, (d, q, g) in CASES.items():
        top = _TOP[case]
        values = ("1", "(d_q - γ d_e)/d_q, then γ d_e/d_q", top, top)
        for k, (t, before, after) in enumerate(states(event_length=d, segment_length=q, presence_criterion=g)[:4]):
            direct = accuracy_of_end((t - 1e-7, t + 1e-7) if k == 1 else (t + 1e-7,), d, q, g)
            formula = (before, after) if k == 1 else (after,)
            rows.append(
                {
                    "case": f"({case})",
                    "state": f"t_{k}",
                    "t": _TIMES[case][k],
                    "F": values[k],
                    "t (s), example": t,
                    "F, example": ", ".join(f"{value:.4f}" for value in formula),
                    "F from the definition": ", ".join(f"{value:.4f}" for value in direct),
                }
            )
    caption = (
        "The states at which the accuracy function bends or jumps, for events at least as long as the segment (i) and "
        "shorter ones (ii), with the examples of Figure 15. At t_1 the label turns from absent to present: F "
        "just before, then just after."
    )
    return PaperTable("expressions", "Table 2", "The states of the accuracy function", caption, pd.DataFrame(rows))


TABLES = {"datasets": datasets, "expressions": expressions}


def pairs(checked: tuple[Checked, ...]) -> list[tuple[Claim, str]]:
    """Every claim with its verdict."""
    return [(row.claim, row.verdict) for row in checked]


def count_frame(checked: tuple[Checked, ...]) -> pd.DataFrame:
    """How many claims of each category get which verdict."""
    table = counts(pairs(checked))
    return pd.DataFrame(
        [{"claims": CATEGORIES.get(name, ["all"])[0], **row, "all": sum(row.values())} for name, row in table.items()]
    )


def errata() -> dict[str, tuple[str, str]]:
    """E-number -> (title, text) of ERRATA.md: beside this module once installed, else at the root of the sources."""
    folder = Path(__file__).parent
    for file in (folder / "ERRATA.md", folder.parents[3] / "ERRATA.md"):
        if file.is_file():
            found = re.findall(r"^## (E\d+) (.*?)\n(.*?)(?=^## |\Z)", file.read_text(encoding="utf-8"), re.S | re.M)
            return {name: (title, text.strip()) for name, title, text in found}
    return {}


def _linked(html: str) -> str:
    """E-numbers as links to their erratum further down."""
    return re.sub(r"\bE([1-9]\d?)\b", r'<a href="#E\1">E\1</a>', html)


def _beside(name: str) -> str:
    return Path(__file__).with_name(name).read_text(encoding="utf-8")


class _Page(Report):
    """A report with its own markup."""

    def part(self, name: str) -> _Page:
        """A section heading that links lead to."""
        return self.raw(f'<h2 id="{name.lower()}">{name}</h2>')

    def raw(self, html: str) -> _Page:
        """Markup that is ready."""
        self._parts.append(html)
        return self

    def symbols(self, plain: str) -> _Page:
        """A paragraph with symbols set and errata linked."""
        return self.raw(f"<p>{_linked(words(plain))}</p>")


def _filter(checked: tuple[Checked, ...]) -> str:
    kinds, groups = (Counter(each) for each in zip(*((row.verdict, row.claim.category) for row in checked)))
    buttons = [
        f'<button class="{kind}" data-key=verdict data-value="{kind}" aria-pressed=false>'
        f"{_ICONS[verdict]} {verdict} ({kinds[verdict]})</button>"
        for verdict, kind in _CLASSES.items()
    ]
    buttons += [
        f'<button data-key=category data-value="{name}" aria-pressed=false>{name} ({groups[name]})</button>'
        for name in CATEGORIES
    ]
    search = '<input type=search placeholder="search" aria-label="search the claims">'
    return f'<div class="filter">{"".join(buttons)}{search}<output></output></div>'


def _claim(row: Checked) -> str:
    claim, kind = row.claim, _CLASSES[row.verdict]
    erratum = f" · {_linked(claim.erratum)}" if claim.erratum else ""
    said = f"<blockquote>{markup(claim.sentence)}</blockquote>" if claim.sentence else ""
    return (
        f'<article class="claim {kind}" id="{claim.name}" data-verdict={kind} data-category={claim.category}>'
        f'<p><span class="pill">{_ICONS[row.verdict]} {row.verdict}</span> <span class="meta">{escape(claim.where)} · '
        f"{claim.category}{erratum}</span></p>{said}"
        f"<p class=printed><b>Printed:</b> {markup(claim.printed)}</p>"
        f"<p><b>Measured:</b> {_linked(words(row.finding.words))}.</p>"
        f'<p class="meta">Tolerance, {TOLERANCES[claim.tolerance]}.</p></article>'
    )


def _figure(picture: Picture, file: Path) -> str:
    from base64 import b64encode

    data = b64encode(file.read_bytes()).decode()
    return (
        f'<figure id="{picture.name}"><img alt="{escape(picture.title)}" src="data:image/svg+xml;base64,{data}">'
        f"<figcaption><b>{escape(picture.number)}. {words(picture.title)}</b>{_linked(words(picture.caption))} "
        f'<span class="small">Drawn from {escape(picture.data)}.</span></figcaption></figure>'
    )


def write(
    out: Path,
    *,
    pictures: tuple[Picture, ...],
    tables: tuple[PaperTable, ...],
    checked: tuple[Checked, ...],
    settings: list[str],
    command: str | None,
) -> Path:
    """The page, written beside the figures that are in ``out / "figures"``."""
    page = _Page(TITLE).raw(f"<style>{_beside('page.css')}</style>")
    first, _, rest = summary(pairs(checked)).partition(". ")
    page.raw(f'<p class="answer">{words(first)}.</p>').symbols(rest)
    page.symbols(
        "Every figure and table of the paper is drawn anew, and every claim is measured. Claims of one kind are judged "
        "by one tolerance. Remarks concern the scripts or a name, and are not counted. E1 to E35 are the errata below."
    )
    parts: dict[str, Any] = {"claims": checked, "figures": pictures, "tables": tables}
    parts |= {"errata": errata()} if checked else {}
    jump = " ".join(f'<a href="#{name}">{len(held)} {name}</a>' for name, held in parts.items() if held)
    page.raw(f'<nav class="parts">{jump}</nav>')
    changed = [row for row in checked if row.changed]
    if changed:
        page.heading("Verdicts that changed")
        page.items([f"{row.claim.name}: on record {row.claim.verdict!r}, now {row.verdict!r}" for row in changed])
    if checked:
        page.table(count_frame(checked), heads={"holds approximately": "approx.", "not repeated": "open"})
        page.part("Claims").raw(_filter(checked))
        page.raw(f'<div class="claims">{"".join(map(_claim, checked))}</div>')
    if pictures:
        page.part("Figures")
        links = "".join(f'<li><a href="#{each.name}">{words(each.title)}</a></li>' for each in pictures)
        page.raw(f'<nav class="contents"><ul>{links}</ul></nav>')
        for picture in pictures:
            page.raw(_figure(picture, out / "figures" / f"{picture.name}.svg"))
    if tables:
        page.part("Tables")
    for table in tables:
        page.raw(f"<h3>{escape(table.number)}: {escape(table.title)}</h3>").symbols(table.caption).table(table.frame)
    if checked and (known := errata()):
        page.part("Errata").raw('<div class="claims">')
        for name, (title, body) in known.items():
            paragraph = re.sub(
                r"`([^`]*)`", r"<code>\1</code>", words(re.sub(r"\bgamma\b", "γ", re.sub(r"\bdelta\b", "δ", body)))
            )
            page.raw(
                f'<section class="erratum" id="{name}"><h3>{name} {words(title)}</h3><p>'
                + re.sub(r"\*\*?(\w[^*]*)\*\*?", r"<b>\1</b>", paragraph)
                + "</p></section>"
            )
        page.raw("</div>")
    page.heading("How this page was made").items(settings)
    if command:
        page.code(command)
    page.text(
        "The paper: J. Martinsson, T. Virtanen, M. Sandsten, O. Mogren, The Accuracy Cost of Weakness: A Theoretical "
        "Analysis of Fixed-Segment Weak Labeling for Events in Time, TMLR, 2025. " + " ".join(attributions()),
        small=True,
    )
    if checked:
        page.raw(f"<script>{_beside('page.js')}</script>")
    return page.write(out / "index.html")
