"""Synthetic recordings -> what weak labels make of them, with standard errors: the paper's simulation, and more.

Work goes out in chunks of recordings whose size and seeds depend on the settings alone, and comes back as tallies that
are added in order, so that one worker and a cluster give the same bits.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from ..base.errors import AssumptionWarning, InvalidInput
from ..base.parallel import Progress, in_order, threads
from ..base.report import Report
from ..base.results import METRICS, Finding, counted, law_name, points, to_jsonable
from ..base.symbols import Seed, check, choice, positive, whole
from ..engine.scoring import score
from ..engine.tally import Tally
from ..model.answer_model import AnswerLike, AnswerModels
from ..model.criterion_law import Law
from ..model.intervals import EdgeName, EventArrays, Ints, Placement, segment_lengths
from ..model.lengths import LengthLike, Lengths
from ..theory.optimum import optimal_segment_length
from .evaluate.evaluation import CAPTIONS, ScoreRows, brief, plot_rows, rows, told

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PLACEMENTS = ("uniform", "poisson", "spaced")
_MOST = 100_000_000  # events of one recording: more would fill the memory


@dataclass(frozen=True)
class World:
    """What recordings are drawn from."""

    lengths: Lengths
    n_events: Any  # a whole number, or a frozen scipy law of whole numbers
    recording_length: float
    placement: str
    gap: float

    def draw(self, n: int, rng: np.random.Generator) -> tuple[EventArrays, int]:
        """n recordings, merged where events overlap, and how many events were as long as the recording or longer."""
        counts = self._counts(n, rng)
        total = int(counts.sum())
        d = self.lengths.draw(total, rng)
        recording = np.repeat(np.arange(n), counts)
        longer = d > self.recording_length
        d = np.minimum(d, self.recording_length)
        if self.placement == "spaced":
            onset = self._spaced(d, counts, recording, rng)
        else:
            onset = rng.random(total) * (self.recording_length - d)
        offset, lengths = np.minimum(onset + d, self.recording_length), np.full(n, self.recording_length)
        some = offset > onset
        return EventArrays.of_rows(recording[some], onset[some], offset[some], lengths), int(longer.sum())

    def _counts(self, n: int, rng: np.random.Generator) -> Ints:
        if self.placement == "poisson":
            return rng.poisson(self.n_events, n)
        if hasattr(self.n_events, "rvs"):
            counts = np.asarray(self.n_events.rvs(size=n, random_state=rng), dtype=np.int64)
            if (counts < 0).any():
                raise InvalidInput(f"n_events must be >= 0, its law drew {int(counts.min())}")
            return counts
        return np.full(n, self.n_events, dtype=np.int64)

    def _spaced(self, d: Any, counts: Any, recording: Any, rng: np.random.Generator) -> Any:
        """Uniform among all ways to place the events at least a gap apart: share out the time that is left."""
        n = len(counts)
        ends = np.cumsum(counts)
        taken = np.bincount(recording, weights=d, minlength=n) + np.maximum(counts - 1, 0) * self.gap
        slack = self.recording_length - taken
        if (slack < 0).any():
            r = int(np.flatnonzero(slack < 0)[0])
            raise InvalidInput(
                f"{counts[r]} events of {taken[r] - (counts[r] - 1) * self.gap:g} s together do not fit into "
                f"{self.recording_length:g} s with gaps of {self.gap:g} s"
            )
        free = rng.random(len(d)) * slack[recording]
        free = free[np.lexsort((free, recording))]
        before = np.cumsum(d + self.gap) - (d + self.gap)
        first = before[np.minimum(ends - counts, max(len(d) - 1, 0))] if len(d) else np.zeros(n)
        return free + before - first[recording]


def _chunk(
    world: World, lengths: Any, who: AnswerModels, how: Placement, entropy: list[int], index: int, n: int
) -> tuple[Tally, Tally, int]:
    """The tallies of both halves of one chunk of recordings, and how many events were cut."""
    rng = np.random.default_rng(np.random.SeedSequence(entropy, spawn_key=(index,)))
    timelines, longer = world.draw(n, rng)
    first, second = timelines.part(0, (n + 1) // 2), timelines.part((n + 1) // 2, n)
    return score(first, lengths, who, how), score(second, lengths, who, how), longer


@dataclass(frozen=True, repr=False)
class Simulation(ScoreRows):
    """What weak labels make of simulated recordings, per segment length and criterion, with standard errors.

    Attributes named like the columns of :meth:`to_frame` hold one value per row, or a number if there is one row.
    """

    who: AnswerModels
    halves: tuple[Tally, Tally]
    settings: dict[str, Any]
    n_longer: int  # drawn events that were longer than the recording and fill it

    @cached_property
    def tally(self) -> Tally:
        """The sums over all recordings."""
        return self.halves[0] + self.halves[1]

    @cached_property
    def _frame(self) -> pd.DataFrame:
        return rows(self.tally, self.who)

    @property
    def several(self) -> bool:
        """Whether there is a segment length to choose."""
        return len(set(self.tally.segment_length.tolist())) > 1

    def best(self, *, metric: str = "overlap_accuracy") -> pd.DataFrame:
        """The best segment length per criterion: chosen on one half of the recordings, reported on the other.

        The maximum of many noisy means is too high (E13), so the columns named like the metrics come from recordings
        that had no say in the choice; ``naive_segment_length`` and ``naive_`` plus the metric choose and report on all
        recordings, as the paper does. Of one length, where nothing is chosen, everything is of all recordings.
        """
        choice("metric", metric, METRICS)
        sign = -1.0 if metric == "wrong_time" else 1.0
        tables = [rows(half, self.who) for half in self.halves]
        rows_of_best = []
        for c in range(len(self.who)):
            every = slice(c, None, len(self.who))
            first, second, both = (table.iloc[every].reset_index(drop=True) for table in (*tables, self._frame))
            scores = [np.nan_to_num(sign * table[metric].to_numpy(np.float64), nan=-np.inf) for table in (first, both)]
            chosen, naive = map(int, map(np.argmax, scores))
            row = (second if self.several else both).iloc[chosen].to_dict()
            row["naive_segment_length"] = both["segment_length"].iloc[naive]
            row[f"naive_{metric}"] = both[metric].iloc[naive]
            row[f"naive_{metric}_se"] = both[f"{metric}_se"].iloc[naive]
            rows_of_best.append(row)
        return pd.DataFrame(rows_of_best)

    def sentences(self) -> list[str]:
        best = self.best()
        sentences = told(best, tried=len(self.settings["segment_length"]), queries=False)
        if math.isfinite(error := best["overlap_accuracy_se"].max()):  # unknown with one recording in each half
            sentences.append(f"The standard error of accuracy is {points(error)}.")
        if self.several:
            sentences.append(
                "The length was chosen on one half of the recordings, and these numbers are from the other half. The "
                "rows of the table use all recordings."
            )
        return sentences

    def to_dict(self) -> dict[str, Any]:
        document = {"settings": self.settings, "answer": self.answer, "n_longer": self.n_longer}
        return dict(to_jsonable({**document, "rows": self._frame, "best": self.best()}))

    @property
    def findings(self) -> tuple[Finding, ...]:
        if not self.n_longer:
            return ()
        drawn = int(self.tally.n_events.max())
        length = self.settings["recording_length"]
        text = f"{self.n_longer} drawn events were longer than the recording ({length:g} s) and fill it"
        return (Finding(min(1.0, self.n_longer / max(drawn, 1)), "longer", text),)

    def tables(self) -> dict[str, pd.DataFrame]:
        return {"simulation": self.to_frame(), "best": self.best()}

    def shown(self) -> dict[str, pd.DataFrame]:
        shown = {"Simulated labels": self.brief()}
        if not self.several:
            return shown
        title = "Best segment length: chosen on one half of the recordings, reported on the other"
        return {title: brief(self.best()), **shown}

    def figures(self) -> dict[str, Figure]:
        return {"overlap_accuracy": self.plot().figure}  # type: ignore[dict-item]

    def plot(self, ax: Axes | None = None, *, metric: str = "overlap_accuracy") -> Axes:
        """The metric over the segment length, one line per criterion, within two standard errors."""
        best = self.best(metric=metric) if metric in METRICS and self.several else None
        return plot_rows(self._frame, ax=ax, metric=metric, who=self.who, best=best)

    def page(self) -> Report:
        settings = self.settings
        page = Report("Simulated weak labels").sentences(self.sentences())
        page.text(
            f"It drew {counted(settings['n_recordings'], 'recording')} of {settings['recording_length']:g} s with "
            f"{settings['n_events']} events each. Lengths: {settings['event_length']}; placed: {settings['placement']}."
        )
        if self.several:
            caption = f"{CAPTIONS['overlap_accuracy']}; bands: two standard errors."
            page.figure(self.plot().figure, caption).heading("Best segment length").table(brief(self.best()))
        return page.heading("All segment lengths").table(self.brief(), most=2000)


def simulate(
    event_length: LengthLike,
    *,
    n_events: float | Law,
    recording_length: float,
    segment_length: ArrayLike,
    presence_criterion: AnswerLike | None = None,
    rule: AnswerLike | None = None,
    annotator: AnswerLike | None = None,
    n_recordings: int = 1000,
    placement: Literal["uniform", "poisson", "spaced"] = "uniform",
    gap: float = 0.0,
    phase: float | Literal["random"] = 0.0,
    edge: EdgeName = "truncate",
    hop: float | None = None,
    votes: int | None = None,
    rng: Seed = None,
    executor: Executor | None = None,
    progress: Progress = False,
) -> Simulation:
    r"""What weak labels make of random recordings: a :class:`Simulation` with standard errors.

    Parameters
    ----------
    event_length : the law of event lengths in seconds: a :class:`Lengths`, a number, a sample, a frozen scipy law, or
        text such as ``2-20`` or ``gamma:0.8,loc=0.5``.
    n_events : events per recording before merging, M: a whole number, or a frozen scipy law of whole numbers; the mean
        count where ``placement`` is ``"poisson"``.
    recording_length : T in seconds.
    segment_length : :math:`d_q` in seconds; one or several.
    presence_criterion, rule, annotator : exactly one of them, as in :func:`evaluate`.
    n_recordings : how many recordings are drawn.
    placement : ``"uniform"``: every event starts uniformly in :math:`[0, T - d_e]`, as in the paper; ``"poisson"``: the
        same with a Poisson number of events; ``"spaced"``: uniformly among all ways to keep them ``gap`` seconds apart.
    phase, edge, hop, votes : as in :func:`evaluate`; segments start at 0 unless told otherwise.
    rng : a seed or a generator.
    executor : any ``concurrent.futures.Executor``; the numbers do not depend on it. Left out, one thread per processor.
    progress : whether to show a bar, or a function that is told (done, total).

    Notes
    -----
    Section 6 of the paper. Events that overlap are merged into one. A sample with an event longer than the recording is
    refused; a law without an end that draws one fills the recording with it, counts it in ``n_longer`` and warns.
    Answers of random annotators are averaged exactly, not drawn, which leaves only the chance of the recordings.

    Examples
    --------
    >>> found = simulate(1.0, n_events=1, recording_length=100, segment_length=0.8, presence_criterion=0.5, rng=1)
    >>> abs(found.overlap_accuracy - 0.7638888889) < 4 * found.overlap_accuracy_se
    True
    """
    who = AnswerModels.of(presence_criterion=presence_criterion, rule=rule, annotator=annotator)
    widths = segment_lengths(segment_length)
    how = Placement.of(phase=phase, edge=edge, hop=hop, votes=votes, segment_length=widths)
    world = _world(event_length, n_events, recording_length, placement, gap)
    count = whole("n_recordings", n_recordings)
    entropy = [int(word) for word in np.random.default_rng(rng).integers(0, 2**32, size=8)]
    mean = float(world.n_events.mean()) if hasattr(world.n_events, "mean") else float(world.n_events)
    size = int(min(4096, max(16, 16_384 // max(1.0, mean))))
    n_chunks = -(-count // size)

    def chunks() -> Iterator[tuple[Any, ...]]:
        for index in range(n_chunks):
            yield world, widths, who, how, entropy, index, min(size, count - index * size)

    first, second = Tally.empty(widths, who.labels), Tally.empty(widths, who.labels)
    n_longer = 0
    with threads(executor) as workers:
        parts = in_order(_chunk, chunks(), total=n_chunks, executor=workers, progress=progress, label="simulating")
        for left, right, longer in parts:
            first.add(slice(None), left)
            second.add(slice(None), right)
            n_longer += longer
    events = world.n_events if isinstance(world.n_events, (int, float)) else law_name(world.n_events)
    settings: dict[str, Any] = {"event_length": world.lengths.name, "n_events": events}
    settings |= {"recording_length": world.recording_length, "segment_length": widths, **who.frame()}
    settings |= {"n_recordings": count, "placement": placement, "gap": world.gap, "phase": phase, "edge": edge}
    settings |= {"hop": hop, "votes": how.votes}
    simulation = Simulation(who, (first, second), settings, n_longer)
    for finding in simulation.findings:
        warnings.warn(finding.text, AssumptionWarning, stacklevel=2)
    return simulation


def widths_to_try(lengths: Lengths, criteria: Sequence[float]) -> list[float]:
    """40 segment lengths in seconds, from a quarter to four times the paper's optimum for the mean event length."""
    optima = [float(optimal_segment_length(event_length=lengths.mean, presence_criterion=each)) for each in criteria]
    return [float(f"{value:.4g}") for value in np.geomspace(min(optima) / 4, max(optima) * 4, 40)]


