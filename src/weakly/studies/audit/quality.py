"""How good weak labels are against strong ones and what the strong ones hold, class by class; and what answers cost."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from ...base.errors import InvalidInput
from ...base.results import METRICS, to_jsonable
from ...base.symbols import check
from ...engine.tally import EXPOSURE, SCORES, Tally, of_labels
from ...model.annotator import TIE
from ...model.answers import Answers
from ...model.events import Events
from ...model.intervals import EventArrays, complement, intersect, merge
from ...posterior.criterion import CriterionEstimate, unknown
from .observations import Pairing, meetings

#: An answer that disagrees with less than this share of a segment is a matter of rounding.
_TOUCH = 1e-9


@dataclass(frozen=True)
class Quality:
    """Weak labels against strong annotations.

    ``table``: one row per class and one for all of them pooled (label "all"), with the words of every other result
    (overlap_accuracy, precision and recall of event time, event_recall, wrong_time in seconds per recording, and their
    standard errors) and counts: n_present (segments labelled present), n_phantom (of them, those without an event),
    n_overlapping (segments that meet an event), n_missed (of them, those labelled absent), n_tied, n_unsure (of them,
    those whose votes are split evenly, those where every answer is unsure), n_unlisted (segments that do not list the
    class), coverage (mean share of a present segment that events cover) and event_seconds (the same in seconds).
    ``event_recall`` is of the n_events that a segment was asked about; asked_share is their share of all events.
    ``insertion_rate`` and ``deletion_rate`` are P(labelled present | no event) and P(labelled absent | event) of the
    time that was asked about. ``missed`` and ``phantom`` list the segments, the worst first.
    """

    table: pd.DataFrame
    missed: pd.DataFrame
    phantom: pd.DataFrame
    unlisted: str

    def to_frame(self) -> pd.DataFrame:
        """One row per class, and one for all."""
        return self.table.copy()

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers."""
        return {
            "unlisted": self.unlisted,
            "scores": to_jsonable(self.table),
            "missed": to_jsonable(self.missed),
            "phantom": to_jsonable(self.phantom),
        }


def quality(
    pairing: Pairing, *, unlisted: str, labels: list[str] | None = None, observed: dict[str, Any] | None = None
) -> Quality:
    """The quality of weak labels, class by class.

    Parameters
    ----------
    unlisted : ``absent``: a segment that does not mention a class is absent; ``unknown``: it is left out.
    labels : the classes to score; left out, those that either side knows.
    observed : what :meth:`Pairing.observed` gave for each class, if it is at hand.

    Notes
    -----
    Several annotators' answers about one segment are first reduced to their majority; ties count as half a label.
    """
    rows, missed, phantom, total = [], [], [], None
    counts: list[dict[str, float]] = []
    finds: list[NDArray[np.float64]] = []
    for label in pairing.labels if labels is None else labels:
        seen = pairing.observed(label, unlisted=unlisted) if observed is None else observed[label]
        every = _reduced(seen)
        one = every[every["present"].notna()].reset_index(drop=True)
        timelines = pairing.timelines(label)
        unsure = int((every["present"].isna() & (every["coverage"] > _TOUCH)).sum())
        if len(one) == 0:
            continue
        found, tally = _found(pairing, timelines, one), _tally(pairing, timelines, one)
        finds.append(found)
        total = tally if total is None else total + tally
        present, tied = one["present"] > 0.5, one["present"] == 0.5
        meets = one["coverage"] > _TOUCH
        count = {
            "n_present": int(present.sum()),
            "n_phantom": int((present & ~meets).sum()),
            "n_overlapping": int(meets.sum()) + unsure,
            "n_missed": int((meets & ~present & ~tied).sum()),
            "n_tied": int((meets & tied).sum()),
            "n_unsure": unsure,
            "n_unlisted": int((~seen["listed"].to_numpy(bool)).sum()),
            "n_all_events": len(timelines.bounds),
            "coverage": float(one.loc[present, "coverage"].sum()),
            "event_seconds": float((one["coverage"] * (one["offset"] - one["onset"]))[present].sum()),
        }
        counts.append(count)
        rows.append({"label": label, **_row(tally, found), **_counted(count, found)})
        missed.append(one[meets & ~present & ~tied])
        phantom.append(one[present & ~meets])
    if total is not None:
        summed = {name: sum(count[name] for count in counts) for name in counts[0]}
        found = np.sum(finds, axis=0)
        rows.append({"label": "all", **_row(total, found), **_counted(summed, found)})
    return Quality(pd.DataFrame(rows), _listed(missed), _listed(phantom), unlisted)


