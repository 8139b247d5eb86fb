"""A labelled data set -> how sensitive its annotators were, how wrong its labels are, what score they allow."""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, Literal

import numpy as np
import pandas as pd

from ...base.errors import AssumptionWarning, InvalidInput
from ...base.symbols import Seed, check, choice
from ...io.dataset import Paths
from ...model.answers import Answers
from ...model.events import Events
from ...model.intervals import EventArrays, Floats
from ...posterior import law
from ...posterior.criterion import METHODS, ONLY_PRESENT, CriterionEstimate, codes_of, estimate_criterion, unknown
from .agreement import Agreement, annotation_agreement, answer_agreement, dawid_skene, votes_needed
from .audit_result import CRITERIA, Audit
from .observations import UNLISTED, Examined, ExaminedLike, Pairing, completed, pair, where
from .quality import ceiling, quality
from .responses import detection_curves, effort, lack_of_fit, likely_rules

_OWN = 100  # answers about events from which an annotator or a class is fitted alone, and not drawn to the others
_FEW = 10  # annotators below which they are taken as they are, not as a sample of many


def audit(
    *,
    strong: Events | Paths | None = None,
    weak: Answers | Paths | None = None,
    answers: Answers | Paths | None = None,
    label: str | None = None,
    unlisted: Literal["absent", "unknown"] | None = None,
    recording_length: float | None = None,
    resolutions: Sequence[float] = (1.0,),
    collar: float = 0.2,
    share_of_length: float = 0.2,
    where: Mapping[str, str] | None = None,
    examined: ExaminedLike | None = None,
    scores: Mapping[str, pd.DataFrame] | None = None,
    rng: Seed = None,
) -> Audit:
    """What is known about a labelled data set: an :class:`Audit`.

    Parameters
    ----------
    strong : events with boundaries, taken as the truth: an :class:`Events`, a path or several. With two annotators or
        more in it, their agreement in time.
    weak, answers : presence and absence labels of segments or whole recordings: an :class:`Answers`, a path or several.
        Two names for the same thing: the labels of a data set, or what each annotator said.
    label : one class only.
    unlisted : what it means that a segment does not list a class. ``absent``: looked for and not found; ``unknown``:
        nothing. Left out, labels that list presences only count as absent where quality and ceiling are concerned,
        which is how such data are used, while the presence criterion is not estimated.
    recording_length : seconds, for recordings of unknown length.
    resolutions : segment lengths in seconds of the segment-based F1.
    collar, share_of_length : tolerances of the event-based F1.
    where : keep only the rows whose column has this value, such as ``{"split": "train"}``; of the answers if they have
        the column, else of the strong annotations.
    examined : who looked at what: "all" (everybody at every recording), recordings, (annotator, recording) pairs, a
        mapping from either to stretches in seconds (None: all of it), or a table (recording, annotator, onset, offset).
        It tells "looked, found nothing" from "never looked"; left out, the audit shows both extremes.
    scores : detectors by name, each with its scores of frames, as for :func:`infer`: ``detectors`` tells which of them
        explains the answers best, by how many bits per clip, and how wrong each is expected to be. No strong annotation
        is needed; where there are some, they give the law of event lengths.
    rng : for the bootstrap of detectors.

    Examples
    --------
    >>> frame = pd.DataFrame({"recording": ["a"], "onset": [2.0], "offset": [4.0], "label": ["dog"]})
    >>> strong = Events.from_frame(frame, recording_length={"a": 10.0, "b": 10.0})
    >>> weak = Answers.from_frame(pd.DataFrame({"recording": ["a", "b"], "label": "dog", "present": [1, 1]}))
    >>> found = audit(strong=strong, weak=weak)
    >>> found.metrics["all"]["precision"], found.metrics["all"]["n_phantom"]
    (0.1, 1.0)
    """
    if weak is not None and answers is not None:
        raise InvalidInput("give weak or answers, not both: they are two names for the labels of segments")
    given = answers if weak is None else weak
    if strong is None and given is None:
        raise InvalidInput("audit needs strong annotations, weak labels or answers; got none of them")
    if unlisted is not None:
        choice("unlisted", unlisted, UNLISTED)
    if recording_length is not None:
        recording_length = float(check("recording_length", recording_length))
    widths = [float(x) for x in np.atleast_1d(check("segment_length", resolutions, called="resolutions"))]
    truth = None if strong is None else _with_length(_loaded(strong, Events, "read", "strong"), recording_length)
    said = None if given is None else _loaded(given, Answers, "read_answers", "weak and answers")
    if examined is None:  # a reader may know it
        examined = next((v for v in (getattr(x, "examined", None) for x in (truth, said)) if v is not None), None)
    looked = Examined.of(examined)
    for column, value in (where or {}).items():
        held = said is not None and column in said.to_frame()
        kept = _chosen(said if held else truth, column, value)
        if kept is None:
            raise InvalidInput(f"where: no row has {value!r} in a column {column!r}")
        truth, said = (truth, kept) if held else (kept, said)
    told: dict[str, Any] = {"label": label, "unlisted": unlisted}
    told |= {"examined": "not told" if looked is None else "as told", "recording_length": recording_length}
    told |= {"resolutions": widths, "where": dict(where or {})}
    parts: dict[str, Any] = {"settings": told}
    if truth is not None:
        parts["strong"] = summary(truth, labels=truth.select(label).labels)  # refuses a class that is not there
        marked = truth.recordings.index.isin(set(truth.to_frame()["recording"]))
        told |= {"n_recordings": len(marked), "n_empty": int((~marked).sum())}
    if truth is not None and said is not None:
        both = pair(truth, said, recording_length=recording_length, examined=looked)
        _paired_parts(parts, both, label, unlisted, collar, share_of_length)
        if (fit := parts.get("fit")) is not None and not fit.is_good:
            warnings.warn(fit.sentence, AssumptionWarning, stacklevel=2)
    if scores is not None:
        how = {"event_length": truth, "label": label, "recording_length": recording_length}
        parts["detectors"] = _detectors(scores, said, rng, unlisted=unlisted or "unknown", **how)
    if said is not None:
        parts |= _crowd(said.select(label), recording_length, looked, unlisted)
    return Audit(**parts, annotation_agreement=_agreement_in_time(truth, label, looked))


