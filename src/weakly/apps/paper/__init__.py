"""The paper, reproduced: its figures, tables and claims, from formulas, simulation and data.

:func:`reproduce` draws every figure, fills both tables, measures every quantitative claim and says whether it holds.
"""

from __future__ import annotations

import re
import time
import zlib
from base64 import b64encode
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ...base import plot
from ...base.errors import InvalidInput
from ...base.parallel import in_order
from ...base.report import Report
from ...base.results import to_json, to_jsonable, write_file
from ...base.symbols import choice
from . import appendix, simulations
from .claims import CATEGORIES, REMARK, TOLERANCES, VERDICTS, Checked, Claim, all_claims, counts, markup, summary, words
from .drawings import DRAWINGS, datasets, expressions
from .facts import Data, fact_table, gather
from .figures import COSTS, PaperTable, Picture, cost_figure, protocol_figure, simulation_figure
from .simulations import PAPER, QUICK, SCENARIOS, Protocol, scenario

__all__ = ["NAMES", "Reproduction", "reproduce"]

#: Figures in the paper's order; "protocol" and "criterion" explain what the paper's own figures cannot show.
FIGURES = (
    *("weak_labeling", "orc", "fix", "proof_idea", "multiple_events"),
    *SCENARIOS,
    "protocol",
    *COSTS,
    *("accuracy_functions", "infeasible", "case_i", "case_ii", "offsets", "audioset", "criterion"),
)
#: What can be asked for by name.
NAMES = (*FIGURES, "tables", "claims")


@dataclass(frozen=True)
class Reproduction:
    """What a run of :func:`reproduce` found, with the settings that made it."""

    pictures: tuple[Picture, ...]
    tables: tuple[PaperTable, ...]
    claims: tuple[Checked, ...]
    quick: bool
    seed: int
    only: tuple[str, ...]
    data: dict[str, str]
    seconds: float
    files: tuple[Path, ...] = ()
    command: str | None = None

    @property
    def verdicts(self) -> list[tuple[Claim, str]]:
        """Every claim with its verdict."""
        return [(row.claim, row.verdict) for row in self.claims]

    @property
    def changed(self) -> tuple[Checked, ...]:
        """The claims whose verdict differs from the one on record."""
        return tuple(row for row in self.claims if row.changed)

    @property
    def summary(self) -> str:
        """How the claims fare, in a few sentences."""
        return summary(self.verdicts)

    @property
    def settings(self) -> dict[str, Any]:
        """What the run was asked for."""
        return {name: getattr(self, name) for name in ("quick", "seed", "only", "data")}

    @property
    def counts(self) -> dict[str, dict[str, int]]:
        """Category (and "all") -> verdict -> number of claims."""
        return counts(self.verdicts)

    def to_dict(self) -> dict[str, Any]:
        """Claims, the numbers behind every figure, tables and settings, in plain numbers."""
        found = {"summary": self.summary, "counts": self.counts, "changed": [row.claim.name for row in self.changed]}
        parts: dict[str, tuple[Any, ...]] = {"claims": self.claims, "figures": self.pictures, "tables": self.tables}
        found |= {name: [row.to_dict() for row in rows] for name, rows in parts.items()} | self.settings
        return dict(to_jsonable(found | {"seconds": self.seconds, "files": [str(file) for file in self.files]}))

    def to_frame(self) -> Any:
        """One row per claim."""
        return pd.DataFrame([row.to_dict() for row in self.claims])

    def report(self, path: str | Path) -> Path:
        """The page with every figure and verdict, written into this folder as ``index.html``."""
        return _write(self, Path(path))[0]


