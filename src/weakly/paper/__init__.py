"""The paper, reproduced: its figures, tables and claims, from formulas, simulation and data.

:func:`reproduce` draws every figure, fills both tables, measures every quantitative claim and says whether it holds.
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable, Iterable
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import InvalidInput
from ..files import atomic_write
from ..parallel import in_order, progress_bar
from ..results import plain, to_json
from ..symbols import choice
from . import appendix, costs, illustrations, page, proofs, simulations
from .claims import CLAIMS, Checked
from .facts import Data, gather
from .picture import Picture
from .protocol import protocol_figure
from .scenarios import PAPER, QUICK, SCENARIOS, Protocol, scenario
from .tables import TABLES, Table

__all__ = ["NAMES", "Reproduction", "reproduce"]

_DRAWN: dict[str, Callable[[], Picture]] = {
    "weak_labeling": illustrations.weak_labeling,
    "orc": illustrations.orc,
    "fix": illustrations.fix,
    "proof_idea": illustrations.proof_idea,
    "multiple_events": illustrations.multiple_events,
    "cost_criterion": costs.cost_criterion,
    "cost_share": costs.cost_share,
    "cost_events": costs.cost_events,
    "cost_length": costs.cost_length,
    "accuracy_functions": proofs.accuracy_functions,
    "infeasible": proofs.infeasible,
    "case_i": proofs.case_i,
    "case_ii": proofs.case_ii,
}

#: Figures in the paper's order; "protocol" and "criterion" explain what the paper's own figures cannot show.
FIGURES = (
    *("weak_labeling", "orc", "fix", "proof_idea", "multiple_events"),
    *SCENARIOS,
    "protocol",
    *("cost_criterion", "cost_share", "cost_events", "cost_length"),
    *("accuracy_functions", "infeasible", "case_i", "case_ii", "offsets", "audioset", "criterion"),
)
#: What can be asked for by name.
NAMES = (*FIGURES, "tables", "claims", "adaptive")


@dataclass(frozen=True)
class Reproduction:
    """What a run of :func:`reproduce` found, with the settings that made it."""

    pictures: tuple[Picture, ...]
    tables: tuple[Table, ...]
    claims: tuple[Checked, ...]
    quick: bool
    seed: int
    only: tuple[str, ...]
    data: dict[str, str]
    seconds: float
    files: tuple[Path, ...] = ()

    @property
    def changed(self) -> tuple[Checked, ...]:
        """The claims whose verdict differs from the one on record."""
        return tuple(row for row in self.claims if row.changed)

    @property
    def summary(self) -> str:
        """How the claims fare, in one sentence."""
        return page.verdict_words(self.claims)

    def to_dict(self) -> dict[str, Any]:
        """Claims, the numbers behind every figure, tables and settings, in plain numbers."""
        settings = {name: getattr(self, name) for name in ("quick", "seed", "only", "data", "seconds")}
        return plain(
            {
                "summary": self.summary,
                "changed": [row.claim.name for row in self.changed],
                "claims": [row.to_dict() for row in self.claims],
                "figures": [picture.to_dict() for picture in self.pictures],
                "tables": [table.to_dict() for table in self.tables],
                **settings,
                "files": [str(file) for file in self.files],
            }
        )

    def to_frame(self) -> Any:
        """One row per claim."""
        return page.claims_frame(self.claims)

    def plot(self, ax: Any = None) -> Any:
        """How many claims hold, hold approximately and do not hold."""
        from .. import plot
        from .claims import VERDICTS

        ax = plot.axes(ax, size=(6.4, 2.2))
        counts = [sum(row.finding.verdict == verdict for row in self.claims) for verdict in VERDICTS]
        ax.barh(VERDICTS[::-1], counts[::-1], color=[plot.COLOURS[1], plot.COLOURS[4], plot.COLOURS[2]])
        ax.set(xlabel="claims")
        return ax


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
    audio: Iterable[str | Path] = (),
    executor: Executor | None = None,
    progress: Any = False,
    command: str | None = None,
) -> Reproduction:
    """The paper's figures, tables and claims, drawn and measured anew.

    Parameters
    ----------
    out : folder for ``index.html``, ``claims.json``, ``figures/*.png`` and ``*.svg`` and ``tables/*.csv``; None writes
        nothing.
    only : names of figures (see :data:`NAMES`), "tables", "claims" or "adaptive"; None is everything but "adaptive".
    quick : fewer recordings, criteria and segment lengths in the simulations: seconds instead of a minute.
    seed : of everything random; each figure has its own stream, so that a figure is the same alone and among others.
    nigens : the NIGENS corpus folder, or a folder with ``dog_event_lengths.npy`` and ``baby_event_lengths.npy``.
    audioset : a strong label file of AudioSet, or the folder that holds it beside ``*_segments.csv``.
    annotations : strong annotations of any kind, for the offsets of appendix A.4.
    dcase2017 : the folder with weak and strong labels of DCASE 2017 task 4.
    audio : folders of recordings with their annotations, for "adaptive".
    executor : where the simulations run; None is this thread. The numbers do not depend on it.
    progress : show a bar on a terminal.

    Notes
    -----
    The verdicts are measured on formulas, seeded simulations and the shipped facts, never on the data given, so that a
    changed verdict is a fault of this package.

    Examples
    --------
    >>> run = reproduce(only=["cost_events", "tables"])
    >>> round(run.pictures[0].values["break_even_events"]["s = 8"], 4)
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
    target = None if out is None else Path(out)
    pictures, files = [], []
    drawn = [name for name in wanted if name in FIGURES or name == "adaptive"]
    with progress_bar("drawing", len(drawn), show=progress) as advance:
        for name in drawn:
            for picture in _draw(name, data, runs, protocol, seed, quick, tuple(audio)):
                pictures.append(picture)
                if target is not None:
                    files += page.save(picture, target / "figures")
            advance(1)
    tables = tuple(make() for make in TABLES.values()) if "tables" in wanted else ()
    checked = _checked(progress) if "claims" in wanted else ()
    sources = {picture.name: picture.data for picture in pictures}
    made_of = (tuple(pictures), tables, checked, quick, seed, wanted, sources)
    if target is not None:
        files = [*_write(target, made_of, protocol, command), *files]
    return Reproduction(*made_of, time.perf_counter() - started, tuple(files))


def _checked(progress: Any) -> tuple[Checked, ...]:
    with progress_bar("measuring claims", len(CLAIMS), show=progress) as advance:
        found = []
        for each in CLAIMS:
            found.append(each.check())
            advance(1)
    return tuple(found)


def _wanted(only: Iterable[str] | None) -> tuple[str, ...]:
    if only is None:
        return tuple(name for name in NAMES if name != "adaptive")
    if isinstance(only, str):
        raise InvalidInput(f"only must be a list of names, got {only!r}; [{only!r}]?")
    asked = [choice("only", name, NAMES) for name in only]
    return tuple(name for name in NAMES if name in asked)


def _seed(seed: int, name: str) -> list[int]:
    """A stream of its own for every figure and law, whatever else is drawn."""
    return [seed, zlib.crc32(name.encode())]


def _simulate(name: str, k: int, case: Any, n_events: int, protocol: Protocol, seed: list[int]) -> Any:
    return name, k, simulations.run(case, n_events=n_events, protocol=protocol, seed=seed)


def _draw(
    name: str, data: Data, runs: Any, protocol: Protocol, seed: int, quick: bool, audio: tuple[Any, ...]
) -> Iterable[Picture]:
    if name in SCENARIOS:
        yield simulations.draw(scenario(name, data), runs[name], protocol)
    elif name == "protocol":
        yield protocol_figure(protocol, np.random.default_rng(_seed(seed, name)))
    elif name == "offsets":
        yield appendix.offsets(data)
    elif name == "audioset":
        yield appendix.audioset(data)
    elif name == "criterion":
        yield appendix.criterion(data, n=2000 if quick else 20_000, rng=np.random.default_rng(_seed(seed, name)))
    elif name == "adaptive":
        from .adaptive import pictures  # soundscapes and features take a while to import

        yield from pictures(quick=quick, seed=seed, folders=audio)
    else:
        yield _DRAWN[name]()


def _write(out: Path, made_of: tuple[Any, ...], protocol: Protocol, command: str | None) -> list[Path]:
    pictures, tables, checked, quick, seed, *_ = made_of
    out.mkdir(parents=True, exist_ok=True)
    files = []
    for table in tables:
        file = out / "tables" / f"{table.name}.csv"
        file.parent.mkdir(exist_ok=True)
        table.frame.to_csv(file, index=False)
        files.append(file)
    if checked:
        with atomic_write(out / "claims.json") as file_:
            file_.write(to_json([row.to_dict() for row in checked]) + "\n")
        files.append(out / "claims.json")
    settings = [
        f"{'Quick run' if quick else 'Full run'}, seed {seed}.",
        f"Simulations: {protocol.n_recordings} recordings of 100 s for each of {protocol.n_segment_lengths} "
        "segment lengths, "
        f"{protocol.n_criteria} presence criteria.",
        *(f"{picture.name}: drawn from {picture.data}." for picture in pictures if "shipped" in picture.data),
    ]
    index = page.write(out, pictures=pictures, tables=tables, checked=checked, settings=settings, command=command)
    return [index, *files]
