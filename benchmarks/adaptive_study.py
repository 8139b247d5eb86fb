"""The study: fixed, windows, change-point, bisection and oracle on one frontier.

Synthetic soundscapes over signal-to-noise ratio and density, and real recordings where their folder is given. Every
method is answered by the same simulated annotator and scored by the same tally.
``python -m benchmarks.adaptive_study OUT.html [FOLDER ...]`` writes the frontiers as a page.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from benchmarks.outcomes import score
from weakly.base.errors import InvalidInput
from weakly.base.report import Report, Result
from weakly.base.results import counted, to_jsonable
from weakly.io.reading import read
from weakly.io.signals import header
from weakly.io.soundscape import log_mel, soundscape
from weakly.methods import Outcome, Recording, SimulatedAnnotator, run
from weakly.methods.bisection import Bisection
from weakly.methods.change_point import ChangePoint
from weakly.methods.fixed import Fixed, Oracle, Windows
from weakly.model.annotator import Annotator
from weakly.model.cost import Cost
from weakly.model.intervals import merge

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

CURVES = ("fixed", "windows", "change-point", "bisection", "oracle")


@dataclass(frozen=True, repr=False)
class Study(Result):
    """One row per (condition, method, setting), with the words of results; and what made them."""

    frame: pd.DataFrame
    presence_criterion: float
    query_cost_share: float
    seed: int

    @property
    def settings(self) -> dict[str, Any]:
        """What made the study."""
        return {name: getattr(self, name) for name in ("presence_criterion", "query_cost_share", "seed")}

    def to_frame(self) -> pd.DataFrame:
        """One row per run: condition, snr, density, method, setting, and the words of results."""
        return self.frame.copy()

    def to_dict(self) -> dict[str, Any]:
        """The settings and rows as JSON can hold them."""
        return dict(to_jsonable({**self.settings, "rows": self.frame}))

    @property
    def answer(self) -> str:
        """What was run, in one sentence."""
        methods = ", ".join(dict.fromkeys(self.frame["method"]))
        return f"{counted(self.frame['condition'].nunique(), 'condition')}, each labelled by {methods}."

    def page(self) -> Report:
        """The frontiers and all rows."""
        page = Report("Adaptive queries: the study").answer(self.answer)
        return page.figure(self.figure(), "Every method over its number of queries.").table(self.frame)

    def compare(self, *, metric: str = "wrong_time", against: str = "fixed") -> pd.DataFrame:
        """The ratio of a metric to that of another method at the same number of queries, linear between its points."""
        rows = []
        for condition, part in self.frame.groupby("condition", sort=False):
            base = part[part["method"] == against].sort_values("n_queries")
            for method, mine in part[part["method"] != against].groupby("method", sort=False):
                inside = mine[mine["n_queries"].between(base["n_queries"].min(), base["n_queries"].max())]
                theirs = np.interp(inside["n_queries"], base["n_queries"], base[metric])
                for n, ours, other in zip(inside["n_queries"], inside[metric], theirs):
                    ratio = ours / other if other > 0 else np.nan
                    rows.append((condition, method, n, ours, other, ratio))
        return pd.DataFrame(rows, columns=["condition", "method", "n_queries", metric, against, "ratio"])

    def plot(
        self, ax: Axes | None = None, *, condition: str | None = None, x: str = "n_queries", y: str = "wrong_time"
    ) -> Axes:
        """The frontier of one condition: y over x, a line for each method."""
        from weakly.base.plot import COLOURS, axes, label

        ax = axes(ax)
        chosen = condition if condition is not None else str(self.frame["condition"].iloc[0])
        part = self.frame[self.frame["condition"] == chosen]
        for k, method in enumerate(CURVES):
            mine = part[part["method"] == method].sort_values(x)
            if len(mine):
                ax.plot(
                    mine[x],
                    mine[y],
                    marker="osD^v*"[k],
                    markersize=10 if method == "oracle" else 4,
                    color=COLOURS[k],
                    label=method,
                )
        words = {"n_queries": "queries of all recordings", "wrong_time": "wrong time per recording (s)"}
        ax.set(xlabel=words.get(x, label(x)), ylabel=words.get(y, label(y)), title=chosen)
        return ax

    def figure(self, *, x: str = "n_queries") -> Figure:
        """All conditions: wrong time, event recall and overlap accuracy, one row each, over queries or cost."""
        from matplotlib.figure import Figure

        from weakly.base.plot import style

        conditions = list(dict.fromkeys(self.frame["condition"]))
        metrics = ("wrong_time", "event_recall", "overlap_accuracy")
        with style():
            figure = Figure(figsize=(3.1 * len(conditions), 8.0), layout="constrained")
            grid = figure.subplots(len(metrics), len(conditions), squeeze=False)
            for i, metric in enumerate(metrics):
                for j, condition in enumerate(conditions):
                    ax = self.plot(grid[i, j], condition=condition, x=x, y=metric)
                    ax.set_title(condition if i == 0 else "", fontsize=9)
                    if i:
                        ax.set_ylim(0, 1.05)
                    if i < len(metrics) - 1:
                        ax.set_xlabel("")
                    if j:
                        ax.set_ylabel("")
            handles, names = grid[0, 0].get_legend_handles_labels()
            figure.legend(handles, names, loc="outside lower center", ncols=len(names))
        return figure


def study(
    *,
    snrs: Sequence[float] = (0.0, 10.0, 20.0),
    densities: Sequence[int] = (4, 16),
    n_recordings: int = 8,
    recording_length: float = 60.0,
    presence_criterion: float = 0.5,
    query_cost_share: float = 0.5,
    annotator: Annotator | None = None,
    folders: Sequence[str | Path] = (),
    quick: bool = False,
    seed: int = 0,
) -> Study:
    """The frontier of every method on synthetic soundscapes and on real recordings.

    Parameters
    ----------
    snrs : dB. densities : events per recording. n_recordings, recording_length : of each synthetic condition.
    annotator : another annotator than one with this criterion and without noise.
    folders : real recordings, each a folder with WAV files and one annotation file.
    quick : one SNR, one density and four recordings.

    Notes
    -----
    Each method is run over its own budget: fixed and change-point with as many segments per recording, windows
    windows (twice as long, by their majority), bisection down to the fixed segments' length, the oracle once. Only the
    oracle is told anything of the events; the budgets are spread over what such recordings may need.
    """
    if quick:
        snrs, densities, n_recordings = tuple(snrs)[-1:], tuple(densities)[:1], min(4, n_recordings)
    who = annotator or Annotator(presence_criterion=presence_criterion)
    rows = []
    for name, facts, recordings in _conditions(snrs, densities, n_recordings, recording_length, folders, seed):
        mean = float(np.mean([0 if one.events is None else len(one.events) for one in recordings]))
        least = max(4, round(mean))
        budgets = sorted({*(int(x) for x in np.geomspace(least, 8 * max(least, 8), 7)), round(2 * mean) + 1})
        for method, setting, outcomes in _runs(recordings, budgets, who, query_cost_share, seed):
            row = score(outcomes, presence_criterion=presence_criterion, cost=Cost(query_cost_share=query_cost_share))
            rows.append({"condition": name, **facts, "method": method, "setting": setting, **row})
    return Study(pd.DataFrame(rows), presence_criterion, query_cost_share, seed)


def _conditions(
    snrs: Sequence[float], densities: Sequence[int], count: int, length: float, folders: Sequence[Any], seed: int
) -> Iterator[tuple[str, dict[str, float], list[Recording]]]:
    import tempfile

    for snr in snrs:
        for density in densities:
            recordings = []
            with tempfile.TemporaryDirectory() as folder:
                for k in range(count):
                    # The same events at every SNR: only the loudness differs between these conditions.
                    rng = np.random.default_rng([seed, density, k])
                    scene = soundscape(length, n_events=density, snr=snr, event_length=(0.5, 1.5), rng=rng)
                    path = scene.write(Path(folder) / f"{k}.wav")
                    recordings.append(Recording(path.name, length, events=scene.events, features=log_mel(path)))
            yield f"{snr:g} dB, {density} events", {"snr": snr, "density": density}, recordings
    for place in map(Path, folders):
        recordings = real_recordings(place)
        events = np.mean([len(one.events) for one in recordings if one.events is not None])
        yield place.name, {"snr": np.nan, "density": float(events)}, recordings


def real_recordings(folder: str | Path, *, label: str | None = None) -> list[Recording]:
    """The recordings of a folder with WAV files and an annotation file in any format that weakly reads.

    All labels count as one class unless one is chosen. An annotation file of one recording (Audacity) belongs to the
    WAV file of the same name.
    """
    folder = Path(folder)
    sounds = sorted(folder.glob("*.wav"))
    tables = sorted(path for path in folder.iterdir() if path.suffix.lower() in (".txt", ".csv", ".tsv"))
    if not sounds or not tables:
        raise InvalidInput(f"{folder}: needs WAV files and an annotation file")
    frame = pd.concat([_annotations(path) for path in tables])
    if label is not None:
        frame = frame[frame["label"] == label]
    found = []
    for path in sounds:
        mine = frame[frame["recording"].map(lambda name: Path(str(name)).stem) == path.stem]
        length = header(path).seconds
        events = merge(np.clip(mine[["onset", "offset"]].to_numpy(float), 0, length))
        found.append(Recording(path.name, length, path=path, events=events, features=log_mel(path)))
    return found


def _annotations(path: Path) -> pd.DataFrame:
    if path.suffix.lower() == ".csv":
        table = pd.read_csv(path)
        if {"onset_s", "offset_s", "notated_path"} <= set(table.columns):  # the table of crowsetta
            names = {"onset_s": "onset", "offset_s": "offset", "notated_path": "recording"}
            return table.rename(columns=names)[["recording", "onset", "offset", "label"]]
    return read(path).to_frame()[["recording", "onset", "offset", "label"]]


def _runs(
    recordings: list[Recording], budgets: Sequence[int], who: Annotator, share: float, seed: int
) -> Iterator[tuple[str, float, list[Outcome]]]:
    def each(method: Any) -> list[Outcome]:
        one = SimulatedAnnotator(who, rng=seed)
        return [run(method, recording, one) for recording in recordings]

    length = float(np.mean([one.length for one in recordings]))
    for count in budgets:
        hop = length / count
        yield "fixed", count, each(Fixed(n_queries=count))
        yield "windows", count, each(Windows(segment_length=2 * hop, hop=hop))
        yield "change-point", count, each(ChangePoint(n_queries=count))
        yield "bisection", hop, each(Bisection(segment_length=hop, query_cost_share=share))
    yield "oracle", np.nan, each(Oracle())


if __name__ == "__main__":
    print(study(folders=sys.argv[2:]).report(sys.argv[1]))
