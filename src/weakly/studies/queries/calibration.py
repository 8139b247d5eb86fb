r"""Calibration: queries whose event fraction is known, spread so that the presence criterion is estimated best.

An annotator says present with chance :math:`P(h) = g + (1 - g - l)\,G(h)` at event fraction h, G the logistic curve of
:func:`~weakly.model.criterion_law.logistic_cdf` with middle gamma and spread s. Each item at h carries the information
:math:`\nabla P \nabla P^T / (P (1 - P))` about (gamma, s). The design is the spread of fractions that makes the
determinant of the summed information largest, averaged over what gamma may be.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ...base.errors import AssumptionWarning, InvalidInput
from ...base.symbols import check, positive, whole
from ...methods.base import Recording
from ...model.intervals import Floats
from ...posterior.law import slopes
from .query_set import AGAIN, COLUMNS, REPEAT, query_id, with_events

if TYPE_CHECKING:
    from ...model.events import Events
    from .query_set import Queries

GRID = np.linspace(0.02, 1.0, 50)


def information(
    event_fraction: Any, *, presence_criterion: float, spread: float, guess_rate: float = 0.02, lapse_rate: float = 0.02
) -> Floats:
    """The Fisher information of one item at each event fraction about (presence_criterion, spread); (n, 2, 2)."""
    h = np.atleast_1d(np.asarray(event_fraction, dtype=np.float64))
    p, slope = slopes("logistic", h, np.array([presence_criterion, spread, guess_rate, 1 - lapse_rate]))
    p, gradient = np.clip(p, 1e-12, 1 - 1e-12), slope[:2].T
    return gradient[:, :, None] * gradient[:, None, :] / (p * (1 - p))[:, None, None]


@dataclass(frozen=True)
class CalibrationDesign:
    """Event fractions of the calibration items, and how well they will tell the criterion."""

    event_fractions: Floats
    weights: Floats  # over GRID
    spread: float
    criteria: tuple[float, ...]

    @property
    def n_items(self) -> int:
        """How many items there are."""
        return len(self.event_fractions)

    def half_width(self, n: int | None = None) -> float:
        """Half the length of the 95 % interval of gamma with n such items, averaged over the criteria that may be."""
        n = self.n_items if n is None else n
        widths = []
        for criterion in self.criteria:
            total = np.tensordot(self.weights, information(GRID, presence_criterion=criterion, spread=self.spread), 1)
            widths.append(1.96 * np.sqrt(np.linalg.inv(n * total)[0, 0]))
        return float(np.mean(widths))

    def items_for(self, half_width: float) -> int:
        """How many items give an interval of plus or minus this."""
        return int(np.ceil((self.half_width(1) / positive("half_width", half_width)) ** 2))


def design(
    n_items: int,
    *,
    criteria: Sequence[float] | None = None,
    spread: float = 0.08,
    guess_rate: float = 0.02,
    lapse_rate: float = 0.02,
) -> CalibrationDesign:
    """The event fractions of ``n_items`` calibration items that estimate the criterion best.

    Parameters
    ----------
    criteria : values that gamma may have, equally likely; 0.1 to 0.9 unless told.
    spread : s, how gradually the annotator goes from absent to present.

    Notes
    -----
    The Bayesian D-optimal design, by the multiplicative algorithm: the weight of each fraction grows with its
    sensitivity until none can gain.

    Examples
    --------
    >>> plan = design(40)
    >>> plan.n_items, 0 < plan.half_width() < 0.2
    (40, True)
    """
    n_items = whole("calibration items", n_items, least=2)
    values = tuple(np.linspace(0.1, 0.9, 9)) if criteria is None else tuple(map(float, criteria))
    check("presence_criterion", np.array(values), called="criteria")
    tables = [
        information(GRID, presence_criterion=c, spread=spread, guess_rate=guess_rate, lapse_rate=lapse_rate)
        for c in values
    ]
    weights = np.full(len(GRID), 1 / len(GRID))
    for _ in range(300):
        gain = np.zeros(len(GRID))
        for table in tables:
            total = np.tensordot(weights, table, 1)
            gain += np.einsum("nij,ji->n", table, np.linalg.inv(total)) / len(tables)
        weights = weights * gain / 2  # two parameters: at the optimum the gain is at most 2 everywhere
        weights /= weights.sum()
    # The middles of n equal shares of the weight: every item stands for the same amount of it.
    shares = (np.arange(n_items) + 0.5) / n_items
    fractions = np.interp(shares, np.cumsum(weights) - weights / 2, GRID)
    return CalibrationDesign(np.clip(fractions, GRID[0], 1.0), weights, spread, values)


def place(
    recordings: Sequence[Recording], event_fractions: Sequence[float], *, lengths: Sequence[float], rng: Any = None
) -> pd.DataFrame:
    """Segments of recordings with known events that hold exactly these fractions, as far as they exist.

    One row per item: recording, onset, offset, event_fraction. Each item takes one event and cuts it on one side, left
    and right in turn, with a segment as long as one of ``lengths``; segments that would meet another event or leave the
    recording are not used, and a fraction that no event offers is left out.
    """
    rng = np.random.default_rng(rng)
    known = [recording for recording in recordings if recording.events is not None]
    pool = [(recording, event) for recording in known for event in np.asarray(recording.events)]
    widths = check("segment_length", np.unique(np.round(np.asarray(lengths, dtype=np.float64), 6)))
    rows: dict[tuple[str, float, float], float] = {}
    for i, fraction in enumerate(event_fractions):
        for k in rng.permutation(len(pool)):
            recording, event = pool[k]
            segment = segment_of(
                recording, event, fraction, float(rng.choice(widths)), left=bool(i % 2), room=float(rng.uniform())
            )
            if segment is not None and (recording.name, *segment) not in rows:
                rows[(recording.name, *segment)] = float(fraction)
                break
    table = [(*at, fraction) for at, fraction in rows.items()]
    return pd.DataFrame(table, columns=["recording", "onset", "offset", "event_fraction"])


def segment_of(
    recording: Recording, event: Any, fraction: float, width: float, *, left: bool, room: float
) -> tuple[float, float] | None:
    """The segment that holds this fraction of the event, from its start (left) or its end, and no other event; whole
    events move freely. None where the recording has no such segment."""
    assert recording.events is not None
    a, b = float(event[0]), float(event[1])
    inside = fraction * (b - a)
    if fraction >= 1 - 1e-9:
        onset = a - room * max(0.0, width - (b - a))
    else:
        onset = a + inside - width if left else b - inside
    start, end = round(onset, 6), round(onset + width, 6)
    others = recording.events[recording.events[:, 0] != a]
    is_clear = not ((others[:, 0] < end) & (others[:, 1] > start)).any()
    fits = inside <= width * (1 + 1e-9) and start >= 0 and end <= recording.length
    return (start, end) if is_clear and fits else None


def with_items(queries: Queries, events: Events, *, count: int, rng: Any = None) -> Queries:
    """The queries with calibration items spread evenly among them: pieces of the user's own known events.

    An item is a segment of one of the same recordings, as long as the other queries and asked about the same label;
    nothing but the campaign's store tells it from them.
    """
    frame, labels = queries.frame, queries.parameters["label"]
    asked = labels[0]
    mine = set(events.to_frame()["label"])
    if asked not in mine and asked != "event":
        raise InvalidInput(
            f"calibration needs known events of {asked!r}; the strong labels have {', '.join(sorted(mine))}"
        )
    known = with_events(queries.recordings, events, asked if asked in mine else None)
    lengths = (frame["offset"] - frame["onset"]).to_numpy(float)
    if len(lengths) == 0:
        return queries
    # Segments that the recording's end has cut short are not what a query is usually like.
    usual = lengths[lengths >= np.median(lengths) * (1 - 1e-6)]
    items = place(list(known.values()), design(count).event_fractions.tolist(), lengths=usual, rng=rng)
    if items.empty:
        raise InvalidInput(
            f"no known event of {asked!r} lets a segment of {np.median(lengths):g} s hold a part of it and no other; "
            "calibrate with recordings whose events stand further apart, or with another segment length"
        )
    if len(items) < count:
        words = f"{len(items)} of {count} calibration items: the known events offer no more"
        warnings.warn(words, AssumptionWarning, stacklevel=3)
    extra = items.assign(
        label=asked, method="calibration", round=1, repeat=0, calibration=True,
        recording_length=[known[str(name)].length for name in items["recording"]],
        query=[query_id(name, onset, offset, asked) for name, onset, offset, _ in items.itertuples(index=False)],
    )  # fmt: skip
    extra = extra[~extra["query"].isin(set(frame["query"]))][list(COLUMNS)]
    step = len(frame) / max(1, len(extra))
    at = np.concatenate((np.arange(len(frame), dtype=float), (np.arange(len(extra)) + 0.5) * step - 0.5))
    both = pd.concat([frame, extra], ignore_index=True)
    return replace(queries, frame=both.iloc[np.argsort(at, kind="stable")].reset_index(drop=True))


def with_repeats(queries: Queries, share: float) -> Queries:
    """The queries with some of them twice more, a third and two thirds of all later (or earlier). Names of queries are
    digests: as good as drawn, and the same if the method is asked again."""
    frame, n = queries.frame, len(queries.frame)
    chosen = np.flatnonzero([int(name[::-1][:8], 16) < share / 2 * 2**32 for name in frame["query"]])
    parts, places = [frame], [np.arange(n, dtype=float)]
    for k in (1, 2) if len(chosen) else ():
        again = frame.iloc[chosen].assign(method=REPEAT, calibration=True)
        again["repeat"] += AGAIN + k
        names = again[["recording", "onset", "offset", "label", "repeat"]].itertuples(index=False)
        parts.append(again.assign(query=[query_id(*row) for row in names]))
        places.append((chosen + k * n / 3) % n + 0.5)
    order = np.argsort(np.concatenate(places), kind="stable")
    return replace(queries, frame=pd.concat(parts, ignore_index=True).iloc[order].reset_index(drop=True))
