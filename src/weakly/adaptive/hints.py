"""What a recording's features say of where events may be: how likely an edge is, and how loud it is, over time.

Neither is trusted: each enters with a weight that is one of the unknown numbers of :mod:`.particles`, near nothing
until the answers speak for it.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from functools import partial
from typing import Any

import numpy as np

from ..audio import Features
from ..errors import MissingExtra
from .base import Recording
from .belief import NO_SIGNAL
from .changepoint import WINDOWS, change_score, excess, loudness, prepare
from .particles import FIRST, Signal

STEP = 0.02  # seconds
_WEIGHTS = np.linspace(0.0, 4.0, 41)
_MOST = 256_000_000  # bytes in memory: the signals of about 90 hours; all recordings are looked at in turn
_kept: OrderedDict[Any, tuple[Any, Signal]] = OrderedDict()  # with the features, so that their id stays theirs
_lock = threading.Lock()


def signal_of(recording: Recording) -> Signal:
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
        found = _signal(recording.known_features(), recording.length)
    except MissingExtra:
        found = NO_SIGNAL
    with _lock:
        _kept[mark] = source, found
        while len(_kept) > 1 and sum(map(_size, _kept.values())) > _MOST:
            _kept.popitem(last=False)
    return found


def _size(kept: tuple[Any, Signal]) -> int:
    """Bytes of a signal and of the features that are held with it."""
    source, signal = kept
    return int(signal.edge.nbytes + signal.level.nbytes + (source.values.nbytes if isinstance(source, Features) else 0))


def _signal(features: Features, length: float) -> Signal:
    from scipy.ndimage import maximum_filter1d

    at = np.arange(0.0, length + STEP, STEP)
    score = change_score(prepare(features), step=features.step, windows=WINDOWS)
    # Row i sits in the middle of a frame; the change at i lies between rows i - 1 and i.
    score = maximum_filter1d(np.interp(at, features.times - features.step / 2, score), size=3)
    edge = np.clip((score - score.mean()) / max(1e-9, float(score.std())), -1.0, 4.0)
    means = np.array([np.log(np.mean(np.exp(weight * edge))) for weight in _WEIGHTS])
    level, louds = np.zeros(0), []
    if features.kind == "log-mel":
        loud = loudness(excess(features.values.astype(np.float64), features.step))
        middle = float(np.median(loud))
        spread = max(1e-3, 1.4826 * float(np.median(np.abs(loud - middle))))
        z = np.clip((np.interp(at, features.times, loud) - middle) / spread, -2.0, 4.0)
        level = np.concatenate(([0.0], np.cumsum(z)[:-1]))
        for width in (max(1, round(FIRST * 2**k / STEP)) for k in range(8)):
            heard = (level[width:] - level[:-width]) / width if width < len(level) else z[:1]
            louds.append([np.log(np.mean(np.exp(weight * heard))) for weight in _WEIGHTS])
    return Signal(STEP, edge, _WEIGHTS, means, level, np.array(louds or [[0.0, 0.0]]))