def reproduce(
    *,
    out: str | Path | None = None,
    only: Iterable[str] | None = None,
    quick: bool = False,
    seed: int = 1,
    nigens: str | Path | None = None,
    audioset: str | Path | None = None,
    annotations: str | Path | Iterable[str | Path] | None = None,
    executor: Executor | None = None,
    progress: Any = False,
    command: str | None = None,
) -> Reproduction:
    """The paper's figures, tables and claims, drawn and measured anew.

    Parameters
    ----------
    out : folder for ``index.html``, ``claims.json``, ``figures/*.png`` and ``*.svg`` and ``tables/*.csv``; None writes
        nothing.
    only : names of figures (see :data:`NAMES`), "tables" or "claims"; None is everything.
    quick : fewer recordings, criteria and segment lengths in the simulations: seconds instead of a minute.
    seed : of everything random; each figure has its own stream, so that a figure is the same alone and among others.
    nigens : the NIGENS corpus folder, or a folder with ``dog_event_lengths.npy`` and ``baby_event_lengths.npy``.
    audioset : a strong label file of AudioSet, or the folder that holds it beside ``*_segments.csv``.
    annotations : strong annotations of any kind, for the offsets of appendix A.4.
    executor : where the simulations run; None is this thread. The numbers do not depend on it.
    progress : show a bar on a terminal.

    Notes
    -----
    The verdicts are measured on formulas, seeded simulations and the shipped facts, never on the data given, so that a
    changed verdict is a fault of this package.

    Examples
    --------
    >>> run = reproduce(only=["cost_events", "tables"])
    >>> round(run.pictures[0].values["break_even_n_events"]["s = 8"], 4)
    7.2254
    """
    started = time.perf_counter()
    wanted = _wanted(only)
    data = gather(nigens=nigens, audioset=audioset, annotations=annotations)
    protocol = QUICK if quick else PAPER
    scenarios = {name: scenario(name, data) for name in wanted if name in SCENARIOS}
    chunks = [
        (case, made.n_events, protocol, _seed(seed, f"{name} {case.label}"))
        for name, made in scenarios.items()
        for case in made.cases
    ]
    done = iter(list(in_order(simulations.run, chunks, executor=executor, progress=progress, label="simulating")))
    runs = {name: [next(done) for _ in made.cases] for name, made in scenarios.items()}
    drawn = [(name, data, runs, protocol, seed, quick) for name in wanted if name in FIGURES]
    pictures = tuple(in_order(_draw, drawn, progress=progress, label="drawing"))
    tables = (datasets(), expressions()) if "tables" in wanted else ()
    claims = all_claims() if "claims" in wanted else ()
    how: Any = {"progress": progress and bool(claims), "label": "measuring claims"}
    checked = tuple(in_order(Claim.check, [(claim,) for claim in claims], **how))
    sources = {picture.name: picture.data for picture in pictures}
    found = Reproduction(
        pictures, tables, checked, quick, seed, wanted, sources, time.perf_counter() - started, command=command
    )
    return found if out is None else replace(found, files=tuple(_write(found, Path(out))))


def _wanted(only: Iterable[str] | None) -> tuple[str, ...]:
    if only is None:
        return NAMES
    if isinstance(only, str):
        raise InvalidInput(f"only must be a list of names, got {only!r}; [{only!r}]?")
    asked = [choice("only", name, NAMES) for name in only]
    return tuple(name for name in NAMES if name in asked)


def _seed(seed: int, name: str) -> list[int]:
    """A stream of its own for every figure and law, whatever else is drawn."""
    return [seed, zlib.crc32(name.encode())]


@plot.style()
def _draw(name: str, data: Data, runs: Any, protocol: Protocol, seed: int, quick: bool) -> Picture:
    rng = np.random.default_rng(_seed(seed, name))
    if name in SCENARIOS:
        return simulation_figure(scenario(name, data), runs[name], protocol)
    if name in COSTS:
        return cost_figure(name)
    special: dict[str, Callable[[], Picture]] = {
        "protocol": lambda: protocol_figure(protocol, rng),
        "criterion": lambda: appendix.criterion(n=2000 if quick else 20_000, rng=rng),
        "offsets": lambda: appendix.offsets(data),
        "audioset": lambda: appendix.audioset(data),
    }
    return (special | DRAWINGS)[name]()


def _write(found: Reproduction, out: Path) -> list[Path]:
    """The page, the claims, the tables and both files of every figure."""
    files = [file for picture in found.pictures for file in plot.save(picture.figure, out / "figures" / picture.name)]
    texts = {f"tables/{table.name}.csv": table.frame.to_csv(index=False) for table in found.tables}
    if found.claims:
        texts["claims.json"] = to_json([row.to_dict() for row in found.claims]) + "\n"
    files += [write_file(out / name, text) for name, text in texts.items()]
    return [_page(found, out).write(out / "index.html"), *files]


_ICONS = dict(zip((*VERDICTS, REMARK), ("✓", "≈", "✗", "?", "i")))
_CLASSES = dict(zip((*VERDICTS, REMARK), ("holds", "about", "fails", "open", "remark")))


def errata() -> dict[str, tuple[str, str]]:
    """E-number -> (title, text) of ERRATA.md: beside this module once installed, else at the root of the sources."""
    folder = Path(__file__).parent
    for file in (folder / "ERRATA.md", folder.parents[3] / "ERRATA.md"):
        if file.is_file():
            found = re.findall(r"^## (E\d+) (.*?)\n(.*?)(?=^## |\Z)", file.read_text(encoding="utf-8"), re.S | re.M)
            return {name: (title, text.strip()) for name, title, text in found}
    return {}


def _linked(plain: str) -> str:
    """Our own words as HTML, with symbols set and E-numbers as links to their erratum further down."""
    return re.sub(r"\bE([1-9]\d?)\b", r'<a href="#E\1">E\1</a>', words(plain))


