"""The mergeable result of scoring any recordings: sums from which every accuracy and its standard error follow.

Each recording is measured once per segment length and criterion (:data:`SCORES`, :data:`EXPOSURE`); a tally keeps the
sums of these and of the products that standard errors need. Adding two tallies is all that parallel work needs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..base.compiled import count_up_to, kernel
from ..base.errors import InvalidInput
from ..model.annotator import TIE, PresenceRule
from ..model.intervals import EventArrays, Floats, Ints, as_intervals

#: What is measured per recording, segment length and criterion. Times in seconds; expectations where there is chance.
#: tp, fp: event time and other time in overlapping segments that are labelled present; fp_outside: time of present
#: labels in segments that meet no event; n_found: events noticed; mean, fit: mean and sum of the segments' accuracies.
SCORES = ("tp", "fp", "fp_outside", "n_present", "n_found", "mean", "fit")
#: What is measured per recording and segment length. meeting: whether any segment meets an event; cover: event time in
#: overlapping segments; bound: time that the best labels could get right in overlapping segments.
EXPOSURE = (
    *("n_recordings", "time", "event_time", "n_events", "overlap_time", "event_time_seen", "n_overlapping"),
    *("n_segments", "listened", "n_meeting", "bound_time"),
)
# The same as positions, for compiled code.
TP, FP, FP_OUTSIDE, N_PRESENT, N_FOUND, MEAN, FIT = range(len(SCORES))
N_RECORDINGS, TIME, EVENT_TIME, N_EVENTS, OVERLAP_TIME, EVENT_TIME_SEEN, N_OVERLAPPING = range(7)
N_SEGMENTS, LISTENED, N_MEETING, BOUND_TIME = range(7, len(EXPOSURE))
_PRODUCTS = (
    *("mean2", "mean_meeting", "right2", "right_overlap", "wrong2", "wrong_time", "tp2", "said2", "tp_said"),
    *("tp_event", "found2", "found_events"),
)
_BASE_PRODUCTS = ("time2", "event_time2", "n_events2", "overlap2", "meeting2")


@kernel
def accumulate(raw: Any, base: Any, sums: Any, products: Any, base_sums: Any, base_products: Any) -> None:
    """Add the measures of recordings, in order, to the sums of one segment length."""
    for r in range(raw.shape[0]):
        for k in range(base.shape[1]):
            base_sums[k] += base[r, k]
        time, event_time, n_events = base[r, TIME], base[r, EVENT_TIME], base[r, N_EVENTS]
        overlap, meeting = base[r, OVERLAP_TIME], base[r, N_MEETING]
        for k, value in enumerate((time, event_time, n_events, overlap, meeting)):  # in the order of _BASE_PRODUCTS
            base_products[k] += value * value
        for c in range(raw.shape[1]):
            tp, positive = raw[r, c, TP], raw[r, c, TP] + raw[r, c, FP] + raw[r, c, FP_OUTSIDE]
            n_found, mean = raw[r, c, N_FOUND], raw[r, c, MEAN]
            right = tp + overlap - base[r, EVENT_TIME_SEEN] - raw[r, c, FP]
            wrong = positive + event_time - 2 * tp
            for k in range(raw.shape[2]):
                sums[c, k] += raw[r, c, k]
            products[c, 0] += mean * mean  # in the order of _PRODUCTS
            products[c, 1] += mean * meeting
            products[c, 2] += right * right
            products[c, 3] += right * overlap
            products[c, 4] += wrong * wrong
            products[c, 5] += wrong * time
            products[c, 6] += tp * tp
            products[c, 7] += positive * positive
            products[c, 8] += tp * positive
            products[c, 9] += tp * event_time
            products[c, 10] += n_found * n_found
            products[c, 11] += n_found * n_events


@dataclass(frozen=True)
class Tally:
    """Sums over recordings, per (segment length, column); a column is a criterion, a rule or an annotator.

    ``a + b`` is the tally of both sets of recordings. Sums are available as attributes by the names in :data:`SCORES`
    (arrays of shape (segment lengths, columns)) and :data:`EXPOSURE` (segment lengths, 1), the words of results from
    :meth:`metrics`. ``n_classes`` is more than one where each recording's measures are sums over classes.
    """

    segment_length: Floats  # (S,)
    columns: tuple[Any, ...]  # C labels
    sums: Floats  # (S, C, SCORES)
    products: Floats  # (S, C, products)
    base_sums: Floats  # (S, EXPOSURE)
    base_products: Floats  # (S, base products)
    n_classes: int = 1

    @classmethod
    def empty(cls, segment_length: Floats, columns: Sequence[Any]) -> Tally:
        """The tally of no recording."""
        s, c = len(segment_length), len(columns)
        shapes = ((s, c, len(SCORES)), (s, c, len(_PRODUCTS)), (s, len(EXPOSURE)), (s, len(_BASE_PRODUCTS)))
        sums, products, base_sums, base_products = map(np.zeros, shapes)
        widths = np.asarray(segment_length, dtype=np.float64)
        return cls(widths, tuple(columns), sums, products, base_sums, base_products)

    @property
    def parts(self) -> tuple[Floats, Floats, Floats, Floats]:
        """The arrays that add up."""
        return self.sums, self.products, self.base_sums, self.base_products

    def accumulate(self, index: int, raw: Floats, base: Floats) -> None:
        """Take in the measures of recordings for one segment length: raw (R, C, SCORES) and base (R, EXPOSURE)."""
        accumulate(raw, base, self.sums[index], self.products[index], self.base_sums[index], self.base_products[index])

    def __add__(self, other: Tally) -> Tally:
        if self.columns != other.columns or not np.array_equal(
            self.segment_length, other.segment_length, equal_nan=True
        ):
            raise InvalidInput("only tallies of the same segment lengths and criteria can be added")
        sums = (mine + theirs for mine, theirs in zip(self.parts, other.parts))
        classes = max(self.n_classes, other.n_classes)
        return Tally(self.segment_length, self.columns, *sums, n_classes=classes)  # type: ignore[arg-type, misc]

    def add(self, at: slice, part: Tally) -> None:
        """Take in the tally of some of the segment lengths."""
        for mine, theirs in zip(self.parts, part.parts):
            mine[at] += theirs

    def __getattr__(self, name: str) -> Floats:
        if name in SCORES:
            return self.sums[:, :, SCORES.index(name)]
        if name in EXPOSURE:
            return self.base_sums[:, EXPOSURE.index(name), None]
        raise AttributeError(name)

    def _product(self, name: str) -> Floats:
        if name in _PRODUCTS:
            return self.products[:, :, _PRODUCTS.index(name)]
        return self.base_products[:, _BASE_PRODUCTS.index(name), None]

    @property
    def positive_time(self) -> Floats:
        """Seconds labelled present."""
        return self.tp + self.fp + self.fp_outside

    @property
    def wrong_seconds(self) -> Floats:
        """Seconds with the wrong label, all recordings together; what nobody heard counts as absent."""
        return self.positive_time + self.event_time - 2 * self.tp

    def metrics(self) -> dict[str, Floats]:
        r"""Every word of ``METRICS`` and its standard error, each of shape (segment lengths, columns).

        Standard errors treat the recordings as a sample: the delta method for ratios of sums,
        :math:`se(\bar y / \bar x) = \sqrt{n/(n-1) \sum (y_i - R x_i)^2} / \sum x_i`. They are NaN for one
        recording.
        """
        n, p, classes = self.n_recordings, self._product, self.n_classes
        right = self.overlap_time - self.event_time_seen - self.fp + self.tp  # seconds in overlapping segments
        wrong, meeting, time = self.wrong_seconds, self.n_meeting, classes * self.time
        wrong_in_time, time2 = classes * p("wrong_time"), classes**2 * p("time2")
        ratios = {
            "overlap_accuracy": (right, self.overlap_time, p("right2"), p("right_overlap"), p("overlap2")),
            "overlap_accuracy_per_recording": (self.mean, meeting, p("mean2"), p("mean_meeting"), p("meeting2")),
            "recording_accuracy": (wrong, time, p("wrong2"), wrong_in_time, time2),
            "precision": (self.tp, self.positive_time, p("tp2"), p("tp_said"), p("said2")),
            "recall": (self.tp, self.event_time, p("tp2"), p("tp_event"), p("event_time2")),
            "event_recall": (self.n_found, self.n_events, p("found2"), p("found_events"), p("n_events2")),
            "wrong_time": (wrong, n, p("wrong2"), wrong, n),
        }
        result = {}
        for name, (above, below, above2, both, below2) in ratios.items():
            count = np.minimum(meeting, n) if name == "overlap_accuracy_per_recording" else n
            value, error = _ratio(above, below, above2, both, below2, count)
            result[name] = 1 - value if name == "recording_accuracy" else value
            result[f"{name}_se"] = error
        return result

    @property
    def overlap_accuracy_per_segment(self) -> Floats:
        """Mean accuracy of the overlapping segments, each counted once however short it was cut."""
        return _divide(self.fit, self.n_overlapping)

    @property
    def overlap_accuracy_bound(self) -> Floats:
        """What no labels of these segments can exceed: E[max(c, 1 - c)] over overlapping time."""
        return _divide(self.bound_time, self.overlap_time)


def _divide(above: Floats, below: Floats) -> Floats:
    above, below = np.broadcast_arrays(above, below)
    return np.asarray(np.divide(above, below, out=np.full(above.shape, np.nan), where=below > 0))


def _ratio(
    above: Floats, below: Floats, above2: Floats, both: Floats, below2: Floats, n: Floats
) -> tuple[Floats, Floats]:
    value = _divide(above, below)
    squares = above2 - 2 * value * both + value**2 * below2
    # Where every recording gives the same ratio, what is left of the squares is rounding.
    squares = np.where(squares > 1e-13 * (above2 + value**2 * below2), squares, 0.0)
    n = np.broadcast_to(n, value.shape)
    factor = np.divide(n, n - 1, out=np.full(value.shape, np.nan), where=n > 1)
    return value, _divide(np.sqrt(factor * squares), below)


def of_labels(
    timelines: EventArrays, segments: Sequence[Any], present: Sequence[Any], *, rule: PresenceRule | None = None
) -> Tally:
    """The tally of any segments with any labels, such as those of an adaptive method.

    ``segments`` are (n, 2) arrays in seconds, one per recording, that do not overlap; time outside them counts as
    absent and as not heard. ``present`` are their labels: True or False, or the probability of a present label. An
    event is found if a present segment satisfies the rule on it; without a rule, if a present segment meets it.

    >>> timelines = EventArrays.of([[(1, 3)]], 10)
    >>> tally = of_labels(timelines, [[(0, 2), (2, 4), (4, 10)]], [[False, True, False]])
    >>> tally.metrics()["recording_accuracy"].item()
    0.8
    """
    if not len(timelines) == len(segments) == len(present):
        raise InvalidInput(
            f"segments and present must have one entry per recording, got {len(segments)} and {len(present)} "
            f"for {len(timelines)} recordings"
        )
    pieces = [as_intervals(cuts, name=f"segments of recording {r}") for r, cuts in enumerate(segments)]
    chances = [np.asarray(labels, dtype=np.float64) for labels in present]
    for r, (cuts, chance) in enumerate(zip(pieces, chances)):
        if chance.shape != (len(cuts),):
            raise InvalidInput(f"present of recording {r} must have {len(cuts)} labels, got shape {chance.shape}")
    owner = np.repeat(np.arange(len(pieces)), [len(cuts) for cuts in pieces])
    bounds, chance = np.concatenate([*pieces, np.empty((0, 2))]), np.concatenate([*chances, np.empty(0)])
    return of_segments(timelines, owner, bounds, chance, rule=rule)


def of_segments(
    timelines: EventArrays, recording: Ints, bounds: Floats, present: Floats, *, rule: PresenceRule | None = None
) -> Tally:
    """The same of one row per segment: the place of its recording, (start, end), the chance of a present label."""
    n, width = len(timelines), bounds[:, 1] - bounds[:, 0]
    segment, event, shared = meetings(timelines, recording, bounds)
    cover = np.bincount(segment, weights=shared, minlength=len(width))
    meets = cover > TIE * width
    if rule is not None:
        near = rule.is_present(event=timelines.bounds[event], segment=bounds[segment])
        segment, event = segment[near], event[near]
    lost = np.ones(len(timelines.bounds))
    np.multiply.at(lost, event, 1 - present[segment])
    share = np.divide(cover, width, out=np.zeros(len(width)), where=meets)
    length = timelines.bounds[:, 1] - timelines.bounds[:, 0]

    def sums(values: Any, owner: Ints = recording) -> Floats:
        return np.asarray(np.bincount(owner, weights=values, minlength=n), dtype=np.float64)

    def near_events(values: Any) -> Floats:
        return sums(np.where(meets, values, 0.0))

    tp, fit, overlapping = near_events(present * cover), near_events(1 - share - present * (1 - 2 * share)), sums(meets)
    fp, outside = near_events(present * (width - cover)), sums(np.where(meets, 0.0, present * width))
    scores = (tp, fp, outside, sums(present), sums(1 - lost, timelines.owner), fit / np.maximum(overlapping, 1), fit)
    exposure = (np.ones(n), timelines.lengths, sums(length, timelines.owner), timelines.counts, near_events(width),
                near_events(cover), overlapping, sums(np.ones(len(width))), sums(width), overlapping > 0,
                near_events(np.maximum(cover, width - cover)))  # fmt: skip
    tally = Tally.empty(np.array([np.nan]), ("labels",))
    tally.accumulate(0, np.column_stack(scores)[:, None, :], np.column_stack(exposure).astype(np.float64))
    return tally


@kernel
def _meet(bounds: Any, starts: Any, recording: Any, segments: Any, first: Any, count: Any) -> None:
    for k in range(len(recording)):
        low, end = starts[recording[k]], starts[recording[k] + 1]
        low += count_up_to(bounds[low:end, 1], segments[k, 0])  # the first event that ends after the segment begins
        first[k] = low
        while low < end and bounds[low, 0] < segments[k, 1]:
            low += 1
        count[k] = low - first[k]


def meetings(timelines: EventArrays, recording: Ints, segments: Floats) -> tuple[Ints, Ints, Floats]:
    """Every pair of a segment and an event that meet, in the order of the segments, and the seconds that they share.

    Segments are (start, end) rows in any order, which may overlap; ``recording`` has the place of each one's recording.
    """
    near = np.flatnonzero(timelines.counts[recording])  # most recordings hold no event of a rare class
    first, count = np.zeros(len(near), np.int64), np.zeros(len(near), np.int64)
    _meet(timelines.bounds, timelines.starts, recording[near], segments[near], first, count)
    segment = np.repeat(near, count)
    event = np.arange(len(segment)) + np.repeat(first - (np.cumsum(count) - count), count)
    bounds, cuts = timelines.bounds[event], segments[segment]
    return segment, event, np.minimum(bounds[:, 1], cuts[:, 1]) - np.maximum(bounds[:, 0], cuts[:, 0])


def largest(group: Ints, value: Floats, n: int) -> Floats:
    """The largest value of each of n groups, at least 0."""
    most = np.zeros(n)
    np.maximum.at(most, group, value)
    return most