def _detectors(scores: Mapping[str, pd.DataFrame], given: Answers | None, rng: Any, **how: Any) -> pd.DataFrame:
    """How well each detector explains the answers, by class."""
    from ...io.gather import scores_of
    from ...posterior.detector import compare_detectors, frames_by_class
    from ..infer.estimation import infer

    if given is None:
        raise InvalidInput("scores need weak labels or answers: detectors are compared by how well they explain them")
    if not scores:
        raise InvalidInput("scores must name one detector or more, got none")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AssumptionWarning)  # what answers do not tell of events is no matter here
        inference = infer(given, draws=10, rng=rng, **how)
    rows, tables = [], {name: frames_by_class(table) for name, table in scores.items()}
    for name, posterior in inference.parts.items():
        recordings = [recording.recording for recording in posterior.recordings]
        frames = {who: scores_of(table, name, recordings, f"scores of {who}") for who, table in tables.items()}
        rows += compare_detectors(posterior, frames)
    return pd.DataFrame(rows)


def _loaded(value: Any, kind: type, reader: str, names: str) -> Any:
    """The table itself, or the one in these files."""
    several = value if isinstance(value, (list, tuple)) else [value]
    if several and all(isinstance(each, (str, os.PathLike)) for each in several):
        from ... import io

        return getattr(io, reader)(value)
    if not isinstance(value, kind):
        raise InvalidInput(f"{names} must be {kind.__name__} or a path, got {type(value).__name__}")
    return value


def _chosen(table: Events | Answers | None, column: str, value: str) -> Any:
    """The rows with this value in a column, and their recordings; None if there are none."""
    if table is None or column not in table.to_frame():
        return None
    rows = table.to_frame()
    rows = rows[rows[column].astype(str) == value].reset_index(drop=True)
    listed = table.recordings[table.recordings.index.isin(set(rows["recording"]))]
    return type(table)(rows, listed) if len(rows) else None


def _with_length(events: Events, recording_length: float | None) -> Events:
    if recording_length is None or not events.recordings["length"].isna().any():
        return events
    lengths = events.recordings["length"].fillna(recording_length)
    known = {str(name): float(length) for name, length in lengths.items()}
    whole = Events.from_frame(events.to_frame(), recording_length=known)
    whole.recordings["annotated"] = events.recordings["annotated"].reindex(whole.recordings.index)
    return whole