def _beside(name: str) -> str:
    return Path(__file__).with_name(name).read_text(encoding="utf-8")


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
    return (
        f'<article class="claim {kind}" id="{claim.name}" data-verdict={kind} data-category={claim.category}>'
        f'<p><span class="pill">{_ICONS[row.verdict]} {row.verdict}</span> <span class="meta">{escape(claim.where)} · '
        f"{claim.category}{erratum}</span></p><blockquote>{markup(claim.sentence)}</blockquote>"
        f"<p class=printed><b>Printed:</b> {markup(claim.printed)}</p>"
        f"<p><b>Measured:</b> {_linked(row.words)}.</p>"
        f'<p class="meta">Tolerance, {TOLERANCES[claim.tolerance]}.</p></article>'
    )


def _figure(picture: Picture, file: Path) -> str:
    data = b64encode(file.read_bytes()).decode()
    return (
        f'<figure id="{picture.name}"><img alt="{escape(picture.title)}" src="data:image/svg+xml;base64,{data}">'
        f"<figcaption><b>{escape(picture.number)}. {words(picture.title)}</b>{_linked(picture.caption)} "
        f'<span class="small">Drawn from {escape(picture.data)}.</span></figcaption></figure>'
    )


def _erratum(name: str, title: str, body: str) -> str:
    text = words(re.sub(r"\bgamma\b", "γ", re.sub(r"\bdelta\b", "δ", body)))
    text = re.sub(r"\*\*?(\w[^*]*)\*\*?", r"<b>\1</b>", re.sub(r"`([^`]*)`", r"<code>\1</code>", text))
    return f'<section class="erratum" id="{name}"><h3>{name} {words(title)}</h3><p>{text}</p></section>'


def _page(found: Reproduction, out: Path) -> Report:
    """Verdicts that can be filtered, the figures that are in ``out / "figures"``, tables, and the errata."""
    page, checked = Report("The Accuracy Cost of Weakness, reproduced"), found.claims
    known = errata() if checked else {}
    first, _, rest = found.summary.partition(". ")
    intro = (
        "Every figure and table of the paper is drawn anew, and every claim is measured. Claims of one kind are judged "
        "by one tolerance. Remarks concern the scripts or a name, and are not counted. E1 to E35 are the errata below."
    )
    parts: dict[str, Any] = {"claims": checked, "figures": found.pictures, "tables": found.tables, "errata": known}
    jump = " ".join(f'<a href="#{name}">{len(held)} {name}</a>' for name, held in parts.items() if held)
    page.raw(f'<style>{_beside("page.css")}</style><p class="answer">{words(first)}.</p><p>{_linked(rest)}</p>')
    page.raw(f'<p>{_linked(intro)}</p><nav class="parts">{jump}</nav>')
    if found.changed:
        page.heading("Verdicts that changed")
        page.items([f"{row.claim.name}: on record {row.claim.verdict!r}, now {row.verdict!r}" for row in found.changed])
    if checked:
        rows = [{"claims": CATEGORIES.get(name, ["all"])[0], **row} for name, row in found.counts.items()]
        frame = pd.DataFrame(rows).assign(all=[sum(row.values()) for row in found.counts.values()])
        page.table(frame)
        page.raw(
            f'<h2 id="claims">Claims</h2>{_filter(checked)}<div class="claims">{"".join(map(_claim, checked))}</div>'
        )
    if found.pictures:
        links = "".join(f'<li><a href="#{each.name}">{words(each.title)}</a></li>' for each in found.pictures)
        drawn = "".join(_figure(each, out / "figures" / f"{each.name}.svg") for each in found.pictures)
        page.raw(f'<h2 id="figures">Figures</h2><nav class="contents"><ul>{links}</ul></nav>{drawn}')
    if found.tables:
        page.raw('<h2 id="tables">Tables</h2>')
    for table in found.tables:
        page.raw(f"<h3>{table.number}: {escape(table.title)}</h3><p>{_linked(table.caption)}</p>").table(table.frame)
    if known:
        listed = "".join(_erratum(name, *erratum) for name, erratum in known.items())
        page.raw(f'<h2 id="errata">Errata</h2><div class="claims">{listed}</div>')
    protocol = QUICK if found.quick else PAPER
    settings = [
        f"{'Quick run' if found.quick else 'Full run'}, seed {found.seed}.",
        f"Simulations: {protocol.n_recordings} recordings of 100 s for each of {protocol.n_segment_lengths} "
        f"segment lengths, {protocol.n_criteria} presence criteria.",
        *(f"{name}: drawn from {source}." for name, source in found.data.items() if "shipped" in source),
    ]
    page.heading("How this page was made").items(settings)
    if found.command:
        page.code(found.command)
    page.text(
        "The paper: J. Martinsson, T. Virtanen, M. Sandsten, O. Mogren, The Accuracy Cost of Weakness: A Theoretical "
        "Analysis of Fixed-Segment Weak Labeling for Events in Time, TMLR, 2025. "
        + " ".join(fact_table()["attributions"]),
        small=True,
    )
    return page.raw(f"<script>{_beside('page.js')}</script>") if checked else page
