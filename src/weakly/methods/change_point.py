"""Change points: segments that end where the signal changes, so that they can fit the events.

After Martinsson, Mogren, Sandsten and Virtanen, *From Weak to Strong Sound Event Labels using Adaptive Change-Point
Detection and Active Learning* (EUSIPCO 2024): the distance between what came before and what comes after is a curve,
and its most prominent peaks are the boundaries of the segments. (A model that learns from the answers of earlier
recordings where to cut was worse than the signal alone in 42 of 48 settings, and is left out.)
"""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, ClassVar

import numpy as np

from ..base.errors import InvalidInput, MissingExtra
from ..base.symbols import positive
from ..model.intervals import Bools, Features, Floats, Intervals
from ..posterior.particle_kernels import FIRST
from ..posterior.particles import NO_SIGNAL, SignalPrior
from .base import Recording, enough
from .fixed import AtOnce

#: Seconds on either side of a change, from short calls to long ones.
WINDOWS = (0.1, 0.2, 0.4, 0.8)
STEP = 0.02  # seconds
_WEIGHTS = np.linspace(0.0, 4.0, 41)
_MOST = 256_000_000  # bytes in memory: the signals of about 90 hours; all recordings are looked at in turn
_kept: OrderedDict[Any, tuple[Any, SignalPrior]] = OrderedDict()  # with the features, so that their id stays theirs
_lock = threading.Lock()


def prepare(features: Features) -> Floats:
    """The rows that changes are looked for in: every dimension on the same noise floor, and the activity for log-mel.

    A call that glides from band to band changes all the time; how much sound there is above the floor does not, so
    it is a dimension of its own, with most of the weight. Log-mel of recordings from 15 s on (all of it from 30 s) is
    measured against a background that runs along, as PCEN does: wind and waves that swell over seconds, and bands that
    flutter all the time, say little. In shorter ones events may fill the time in which a background could be heard.
    """
    values = features.values.astype(np.float64)
    middle = np.median(values, axis=0)
    spread = np.maximum(np.median(np.abs(values - middle), axis=0) * 1.4826, 1e-6)
    rows = _scaled(np.clip((values - middle) / spread, -4, 4))
    if features.kind != "log-mel":
        return rows
    above = np.maximum(0.0, values - np.quantile(values, 0.2, axis=0) - 2.0)  # 2 nepers of power: 9 dB over the floor
    whole = np.hstack((rows, 2 * _scaled(np.sqrt(above.mean(axis=1, keepdims=True)))))
    trust = float(np.clip(len(features) * features.step / 15 - 1, 0, 1))
    if trust == 0:
        return whole
    above = excess(values, features.step)
    running = np.hstack((_scaled(np.clip(above, -2, 6)), 2 * _scaled(loudness(above)[:, None])))
    return running if trust == 1 else np.hstack((trust * running, (1 - trust) * whole))


def _scaled(rows: Floats) -> Floats:
    return np.asarray(rows / (max(1e-9, float(rows.std())) * np.sqrt(rows.shape[1])), dtype=np.float64)


def excess(values: Floats, step: float, *, block: float = 0.5, span: int = 13) -> Floats:
    """How far each band stands over its running background, in units of how much it flutters.

    Of ``span`` blocks around, the background is the median of their lower thirds, and the flutter (of twice as many)
    that of what they hold above it.
    """
    from scipy.ndimage import median_filter, uniform_filter1d

    size = max(1, min(len(values), round(block / step)))
    first = np.arange(0, max(1, len(values) - size + 1), size)
    blocks = np.stack([values[k : k + size] for k in first])  # (blocks, rows, bands)
    low, high = np.quantile(blocks, 0.33, axis=1), np.quantile(blocks, 0.84, axis=1)
    floor = median_filter(low, size=(min(span, len(first)), 1), mode="nearest")
    flutter = median_filter(high - low, size=(min(2 * span, len(first)), 1), mode="nearest")
    at, middle = np.arange(len(values)), first + (size - 1) / 2
    floor = np.column_stack([np.interp(at, middle, column) for column in floor.T])
    flutter = np.column_stack([np.interp(at, middle, column) for column in flutter.T])
    smooth = uniform_filter1d(values, size=3, axis=0, mode="nearest")
    return np.asarray((smooth - floor) / np.maximum(flutter, 0.3), dtype=np.float64)


def loudness(above: Floats) -> Floats:
    """How much sound there is that the background does not explain."""
    return np.asarray(np.sqrt(np.mean(np.clip(above - 2.0, 0.0, 8.0) ** 2, axis=1)), dtype=np.float64)