def _counted(count: dict[str, float], found: NDArray[np.float64]) -> dict[str, float]:
    said, events = count["n_present"], count["n_all_events"]
    means = {name: count[name] / said if said else float("nan") for name in ("coverage", "event_seconds")}
    return {**count, **means, "asked_share": float(found[:, 1].sum()) / events if events else float("nan")}


def _row(tally: Tally, found: NDArray[np.float64]) -> dict[str, float]:
    metrics = tally.metrics()
    row: dict[str, float] = {}
    for name in METRICS:
        row[name] = float(metrics[name].item())
        row[f"{name}_se"] = float(metrics[f"{name}_se"].item())
    row["event_recall"], row["event_recall_se"] = _share(found[found[:, 1] > 0])
    row["n_recordings"] = int(tally.n_recordings.item())
    row["n_events"] = int(found[:, 1].sum())
    row["n_queries"] = int(tally.n_segments.item())
    row["listened"] = float(tally.listened.item())
    event, tp, said = (float(v.item()) for v in (tally.event_time, tally.tp, tally.positive_time))
    quiet = row["listened"] - event
    row["insertion_rate"] = (said - tp) / quiet if quiet > 0 else float("nan")
    row["deletion_rate"] = 1 - tp / event if event > 0 else float("nan")
    return row


def _share(found: NDArray[np.float64]) -> tuple[float, float]:
    """The sum of the first column over that of the second, and its standard error over rows."""
    n, below = len(found), float(found[:, 1].sum())
    if below <= 0:
        return float("nan"), float("nan")
    share = float(found[:, 0].sum()) / below
    rest = float(((found[:, 0] - share * found[:, 1]) ** 2).sum())
    return share, float(np.sqrt(n / (n - 1) * rest) / below) if n > 1 else float("nan")


def _found(pairing: Pairing, timelines: EventArrays, one: pd.DataFrame) -> NDArray[np.float64]:
    """Per recording the events that were found (a present segment meets them) and those asked about (any segment does).

    A tie finds an event with a chance of one half; segments are independent.
    """
    recording = pairing.code.reindex(one["recording"]).to_numpy().astype(np.int64)
    onset, offset = one["onset"].to_numpy(np.float64), one["offset"].to_numpy(np.float64)
    segment, event, shared = meetings(timelines, recording, onset, offset)
    touch = shared > _TOUCH * (offset - onset)[segment]
    segment, event = segment[touch], event[touch]
    lost = np.ones(len(timelines.bounds))
    np.multiply.at(lost, event, 1 - one["present"].to_numpy(np.float64)[segment])
    asked = np.zeros(len(lost))
    asked[event] = 1.0
    owner, n = timelines.owner, len(timelines)
    columns = [np.bincount(owner, weights=w, minlength=n) for w in ((1 - lost) * asked, asked)]
    return np.column_stack(columns).astype(np.float64)


def _reduced(seen: pd.DataFrame) -> pd.DataFrame:
    """One row per segment: the majority of its answers, one half for a tie, NaN where all are unsure."""
    key = ["recording", "onset", "offset"]
    if not seen.duplicated(key).any():
        return seen.reset_index(drop=True)
    how = {"label": "first", "present": "mean", "event_fraction": "first", "coverage": "first"}
    one = seen.groupby(key, sort=False).agg(how).reset_index()
    share = one["present"].to_numpy(np.float64)
    one["present"] = np.where((share == 0.5) | np.isnan(share), share, (share > 0.5).astype(np.float64))
    return one