def _world(lengths: Any, n_events: Any, recording_length: Any, placement: str, gap: Any) -> World:
    law = Lengths.of(lengths)
    total = float(check("recording_length", recording_length))
    choice("placement", placement, PLACEMENTS)
    gap = positive("gap", gap, zero=True)
    if gap and placement != "spaced":
        raise InvalidInput(f"gap needs placement 'spaced', got gap {gap:g} with {placement!r}")
    if law.is_sample and law.longest > total:
        raise InvalidInput(f"event_length must be at most the recording's {total:g} s, got {law.longest:g}")
    if hasattr(n_events, "rvs"):
        if placement == "poisson":
            raise InvalidInput("n_events must be a number, the mean count, where placement is 'poisson'")
    elif placement == "poisson":
        n_events = float(check("n_events", n_events))
    else:
        n_events = whole("n_events", float(check("n_events", n_events)), least=0)
    if isinstance(n_events, (int, float)) and n_events > _MOST:
        raise InvalidInput(f"n_events must be at most {_MOST:,} per recording, got {n_events:g}")
    return World(law, n_events, total, placement, gap)


if TYPE_CHECKING:
    from ..model.answers import Answers
    from ..model.events import Events

#: The file, in DCASE strong format with the lengths of its recordings.
PILOT = Path(__file__).parents[1] / "data" / "pilot.tsv"


def pilot() -> Events:
    """The bundled pilot annotations.

    >>> pilot().labels
    ['call', 'song']
    """
    from ..io.reading import read

    return read(PILOT)


def clips(seed: int = 7) -> Answers:
    """What an annotator who hears an event from 40 % of it on, and slips now and then, says of its three-second clips.

    >>> len(clips())
    1600
    """
    from ..model.answers import Answers
    from .evaluate.clips import clip_labels

    frame = clip_labels(pilot(), segment_length=3.0, presence_criterion=0.4).to_frame()
    slips = np.random.default_rng(seed).random(len(frame)) < 0.03
    return Answers.from_frame(frame.assign(present=np.where(slips, 1 - frame["present"], frame["present"])))
