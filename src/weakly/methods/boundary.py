r"""Boundary search: onset, offset and criterion of one event, without knowing the criterion.

In a stretch (A, B) with one event (a, b) of length d, an annotator with criterion gamma says present to the prefix
(A, t) from :math:`t_L = a + \gamma d` on, to the suffix (t, B) up to :math:`t_R = b - \gamma d`, and to a window around
:math:`(t_L + t_R)/2`, the middle of the event, from the width :math:`w = \gamma d` on. Three searches by halving find
the three numbers, and with them

.. math:: a = t_L - w, \qquad b = t_R + w, \qquad \gamma = w / (b - a).

With guesses and lapses the three searches are probabilistic: each answer reweights the chance of every threshold, the
next query is where the chance is split in half, and what remains of it at the end is the uncertainty that is stated.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..base.errors import InvalidInput
from ..base.symbols import check, positive
from ..model.intervals import Intervals, fixed_segments
from .base import AnswerHistory, Labels, Method, Recording, answers_by_segment, key


@dataclass(frozen=True)
class FoundEvent:
    """One event that was found: the estimates, and for each the interval that holds it with 95 % chance."""

    onset: float
    offset: float
    presence_criterion: float
    onset_ci: tuple[float, float]
    offset_ci: tuple[float, float]
    presence_criterion_ci: tuple[float, float]
    n_queries: int
    done: bool


class _Threshold:
    """What is known of one threshold in (low, high): a chance between every two points that were asked.

    Without wrong answers all the chance lies in one interval, and this is plain halving.
    """

    def __init__(self, low: float, high: float, guess: float, lapse: float) -> None:
        self.edges = np.array([low, high])
        self.chance = np.ones(1)
        self.guess, self.lapse = guess, lapse
        self.exact = guess == 0 and lapse == 0
        self.range, self.answers = (low, high), list[tuple[float, bool]]()

    def doubted(self, rate: float) -> _Threshold:
        """The same answers, if this share of them is wrong."""
        other = _Threshold(*self.range, rate, rate)
        for at, above in self.answers:
            other.update(at, above)
        return other

    def query(self) -> float:
        """Where the chance is split in half."""
        return float(self.quantile(0.5))

    def update(self, at: float, above: bool) -> None:
        """An answer "the threshold is at most ``at``" (above) or "more than ``at``"."""
        self.answers.append((at, above))
        i = int(np.clip(np.searchsorted(self.edges, at), 1, len(self.chance)))
        low, high = self.edges[i - 1], self.edges[i]
        if low < at < high:
            part = (at - low) / (high - low) * self.chance[i - 1]
            self.chance = np.insert(self.chance, i, self.chance[i - 1] - part)
            self.chance[i - 1] = part
            self.edges = np.insert(self.edges, i, at)
        yes, no = (1 - self.lapse, self.guess) if above else (self.lapse, 1 - self.guess)
        self.chance = self.chance * np.where(self.edges[1:] <= at, yes, no)
        kept = self.chance > 0
        if self.exact and kept.any():
            first = int(np.flatnonzero(kept)[0])
            self.edges, self.chance = self.edges[first : first + 2], np.ones(1)
        else:
            self.chance /= self.chance.sum()

    def quantile(self, p: Any) -> Any:
        """The value below which the threshold lies with this chance."""
        return np.interp(p, np.concatenate(([0.0], np.cumsum(self.chance))), self.edges)

    @property
    def width(self) -> float:
        """The length of the interval that holds the threshold (with 99 % chance, if answers can be wrong)."""
        p = [0.0, 1.0] if self.exact else [0.005, 0.995]
        return float(np.diff(self.quantile(p))[0])

    def draws(self, u: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(self.quantile(u), dtype=np.float64)


@lru_cache(maxsize=32)
def _repeats(rate: float) -> int:
    from scipy.stats import binom

    return next((n for n in range(1, 100, 2) if binom.sf(n // 2, n, rate) < 0.002), 99)


@dataclass(frozen=True)
class Boundary(Method):
    """Find onset, offset and criterion by halving.

    Parameters
    ----------
    tolerance : seconds to which each of the three thresholds is found.
    segment_length : first ask fixed segments of this length, then search around each run of present ones; left out, the
        whole recording is taken to hold at most one event.
    guess_rate, lapse_rate : how often an answer is a wrong "present" or a wrong "absent"; not 0 makes the search
        probabilistic.
    most_queries : of one search, for the noisy case.
    shortest : seconds; a search ends where it would ask a shorter segment, and states the interval that is left.
    slip_rate : where guess_rate and lapse_rate are 0, plain halving asks as if nobody errs, and one wrong answer sends
        it astray; the stated intervals allow for so many. 0: none, and the intervals hold every case.

    Notes
    -----
    Needs events that stand alone: a prefix or suffix must not reach another one. With rates that are smaller than the
    annotator's, the stated intervals are too short. Where several events fall into one first segment they become one:
    from segments of 5 s, 30 s with 3 events end with 8.5 wrong seconds after 90 answers of which 5 % are wrong, more
    than fixed segments (2.3 after 50) or :class:`~weakly.methods.information.Information` (0.8 after 40, told nothing).
    """

    tolerance: float = 0.05
    segment_length: float | None = None
    guess_rate: float = 0.0
    lapse_rate: float = 0.0
    most_queries: int = 120
    shortest: float = 0.0
    slip_rate: float = 0.05
    name: ClassVar[str] = "boundary"
    follows_answers: ClassVar[bool] = True

    def __post_init__(self) -> None:
        positive("tolerance", self.tolerance)
        positive("shortest", self.shortest, zero=True)
        check("guess_rate", self.guess_rate)
        check("lapse_rate", self.lapse_rate)
        check("lapse_rate", self.slip_rate, called="slip_rate")
        if self.guess_rate + self.lapse_rate >= 1:
            raise InvalidInput("guess_rate + lapse_rate must be below 1: such answers tell nothing")

    @property
    def repeats(self) -> int:
        """How often each first segment is asked, so that their majority is wrong in less than 0.2 % of the cases."""
        return _repeats(max(self.guess_rate, self.lapse_rate))

    def _coarse(self, recording: Recording) -> Intervals:
        if self.segment_length is None:
            return np.tile(np.array([[0.0, recording.length]]), (self.repeats, 1))
        segments = fixed_segments(recording_length=recording.length, segment_length=self.segment_length)
        return np.repeat(segments, self.repeats, axis=0)

    def _stretches(self, recording: Recording, asked: AnswerHistory) -> list[tuple[float, float]] | None:
        """Where to search: runs of present segments with their absent neighbours; None until all were answered."""
        coarse = self._coarse(recording)
        n = len(coarse)
        known = answers_by_segment(AnswerHistory(asked.segments[:n], asked.present[:n]))
        if len(asked) < n:
            return None
        coarse = coarse[:: self.repeats]
        said = [known.get(segment) for segment in key(coarse)]
        # Less than the criterion of the event can lie in the absent neighbours, so they belong to the search.
        runs: list[tuple[float, float]] = []
        i = 0
        while i < len(said):
            if said[i] == 0:
                i += 1
                continue
            j = i
            while j + 1 < len(said) and said[j + 1] != 0:
                j += 1
            runs.append((float(coarse[max(0, i - 1), 0]), float(coarse[min(len(coarse) - 1, j + 1), 1])))
            i = j + 1
        return runs

    def _searches(self, recording: Recording, asked: AnswerHistory) -> Iterator[tuple[Any, _Search]]:
        """Every stretch with its search, replayed from the answers."""
        stretches = self._stretches(recording, asked)
        if stretches is None:
            return
        at = len(self._coarse(recording))
        for stretch in stretches:
            search = _replay(self, stretch, tuple(asked.present[at:].tolist()))
            at += search.n
            yield stretch, search

    def next(self, recording: Recording, asked: AnswerHistory) -> Intervals:
        """One segment: the next of the searches that are not finished. First of all, the coarse segments."""
        coarse = self._coarse(recording)
        if len(asked) < len(coarse):
            return coarse[len(asked) :]
        for _, search in self._searches(recording, asked):
            if not search.done:
                return np.array([search.query()])
        return np.empty((0, 2))

    def rounds(self, recording: Recording, asked: AnswerHistory) -> int:
        """One for the first segments, and one for each answer after them."""
        return 1 + max(0, len(asked) - len(self._coarse(recording))) if len(asked) else 0

    def found(self, recording: Recording, asked: AnswerHistory) -> list[FoundEvent]:
        """The events found so far, with their uncertainty."""
        return [search.found() for _, search in self._searches(recording, asked)]

    def labels(self, recording: Recording, asked: AnswerHistory) -> Labels:
        """The events found and the gaps between them."""
        from ..model.intervals import merge, oracle_segments

        if len(asked) < len(self._coarse(recording)):
            return Labels(np.array([[0.0, recording.length]]), np.array([np.nan]))
        found = [(max(0.0, one.onset), min(recording.length, one.offset)) for one in self.found(recording, asked)]
        events = merge(np.array([pair for pair in found if pair[1] > pair[0]]).reshape(-1, 2))
        segments = oracle_segments(events, recording_length=recording.length)
        middle = segments.mean(axis=1)
        inside = [bool(((events[:, 0] < m) & (m < events[:, 1])).any()) for m in middle]
        return Labels(segments, np.array(inside, dtype=np.float64))


#: The latest searches, by their answers: one more answer to a search of a hundred is one step, not a hundred.
_LATEST: dict[Any, _Search] = {}


def _replay(how: Boundary, stretch: tuple[float, float], answers: tuple[float, ...]) -> _Search:
    search = _LATEST.get((how, stretch, answers))
    if search is not None:
        return search
    search = copy.deepcopy(_LATEST.get((how, stretch, answers[:-1]))) if answers else None
    if search is None:
        search = _Search(how, stretch)
    for answer in answers[search.n :]:
        if search.done:
            break
        search.take(answer)
    if len(_LATEST) > 256:
        _LATEST.clear()
    _LATEST[(how, stretch, answers)] = search
    return search


#: Steps of a low-discrepancy sequence in four dimensions: powers of 1 / 1.1673, the root of x^5 = x + 1.
_STEPS = np.array([0.8566748838545029, 0.7338918566271260, 0.6287067210378087, 0.5385972572236101])


class _Search:
    """The three searches in one stretch: prefix, suffix, width."""

    def __init__(self, how: Boundary, stretch: tuple[float, float]) -> None:
        self.how, (self.low, self.high) = how, stretch
        self.n = 0
        self.stage_queries = 0
        self.stages = [_Threshold(self.low, self.high, how.guess_rate, how.lapse_rate)]

    @property
    def done(self) -> bool:
        return len(self.stages) == 3 and self._finished()

    def _finished(self) -> bool:
        enough = self.stages[-1].width <= self.how.tolerance * (1 + 1e-9)  # 12.8 s halved six times are 0.2 s
        if self.how.shortest > 0:
            onset, offset = self.query()
            enough = enough or offset - onset < self.how.shortest
        return enough or (not self.stages[-1].exact and self.stage_queries >= self.how.most_queries)

    def _middle(self) -> float:
        """The middle of the event: t_L from below plus t_R from above."""
        left, right = self.stages[0].quantile(0.5), self.stages[1].quantile(0.5)
        return float(np.clip((left + self._mirror(right)) / 2, self.low, self.high))

    def _mirror(self, x: Any) -> Any:
        return self.low + self.high - x  # the suffix search runs backwards, so that it is a prefix search too

    def query(self) -> tuple[float, float]:
        """The segment to ask now."""
        at = float(self.stages[-1].query())
        if len(self.stages) == 1:
            return self.low, max(at, self.low + 1e-6)
        if len(self.stages) == 2:
            return min(float(self._mirror(at)), self.high - 1e-6), self.high
        middle = self._middle()
        return max(self.low, middle - at / 2), max(min(self.high, middle + at / 2), self.low + 1e-6)

    def take(self, present: float) -> None:
        """One answer; an unsure one counts as heard and tells nothing."""
        if not np.isnan(present):
            self.stages[-1].update(float(self.stages[-1].query()), present == 1)
        self.n += 1
        self.stage_queries += 1
        if self._finished() and len(self.stages) < 3:
            self.stage_queries = 0
            how = self.how
            if len(self.stages) == 1:
                self.stages.append(_Threshold(self.low, self.high, how.guess_rate, how.lapse_rate))
            else:
                # The noticed part lies inside the stretch on both sides of the middle.
                room = max(how.tolerance, 2 * min(self._middle() - self.low, self.high - self._middle()))
                left = float(self.stages[0].quantile(0.995)) - self.low
                right = float(self.stages[1].quantile(0.995)) - self.low
                most = max(how.tolerance, min(room, left, right))
                self.stages.append(_Threshold(0.0, most, how.guess_rate, how.lapse_rate))

    def found(self) -> FoundEvent:
        """The estimates; before the end, what is known so far."""
        exact, slip = self.stages[0].exact, self.how.slip_rate
        samples = self._sample(self.stages, exact)
        stated = samples
        if exact and slip > 0:
            stated = self._sample([stage.doubted(slip) for stage in self.stages], False)
        middle = [float(np.median(x)) for x in samples]
        ends = []
        for sure, x in zip(samples, stated):
            low, high = np.quantile(x, (0.0, 1.0) if exact and slip == 0 else (0.025, 0.975))
            if exact:
                low, high = min(low, sure.min()), max(high, sure.max())
            ends.append((float(low), float(high)))
        return FoundEvent(middle[0], middle[1], middle[2], ends[0], ends[1], ends[2], self.n, self.done)

    def _sample(self, stages: list[_Threshold], exact: bool) -> list[NDArray[np.float64]]:
        """Onset, offset and criterion at a fixed low-discrepancy sample of the thresholds: the same answers give the
        same intervals."""
        u = (np.arange(4001)[:, None] * _STEPS + 0.5) % 1.0
        if exact:  # and all corners, so that the intervals hold every case
            u = np.concatenate((u, np.array(list(product((0.0, 1.0), repeat=4)))))
        left = stages[0].draws(u[:, 0])
        right = self._mirror(stages[1].draws(u[:, 1])) if len(stages) > 1 else np.full(len(u), self.high)
        # Nothing known of the width yet: between nothing and all of the stretch that was heard.
        w = stages[2].draws(u[:, 2]) if len(stages) > 2 else u[:, 2] * (left - self.low)
        if len(stages) > 2:
            # Around a middle that is off by x, a criterion near 1 is met from the width t_L - t_R + 2 x on, not w.
            off = np.abs((left + right) / 2 - self._middle())
            off = off.max() if exact else off
            least = left - right
            hidden = least + 2 * off >= w
            w = np.where(hidden, least + u[:, 3] * np.maximum(w - least, 0.0), w)
            if self.stages[0].exact and not exact:  # asked around another middle, the widths tell nothing
                w = np.where(off > self.how.tolerance, u[:, 3] * np.minimum(left - self.low, self.high - right), w)
        onset, offset = left - w, right + w
        offset = np.maximum(offset, onset + 1e-9)
        return [onset, offset, np.clip(w / (offset - onset), 0, 1)]