def change_score(rows: Floats, *, step: float, windows: tuple[float, ...] = WINDOWS) -> Floats:
    r"""How much the signal changes at each row: the distance between the means of the past and of the future window.

    .. math:: g(t) = \sum_w \lVert \bar x_{[t - w, t)} - \bar x_{[t, t + w)} \rVert / \sigma_w

    Parameters
    ----------
    rows : features over time, one row every ``step`` seconds.
    windows : w, seconds on either side; several of them see short and long events alike. Each curve is divided by its
        standard deviation.

    Notes
    -----
    Near the ends of the recording the windows are as long as there is signal, and count less.
    """
    n = len(rows)
    total = np.concatenate((np.zeros((1, rows.shape[1])), np.cumsum(rows, axis=0)))
    at = np.arange(n)
    score = np.zeros(n)
    for width in sorted({max(1, round(window / step)) for window in windows}):
        low, high = np.maximum(0, at - width), np.minimum(n, at + width)
        past = (total[at] - total[low]) / np.maximum(1, at - low)[:, None]
        future = (total[high] - total[at]) / (high - at)[:, None]
        # A mean over few rows is a noisy mean.
        curve = np.sqrt(((past - future) ** 2).mean(axis=1) * np.minimum(at - low, high - at) / width)
        score += curve / max(1e-9, float(curve.std()))
    return score


def peaks(rows: Floats, times: Floats, *, windows: tuple[float, ...] = WINDOWS) -> tuple[Floats, Floats]:
    """The times of the peaks of the change score, most prominent first, and their prominences."""
    from scipy.signal import find_peaks

    step = float(np.median(np.diff(times)))
    score = change_score(rows, step=step, windows=windows)
    index, found = find_peaks(score, prominence=0.0, distance=max(1, round(0.5 * min(windows) / step)))
    order = np.argsort(-found["prominences"], kind="stable")
    index = index[order]
    # Row i sits in the middle of a frame; the change at i lies between rows i - 1 and i.
    return (times[index] + times[np.maximum(index - 1, 0)]) / 2, found["prominences"][order]


def apart(boundaries: Floats, length: float, shortest: float) -> Bools:
    """Which of the boundaries, best first, can be taken so that no segment is shorter than this."""
    taken = [0.0, length]
    kept = np.zeros(len(boundaries), dtype=bool)
    for k, at in enumerate(boundaries.tolist()):
        i = bisect_left(taken, at)
        if 0 < at < length and min(at - taken[i - 1], taken[i] - at) >= shortest - 1e-9:
            taken.insert(i, at)
            kept[k] = True
    return kept


def partition(boundaries: Floats, length: float) -> Intervals:
    """The segments between the boundaries, from 0 to the end."""
    inner = np.unique(np.round(boundaries[(boundaries > 1e-6) & (boundaries < length - 1e-6)], 6))
    edges = np.concatenate(([0.0], inner, [length]))
    return np.column_stack((edges[:-1], edges[1:]))