def _paired_parts(
    parts: dict[str, Any], both: Pairing, label: str | None, unlisted: str | None, collar: float, share_of_length: float
) -> None:
    labels = both.labels if label is None else [label]
    shared = [name for name in labels if name in both.strong_labels and name in both.weak_labels]
    scored = shared if label is None else labels
    if not scored:
        ours, theirs = sorted(both.strong_labels)[:3], sorted(both.weak_labels)[:3]
        raise InvalidInput(f"no class is in both files: strong has {ours}, weak has {theirs}, for example")
    assumed = unlisted or ("absent" if both.presence_only else "unknown")
    absent = "in these numbers a class that a segment does not list counts as absent from it"
    parts["notes"] = (*both.notes, *[absent] * (unlisted is None and both.presence_only))
    parts["settings"]["unlisted"] = assumed
    observed = {name: both.observed(name, unlisted=assumed) for name in scored}
    refused = both.presence_only and unlisted != "absent"
    parts["rules"] = likely_rules(both, observed)
    parts["curves"] = detection_curves(observed)
    apart = len(parts["rules"]) > 0 and parts["rules"]["scale"].iloc[0] != "event"
    parts["criteria"], parts["estimates"] = _criteria(observed, refused=refused, both_scales=apart)
    whole = parts["estimates"].get(("all", ""), parts["estimates"].get((scored[0], "")))
    if whole is not None and whole.identifiable and whole.scale == "event":
        parts["fit"] = lack_of_fit(both, observed, rng=0)
    parts["settings"]["n_paired"] = len(both.strong.recordings)
    parts["settings"]["n_orphans"] = sum(both.orphans.get(name, 0) for name in scored)
    parts["quality"] = quality(both, observed, unlisted=assumed)
    truth = {name: both.timelines(name) for name in scored}
    marks = {name: _marks(observed[name], truth[name].lengths) for name in scored}
    tolerance = {"collar": collar, "share_of_length": share_of_length}
    parts["ceiling"] = ceiling(truth, marks, resolutions=parts["settings"]["resolutions"], **tolerance)


def _marks(seen: pd.DataFrame, lengths: Floats) -> EventArrays:
    """The present segments of a class as events: what touches is one event; annotators vote."""
    rows = seen[seen["listed"] & seen["present"].notna()]
    share = rows.groupby(["place", "onset", "offset"])["present"].mean().reset_index()
    recording, segments = where(share[share["present"] > 0.5])
    return EventArrays.of_rows(recording, segments[:, 0], segments[:, 1], lengths)


def _criteria(
    observed: dict[str, pd.DataFrame], *, refused: bool, both_scales: bool
) -> tuple[pd.DataFrame, dict[tuple[str, str], CriterionEstimate]]:
    """Per class, per annotator and over all; on the scale of the event and, where that is silent, of the segment.

    The law comes first in every group. Annotators and classes with few answers are drawn to the others.
    """
    columns = ["place", "annotator", "event_fraction", "coverage", "present"]
    together = pd.concat([seen[columns].assign(label=name) for name, seen in observed.items()], ignore_index=True)
    whole = _estimates(together, refused, both_scales)
    drawn = {} if refused or len(observed) < 2 else _drawn(together, "label", whole[0])
    fits: list[tuple[str, str, CriterionEstimate]] = []
    for name, seen in observed.items():
        estimates = _estimates(seen, refused, False) if len(observed) > 1 else whole
        if name in drawn and not estimates[0].identifiable:
            estimates.insert(0, drawn[name])
        fits += [(name, "", estimate) for estimate in estimates]
        if not refused and seen["annotator"].nunique() > 1:
            fits += [(name, person, estimate) for person, estimate in _drawn(seen, "annotator", estimates[0]).items()]
    if len(observed) > 1:
        fits += [("all", "", estimate) for estimate in whole]
    rows = [
        {"label": label, "annotator": person, **asdict(estimate), **estimate.flat(),
         "identified": ", ".join(name for name, known in estimate.identified.items() if known)}
        for label, person, estimate in fits
    ]  # fmt: skip
    first: dict[tuple[str, str], CriterionEstimate] = {}
    for label, person, estimate in fits:
        first.setdefault((label, person), estimate)
    return pd.DataFrame(rows, columns=list(CRITERIA)), first


def _estimates(seen: pd.DataFrame, refused: bool, both_scales: bool) -> list[CriterionEstimate]:
    """Every method on the answers, the law first; on the segment's share too if told, or if the event's is silent.

    Recordings are clusters, and annotators where they are many enough to be a sample.
    """
    seen = seen[seen["present"].notna()]
    y, people = seen["present"].to_numpy(np.float64), codes_of(seen["annotator"])
    if refused:
        return [unknown(ONLY_PRESENT, method="law", n=len(y))]
    h, c = seen["event_fraction"].to_numpy(np.float64), seen["coverage"].to_numpy(np.float64)
    clusters = [codes_of(seen["place"]), *([people] if len(people) and people.max() + 1 >= _FEW else [])]
    estimates = [estimate_criterion(h, present=y, method=method, clusters=clusters) for method in METHODS]
    if both_scales or not estimates[0].identifiable:
        estimates.append(estimate_criterion(c, present=y, scale="segment", clusters=clusters))
    return estimates


