"""The paper, reproduced: its figures, tables and claims, from formulas, simulation and data.

:func:`reproduce` draws every figure, fills both tables, measures every quantitative claim and says whether it holds.
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Iterable
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ...base import plot
from ...base.errors import InvalidInput
from ...base.files import atomic_write
from ...base.parallel import in_order, progress_bar
from ...base.results import to_json, to_jsonable
from ...base.symbols import choice
from . import appendix, page, simulations
from .claims import VERDICTS, Checked, all_claims, counts, summary
from .drawings import DRAWINGS
from .facts import Data, gather
from .figures import COSTS, Picture, cost_figure, protocol_figure, simulation_figure
from .page import TABLES, PaperTable
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
    def changed(self) -> tuple[Checked, ...]:
        """The claims whose verdict differs from the one on record."""
        return tuple(row for row in self.claims if row.changed)

    @property
    def summary(self) -> str:
        """How the claims fare, in a few sentences."""
        return summary(page.pairs(self.claims))

    @property
    def settings(self) -> dict[str, Any]:
        """What the run was asked for."""
        return {name: getattr(self, name) for name in ("quick", "seed", "only", "data")}

    @property
    def counts(self) -> dict[str, dict[str, int]]:
        """Category (and "all") -> verdict -> number of claims."""
        return counts(page.pairs(self.claims))

    def to_dict(self) -> dict[str, Any]:
        """Claims, the numbers behind every figure, tables and settings, in plain numbers."""
        found: dict[str, Any] = to_jsonable(
            {
                "summary": self.summary,
                "counts": self.counts,
                "changed": [row.claim.name for row in self.changed],
                "claims": [row.to_dict() for row in self.claims],
                "figures": [picture.to_dict() for picture in self.pictures],
                "tables": [table.to_dict() for table in self.tables],
                **self.settings,
                "seconds": self.seconds,
                "files": [str(file) for file in self.files],
            }
        )
        return found

    def to_frame(self) -> Any:
        """One row per claim."""
        return pd.DataFrame([row.to_dict() for row in self.claims])

    def plot(self, ax: Any = None) -> Any:
        """How many claims of each category get which verdict."""
        ax = plot.axes(ax, size=(6.4, 2.6))
        table = {name: row for name, row in self.counts.items() if name != "all"}
        start = np.zeros(len(table))
        for verdict, colour in zip(VERDICTS, (plot.COLOURS[2], plot.COLOURS[4], plot.COLOURS[1], plot.ABSENT)):
            width = np.array([row[verdict] for row in table.values()])
            ax.barh(list(table), width, left=start, color=colour, label=verdict)
            start = start + width
        ax.invert_yaxis()
        ax.set(xlabel="claims")
        ax.legend(loc="lower right", fontsize=8.5)
        return ax

    def report(self, path: str | Path) -> Path:
        """The page with every figure and verdict, written into this folder as ``index.html``."""
        return _write_all(self, Path(path))[0]


def reproduce(
    *,
    out: str | Path | None = None,
    only: Iterable[str] | None = None,
    quick: bool = False,
    seed: int = 1,
    nigens: str | Path | None = None,
    audioset: str | Path | None = None,
    annotations: str | Path | Iterable[str | Path] | None = None,
    dcase2017: str | Path | None = None,
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
    dcase2017 : the folder with weak and strong labels of DCASE 2017 task 4.
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
    data = gather(nigens=nigens, audioset=audioset, annotations=annotations, dcase2017=dcase2017)
    protocol = QUICK if quick else PAPER
    chunks = [
        (name, k, case, made.n_events, protocol, _seed(seed, f"{name} {case.label}"))
        for name in wanted
        if name in SCENARIOS
        for made in (scenario(name, data),)
        for k, case in enumerate(made.cases)
    ]
    runs: dict[str, list[Any]] = {}
    for name, _, found in in_order(_simulate, chunks, executor=executor, progress=progress, label="simulating"):
        runs.setdefault(name, []).append(found)
    pictures: list[Picture] = []
    drawn = [name for name in wanted if name in FIGURES]
    with progress_bar("drawing", len(drawn), show=progress) as advance:
        for name in drawn:
            pictures += _draw(name, data, runs, protocol, seed, quick)
            advance(1)
    tables = tuple(make() for make in TABLES.values()) if "tables" in wanted else ()
    checked = _checked(progress) if "claims" in wanted else ()
    sources = {picture.name: picture.data for picture in pictures}
    found = Reproduction(
        tuple(pictures), tables, checked, quick, seed, wanted, sources, time.perf_counter() - started, command=command
    )
    return found if out is None else replace(found, files=tuple(_write_all(found, Path(out))))


def _checked(progress: Any) -> tuple[Checked, ...]:
    with progress_bar("measuring claims", len(all_claims()), show=progress) as advance:
        found = []
        for each in all_claims():
            found.append(each.check())
            advance(1)
    return tuple(found)


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


def _simulate(name: str, k: int, case: Any, n_events: int, protocol: Protocol, seed: list[int]) -> Any:
    return name, k, simulations.run(case, n_events=n_events, protocol=protocol, seed=seed)


def _draw(name: str, data: Data, runs: Any, protocol: Protocol, seed: int, quick: bool) -> Iterable[Picture]:
    rng = np.random.default_rng(_seed(seed, name))
    if name in SCENARIOS:
        return [simulation_figure(scenario(name, data), runs[name], protocol)]
    if name in COSTS:
        return [cost_figure(name)]
    if name == "protocol":
        return [protocol_figure(protocol, rng)]
    if name == "criterion":
        return [appendix.criterion(data, n=2000 if quick else 20_000, rng=rng)]
    if name in ("offsets", "audioset"):
        return [getattr(appendix, name)(data)]
    return [DRAWINGS[name]()]


def _write_all(found: Reproduction, out: Path) -> list[Path]:
    """The page, the claims, the tables and both files of every figure."""
    out.mkdir(parents=True, exist_ok=True)
    files = [file for picture in found.pictures for file in plot.save(picture.figure, out / "figures" / picture.name)]
    for table in found.tables:
        file = out / "tables" / f"{table.name}.csv"
        file.parent.mkdir(exist_ok=True)
        table.frame.to_csv(file, index=False)
        files.append(file)
    if found.claims:
        with atomic_write(out / "claims.json") as file_:
            file_.write(to_json([row.to_dict() for row in found.claims]) + "\n")
        files.append(out / "claims.json")
    protocol = QUICK if found.quick else PAPER
    settings = [
        f"{'Quick run' if found.quick else 'Full run'}, seed {found.seed}.",
        f"Simulations: {protocol.n_recordings} recordings of 100 s for each of {protocol.n_segment_lengths} "
        f"segment lengths, {protocol.n_criteria} presence criteria.",
        *(f"{name}: drawn from {source}." for name, source in found.data.items() if "shipped" in source),
    ]
    parts = {"pictures": found.pictures, "tables": found.tables, "checked": found.claims}
    return [page.write(out, settings=settings, command=found.command, **parts), *files]  # type: ignore[arg-type]