@dataclass(frozen=True)
class ChangePoint(AtOnce):
    """Segments between the most prominent change points of each recording; for clean recordings, in which events stand
    out.

    Parameters
    ----------
    n_queries : segments per recording (the B - 1 most prominent peaks are its boundaries); fewer where the curve has
        fewer peaks. Left out, the number is found by a threshold on the prominence.
    windows : seconds on either side of a change.
    threshold : least prominence of a peak, in standard deviations of one window's curve; 2 where the number is unknown,
        else 0, so that the budget is spent. A budget above twice the events plus one cuts events apart: then a
        threshold saves queries and labels.
    shortest : seconds of the shortest segment; boundaries that would make a shorter one are passed over.
    budget : segments that the ``recordings`` of a data set share. Each gets one; every further one goes to the next
        most prominent change point anywhere, so that quiet recordings stay whole and busy ones are cut finely.

    Notes
    -----
    Loses to fixed segments where events hardly change the bands: 8.5 wrong seconds of 7.0 against 3.9 by 60 fixed
    segments on spindles in a synthetic electroencephalogram (``benchmarks/signals.py``), and where the budget is far
    above twice the events plus one.
    """

    n_queries: int | None = None
    windows: tuple[float, ...] = WINDOWS
    threshold: float | None = None
    shortest: float = 0.0
    budget: int | None = None
    recordings: tuple[Recording, ...] = field(default=(), compare=False, repr=False)
    name: ClassVar[str] = "change-point"
    needs_signal: ClassVar[bool] = True
    planned: ClassVar[str] = "never"  # it depends on a signal, of which a plan knows nothing

    @classmethod
    def of(cls, settings: Mapping[str, Any], recordings: Sequence[Recording]) -> ChangePoint:
        """From queries_per_recording or budget, windows, threshold and shortest."""
        how = cls(
            n_queries=settings.get("queries_per_recording"),
            windows=tuple(settings.get("windows") or WINDOWS),
            **{name: settings[name] for name in ("threshold", "shortest") if name in settings},
        )
        if "budget" not in settings:
            return how
        enough(settings["budget"], recordings)
        least = settings.get("threshold", 0.0)
        return replace(how, threshold=least, budget=settings["budget"], recordings=tuple(recordings))

    def __post_init__(self) -> None:
        if not len(self.windows):
            raise InvalidInput("windows must hold at least one number of seconds")
        for window in self.windows:
            positive("windows", window)
        positive("shortest", self.shortest, zero=True)

    def segments(self, recording: Recording) -> Intervals:
        if self.budget is not None:
            return self._shared[recording.name]
        n = None if self.n_queries is None else self.n_queries - 1
        return partition(self.ranked(recording.known_features(), recording.length)[0][:n], recording.length)

    @cached_property
    def _shared(self) -> dict[str, Intervals]:
        """The segments of every recording of the data set."""
        found: list[tuple[float, int, float]] = []
        for i, one in enumerate(self.recordings):
            times, prominence = self.ranked(one.known_features(), one.length)
            found += [(-p, i, t) for t, p in zip(times.tolist(), prominence.tolist())]
        cuts: list[list[float]] = [[] for _ in self.recordings]
        for _, i, t in sorted(found)[: (self.budget or 0) - len(self.recordings)]:
            cuts[i].append(t)
        return {one.name: partition(np.array(each), one.length) for one, each in zip(self.recordings, cuts)}

    def ranked(self, features: Features, length: float) -> tuple[Floats, Floats]:
        """The peaks that can be boundaries, most prominent first, and their prominences."""
        times, prominence = peaks(prepare(features), features.times, windows=self.windows)
        least = (2.0 if self.n_queries is None else 0.0) if self.threshold is None else self.threshold
        times, prominence = times[prominence >= least], prominence[prominence >= least]
        kept = apart(times, length, self.shortest)
        return times[kept], prominence[kept]


def signal_of(recording: Recording) -> SignalPrior:
    """What the features of a recording say; nothing where it has none, or where reading audio is not installed."""
    source = recording.features
    if source is None:
        return NO_SIGNAL
    mark: Any = id(source)
    if isinstance(source, partial):
        mark = (source.func.__name__, str(source.args), str(source.keywords))
    with _lock:
        if mark in _kept:
            _kept.move_to_end(mark)
            return _kept[mark][1]
    try:
        signal = _signal(recording.known_features(), recording.length)
    except MissingExtra:
        signal = NO_SIGNAL
    with _lock:
        _kept[mark] = source, signal
        while len(_kept) > 1 and sum(map(_size, _kept.values())) > _MOST:
            _kept.popitem(last=False)
    return signal


def _size(kept: tuple[Any, SignalPrior]) -> int:
    """Bytes of a signal and of the features that are held with it."""
    source, signal = kept
    return int(signal.edge.nbytes + signal.level.nbytes + (source.values.nbytes if isinstance(source, Features) else 0))


def _signal(features: Features, length: float) -> SignalPrior:
    from scipy.ndimage import maximum_filter1d

    at = np.arange(0.0, length + STEP, STEP)
    score = change_score(prepare(features), step=features.step, windows=WINDOWS)
    # Row i sits in the middle of a frame; the change at i lies between rows i - 1 and i.
    score = maximum_filter1d(np.interp(at, features.times - features.step / 2, score), size=3)
    edge = np.clip((score - score.mean()) / max(1e-9, float(score.std())), -1.0, 4.0)
    means = np.array([np.log(np.mean(np.exp(weight * edge))) for weight in _WEIGHTS])
    level, louds = np.zeros(0), []
    if features.kind in ("log-mel", "scores"):
        values = features.values.astype(np.float64)
        loud = loudness(excess(values, features.step)) if features.kind == "log-mel" else values[:, 0]
        middle = float(np.median(loud))
        spread = max(1e-3, 1.4826 * float(np.median(np.abs(loud - middle))))
        z = np.clip((np.interp(at, features.times, loud) - middle) / spread, -2.0, 4.0)
        level = np.concatenate(([0.0], np.cumsum(z)[:-1]))
        for width in (max(1, round(FIRST * 2**k / STEP)) for k in range(8)):
            heard = (level[width:] - level[:-width]) / width if width < len(level) else z[:1]
            louds.append([np.log(np.mean(np.exp(weight * heard))) for weight in _WEIGHTS])
    return SignalPrior(STEP, edge, _WEIGHTS, means, level, np.array(louds or [[0.0, 0.0]]))