def _tally(pairing: Pairing, timelines: EventArrays, one: pd.DataFrame) -> Tally:
    """Recordings with an event or a present label are scored one by one; the silent rest only counts.

    Events count as far as a segment was asked about them: time that nobody was asked about is nobody's error.
    """
    recording = pairing.code.reindex(one["recording"]).to_numpy().astype(np.int64)
    order = np.lexsort((one["onset"].to_numpy(), recording))
    recording = recording[order]
    bounds = one[["onset", "offset"]].to_numpy(np.float64)[order]
    present = one["present"].to_numpy(np.float64)[order]
    first = np.searchsorted(recording, np.arange(len(timelines) + 1))
    said = np.bincount(recording, weights=present, minlength=len(timelines)) > 0
    asked = np.diff(first) > 0
    busy = asked & (said | (timelines.counts > 0))
    chosen = np.flatnonzero(busy)
    scored = [_disjoint(bounds[first[r] : first[r + 1]], present[first[r] : first[r + 1]]) for r in chosen]
    starts = timelines.starts
    heard = [
        intersect(timelines.bounds[starts[r] : starts[r + 1]], merge(cuts)) for r, (cuts, _) in zip(chosen, scored)
    ]
    part = EventArrays(
        np.concatenate([*heard, np.empty((0, 2))]),
        np.concatenate(([0], np.cumsum([len(rows) for rows in heard]))).astype(np.int64),
        timelines.lengths[chosen],
    )
    result = of_labels(part, [cuts for cuts, _ in scored], [labels for _, labels in scored])
    quiet = np.flatnonzero(asked & ~busy)
    if len(quiet):
        base = np.zeros((len(quiet), len(EXPOSURE)))
        base[:, EXPOSURE.index("n_recordings")] = 1
        base[:, EXPOSURE.index("time")] = timelines.lengths[quiet]
        base[:, EXPOSURE.index("n_segments")] = np.diff(first)[quiet]
        width = np.bincount(recording, weights=bounds[:, 1] - bounds[:, 0], minlength=len(timelines))
        base[:, EXPOSURE.index("listened")] = width[quiet]
        result.accumulate(0, np.zeros((len(quiet), 1, len(SCORES))), base)
    return result