def _drawn(seen: pd.DataFrame, column: str, whole: CriterionEstimate) -> dict[str, CriterionEstimate]:
    """The criterion of every annotator (or class): their own fit, or with few answers one drawn to the others."""
    seen = seen[seen["present"].notna()]
    if not whole.identifiable or whole.scale != "event" or len(seen) == 0:
        return {}
    h, y = seen["event_fraction"].to_numpy(np.float64), seen["present"].to_numpy(np.float64)
    unit, names = pd.factorize(seen[column])
    unit = np.asarray(unit, dtype=np.int64)
    asked = np.bincount(unit[h > 0], minlength=len(names))
    own = asked >= _OWN
    people = {}
    if column == "annotator":
        for k in np.flatnonzero(own).tolist():
            mine = unit == k
            places = [codes_of(seen["place"][mine])]
            people[str(names[k])] = estimate_criterion(h[mine], present=y[mine], clusters=places)
    few = np.flatnonzero((asked > 0) & ~own)
    if len(few) and len(names) > 1:
        middle, ends = law.pooled(law.grouped(h, y, whole.presence_criterion), y, unit, whole)
        for k in few.tolist():
            people[str(names[k])] = CriterionEstimate(
                float(middle[k]), (float(ends[k, 0]), float(ends[k, 1])), whole.guess_rate, whole.lapse_rate,
                "law, drawn to the others", int((unit == k).sum()), True, spread=whole.spread,
            )  # fmt: skip
    return people


def _agreement_in_time(truth: Events | None, label: str | None, looked: Examined | None) -> Agreement | None:
    if truth is None or "annotator" not in truth.to_frame():
        return None
    people = set(truth.to_frame()["annotator"].astype(str))
    if len(people) < 2:
        return None
    if looked is not None and not looked.everything and not people & looked.by.keys() and "" not in looked.by:
        looked = None  # it speaks of other people
    return annotation_agreement(truth, label=label, examined=looked)


def _crowd(
    given: Answers, recording_length: float | None, looked: Examined | None, unlisted: str | None
) -> dict[str, Any]:
    """What several annotators' answers allow: agreement, aggregation, and the time that they took."""
    parts: dict[str, Any] = {}
    frame = given.to_frame()
    if (frame["seconds"] > 0).any():
        parts["effort"] = effort(given, recording_length=recording_length)
    only = bool((frame["present"].dropna() == 1).all())
    if looked is not None and (only or unlisted == "absent"):
        given = completed(given, looked)
        frame = given.to_frame()
    frame = frame[frame["present"].notna()]
    twice = frame.duplicated(["recording", "onset", "offset", "label", "annotator"], keep="last")
    if twice.any() and frame["annotator"].nunique() > 1:  # nobody agrees with themselves: the last word counts
        frame = frame[~(twice & (frame["annotator"] != ""))]
        given = Answers(frame, given.recordings)
    if frame["annotator"].nunique() > 1 and frame.duplicated(["recording", "onset", "offset", "label"]).any():
        parts["agreement"] = answer_agreement(given)
        parts["aggregated"] = dawid_skene(given)
        spent = parts["effort"].seconds_per_query if "effort" in parts else math.nan
        parts["votes"] = votes_needed(parts["aggregated"], seconds=spent)
    return parts


def summary(events: Events, *, labels: list[str] | None = None) -> pd.DataFrame:
    """One row per class: events, recordings that hold it, lengths, and the share of such a recording that they cover.

    ``length_share`` is the mean of event length over recording length, ``coverage`` the mean share of a recording that
    the union of its events covers. They differ as soon as a recording holds several events.
    """
    frame = events.to_frame().assign(length=events.lengths)
    frame["share"] = frame["length"] / events.extents.reindex(frame["recording"]).to_numpy(np.float64)
    parts = dict(list(frame.groupby("label")))
    rows = []
    for label in events.labels if labels is None else labels:
        own, timelines = parts[label], events.timelines(label)
        passed = np.cumsum(timelines.bounds[:, 1] - timelines.bounds[:, 0])
        covered = np.diff(np.concatenate(([0.0], passed))[timelines.starts])
        held = timelines.counts > 0
        length, share = own["length"].to_numpy(), own["share"].to_numpy()
        lengths = float(length.mean()), float(np.median(length)), float(share.mean())
        coverage = float((covered[held] / timelines.lengths[held]).mean()) if held.any() else math.nan
        rows.append((label, len(own), own["recording"].nunique(), *lengths, coverage))
    columns = ["label", "n_events", "n_recordings", "mean_length", "median_length", "length_share", "coverage"]
    return pd.DataFrame(rows, columns=columns)