def _disjoint(
    bounds: NDArray[np.float64], present: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Segments that overlap become present time and the rest: an instant is present if any segment over it is."""
    if len(bounds) < 2 or (bounds[1:, 0] >= bounds[:-1, 1] - 1e-9).all():
        bounds = bounds.copy()
        bounds[1:, 0] = np.maximum(bounds[1:, 0], bounds[:-1, 1])
        return bounds, present
    yes = merge(bounds[present > 0.5])
    heard = merge(bounds)
    pieces, labels = [], []
    for start, end in heard:
        inside = yes[(yes[:, 0] >= start) & (yes[:, 1] <= end)]
        gaps = complement(inside, start, end)
        pieces += [inside, gaps]
        labels += [np.ones(len(inside)), np.zeros(len(gaps))]
    return np.concatenate(pieces), np.concatenate(labels)


def _listed(parts: list[pd.DataFrame]) -> pd.DataFrame:
    columns = ["recording", "onset", "offset", "label", "coverage", "event_fraction"]
    table = pd.concat([part[columns] for part in parts], ignore_index=True) if parts else pd.DataFrame(columns=columns)
    seconds = table["coverage"].astype(np.float64) * (table["offset"] - table["onset"]).astype(np.float64)
    table = table.assign(event_seconds=seconds, segment_length=table["offset"] - table["onset"])
    return table.sort_values(["event_seconds", "segment_length"], ascending=False, kind="stable", ignore_index=True)


def clip_length(events: Events) -> float:
    """The one length that all recordings share, or NaN.

    >>> clip_length(Events.from_frame(pd.DataFrame({"onset": [0.0], "offset": [1.0]}), recording_length=10.0))
    10.0
    """
    lengths = events.recordings["length"].to_numpy(np.float64)
    same = len(lengths) > 0 and not np.isnan(lengths).any() and np.ptp(lengths) <= 1e-6 * lengths[0]
    return float(lengths[0]) if same else float("nan")


def summary(events: Events, *, labels: list[str] | None = None) -> pd.DataFrame:
    """One row per class: events, recordings that hold it, lengths, and the share of such a recording that they cover.

    ``length_share`` is the mean of event length over recording length, ``coverage`` the mean share of a recording that
    the union of its events covers. They differ as soon as a recording holds several events.
    """
    extents = events.extents
    rows = []
    for label in events.labels if labels is None else labels:
        part = events.select(label)
        frame = part.to_frame()
        length = part.lengths
        whole = extents.reindex(frame["recording"]).to_numpy(np.float64)
        timelines = events.timelines(label)
        covered = np.diff(
            np.concatenate(([0.0], np.cumsum(timelines.bounds[:, 1] - timelines.bounds[:, 0])))[timelines.starts]
        )
        held = timelines.counts > 0
        rows.append(
            {
                "label": label,
                "n_events": len(length),
                "n_recordings": int(frame["recording"].nunique()),
                "mean_length": float(length.mean()),
                "median_length": float(np.median(length)),
                "length_share": float((length / whole).mean()),
                "coverage": float((covered[held] / timelines.lengths[held]).mean()) if held.any() else float("nan"),
            }
        )
    columns = ("label", "n_events", "n_recordings", "mean_length", "median_length", "length_share", "coverage")
    return pd.DataFrame(rows, columns=list(columns))


def recipe(events: Events, label: str, *, n_boot: int = 500, rng: Any = None) -> CriterionEstimate:
    """The paper's recipe for one class of clips that all have one length; bootstrapped over clips."""
    clip = clip_length(events)
    if np.isnan(clip):
        return unknown("the recordings have no one length", method="paper recipe", n=0)
    part = events.select(label)
    lengths = np.minimum(part.lengths, clip)
    names = part.to_frame()["recording"]
    return paper_recipe_criterion(lengths, segment_length=clip, recordings=names, n_boot=n_boot, rng=rng)


def paper_recipe_criterion(
    lengths: ArrayLike, *, segment_length: float, recordings: ArrayLike | None = None, n_boot: int = 0, rng: Any = None
) -> CriterionEstimate:
    r"""The number that the paper's AudioSet appendix calls the empirical presence criterion.

    It is the :math:`\gamma` at which the mean of Theorem 1 over the event lengths meets the mean of :math:`d_e / d_q`:
    the smaller root of :math:`2B\gamma^2 - 2A\gamma + U - A = 0` with
    :math:`A = \overline{d_e/(d_e+d_q)}`, :math:`B = \overline{d_e^2/(d_q(d_e+d_q))}`, :math:`U = \overline{d_e/d_q}`.

    Parameters
    ----------
    lengths : d_e in seconds, as far as it lies in its clip; in (0, segment_length].
    segment_length : d_q in seconds, > 0: 10 for AudioSet.
    recordings : the clip of every event; with it the bootstrap draws clips, else events.
    n_boot : bootstrap draws for the interval; 0 for none.

    Notes
    -----
    Circular (E21): both sides are functions of the same event lengths, no annotator's answer enters, so it says nothing
    about annotators. ``identifiable`` is therefore False even where a root exists. For one length
    :math:`u = d_e/d_q` it is :math:`(1 - \sqrt{1 - 2u^2})/(2u)`, about u/2.

    Examples
    --------
    >>> round(paper_recipe_criterion([4.5], segment_length=10).presence_criterion, 3)
    0.254
    """
    d = np.atleast_1d(check("event_length", lengths, called="lengths")).ravel()
    q = float(check("segment_length", segment_length))
    if len(d) == 0:
        return unknown("there are no events", method="paper recipe", n=0)
    if d.max() > q * (1 + TIE):
        raise InvalidInput(f"lengths must be at most segment_length {q:g}: the recipe takes the part inside a clip")
    terms = np.column_stack((d / (d + q), d**2 / (q * (d + q)), d / q, np.ones_like(d)))
    estimate = float(_recipe_root(terms.sum(axis=0)))
    if math.isnan(estimate):
        return unknown("the recipe has no solution: the events are too long", method="paper recipe", n=len(d))
    interval = (math.nan, math.nan)
    if n_boot:
        if recordings is not None:
            _, code = np.unique(np.asarray(recordings), return_inverse=True)
            terms = np.column_stack([np.bincount(code, weights=column) for column in terms.T])
        rng = np.random.default_rng(rng)
        draws = [_recipe_root(terms[rng.integers(len(terms), size=len(terms))].sum(axis=0)) for _ in range(n_boot)]
        low, high = np.nanquantile(draws, [0.025, 0.975])
        interval = float(low), float(high)
    reason = "circular (E21): a function of the event lengths alone, no answer of an annotator enters"
    return CriterionEstimate(estimate, interval, math.nan, math.nan, "paper recipe", len(d), False, reason)


def _recipe_root(sums: NDArray[np.float64]) -> float:
    a, b, u = sums[:3] / sums[3]
    inside = a * a - 2 * b * (u - a)
    root = (a - math.sqrt(inside)) / (2 * b) if inside >= 0 else math.nan
    return root if 0 < root <= 1 else math.nan


@dataclass(frozen=True)
class Effort:
    """What answers cost: seconds per query, and the paper's cost share r of a query.

    ``seconds_per_query`` is the mean after idle time is left out, ``idle_share`` the share of queries left out as idle,
    ``query_seconds`` the part that does not depend on the segment's length, ``seconds_per_second`` the part that does,
    and ``query_cost_share`` = query_seconds / (query_seconds + seconds_per_second).
    """

    seconds_per_query: float
    seconds_per_query_se: float
    idle_share: float
    idle_seconds: float
    query_seconds: float
    seconds_per_second: float
    query_cost_share: float
    n_queries: int
    note: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers."""
        return {name: to_jsonable(getattr(self, name)) for name in self.__dataclass_fields__}


def effort(answers: Answers, *, recording_length: float | None = None) -> Effort:
    """Seconds per query from the time stamps of a tool, robust to idle time, and the cost share r that follows.

    A tool's clock runs from load to submit, also while the annotator is away: idle time only ever adds. On a log
    scale, answers that took longer than the median by more than three robust standard deviations are left out, again
    until nothing changes. Where segments have several lengths, the time is split by a robust line into a part per query
    and a part per second heard; with one length, hearing a second is taken to cost a second.

    Parameters
    ----------
    answers : with ``seconds``; one query that asks for several classes counts once.
    recording_length : seconds, for segments that are whole recordings of unknown length.

    Examples
    --------
    >>> frame = pd.DataFrame({"recording": list("abcdefgh"), "onset": 0, "offset": 2, "label": "dog", "present": 1,
    ...                       "seconds": [4.0, 4.1, 3.9, 4.0, 4.2, 3.8, 4.0, 900.0]})
    >>> spent = effort(Answers.from_frame(frame))
    >>> round(spent.seconds_per_query, 3), round(spent.query_cost_share, 3)
    (4.0, 0.667)
    """
    frame = answers.to_frame()
    frame = frame[frame["seconds"].notna() & (frame["seconds"] > 0)]
    frame = frame.drop_duplicates(["recording", "onset", "offset", "annotator", "query", "seconds"])
    if len(frame) == 0:
        raise InvalidInput("the answers carry no time spent: the column 'seconds' is empty")
    seconds = frame["seconds"].to_numpy(np.float64)
    width = (frame["offset"] - frame["onset"]).to_numpy(np.float64)
    if recording_length is not None:
        width = np.where(np.isnan(width), recording_length, width)
    if "reviewed_seconds" in frame:  # what was really played or shown
        width = frame["reviewed_seconds"].fillna(pd.Series(width, index=frame.index)).to_numpy(np.float64)
    busy = _not_idle(seconds)
    kept, heard = seconds[busy], width[busy]
    mean = float(kept.mean())
    error = float(kept.std(ddof=1) / math.sqrt(len(kept))) if len(kept) > 1 else math.nan
    per_query, per_second, note = _split(kept, heard)
    share = per_query / (per_query + per_second) if not math.isnan(per_query) else math.nan
    idle = float(1 - busy.mean()), float(seconds[~busy].sum())
    return Effort(mean, error, *idle, per_query, per_second, share, len(seconds), note)


def _not_idle(seconds: NDArray[np.float64]) -> NDArray[np.bool_]:
    log = np.log(seconds)
    kept = np.ones(len(log), dtype=bool)
    for _ in range(50):
        middle = float(np.median(log[kept]))
        spread = 1.4826 * float(np.median(np.abs(log[kept] - middle)))
        # Times that are all alike still vary by a few per cent.
        now = log <= middle + 3 * max(spread, 0.05)
        if (now == kept).all():
            break
        kept = now
    return kept


def _split(seconds: NDArray[np.float64], width: NDArray[np.float64]) -> tuple[float, float, str]:
    """Seconds per query, seconds per second heard, and how that is known."""
    known = ~np.isnan(width)
    if not known.any():
        return math.nan, math.nan, "the lengths of the segments are unknown, and with them the cost share"
    seconds, width = seconds[known], width[known]
    if len(np.unique(width)) >= 3 and width.max() > 1.5 * width.min():
        from scipy.stats import theilslopes

        take = np.linspace(0, len(width) - 1, min(len(width), 2000)).astype(int)  # the slopes of all pairs
        slope = float(theilslopes(seconds[take], width[take])[0])
        intercept = float(np.median(seconds - slope * width))
        if slope > 0 and intercept >= 0:
            return intercept, slope, "split by the lengths of the segments"
    over = float(np.mean(seconds) - np.mean(width))
    if over < 0:
        return 0.0, 1.0, "the annotators answered before the segment had ended: reviewing is all the cost"
    return over, 1.0, "reviewing a second is taken to cost a second"
