"""Recordings in, the next segments to ask out, as one result that can be written for any tool."""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ...base.errors import InvalidInput
from ...base.report import Report, Result
from ...base.results import counted, hours, to_jsonable
from ...base.symbols import check, positive, whole
from ...base.symbols import choice as one_of
from ...io.gather import matched, scores_of
from ...io.signals import RECORDINGS, SIGNALS, VIDEOS, durations
from ...io.soundscape import load_features, log_mel, read_scores
from ...methods import METHODS
from ...methods.base import AnswerHistory, Method, Recording, key, verdict
from ...methods.change_point import WINDOWS
from ...methods.information import Information
from ...model.answers import Answers
from ...model.events import Events
from ...model.intervals import Features, Intervals, merge

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Place = str | os.PathLike[str]
COLUMNS = ("query", "recording", "onset", "offset", "label", "method", "round", "repeat", "calibration",
           "event_fraction", "recording_length")  # fmt: skip
#: Seconds that an answer takes besides listening, where nobody has measured it yet.
SECONDS_PER_ANSWER = 3.0
#: Seconds of the shortest segment that a person is asked about, unless told.
SHORTEST = 0.3
#: The method of segments that are asked again, and what is added to their numbers, which some methods count too.
REPEAT, AGAIN = "repeat", 100
#: Stretches of recordings that a method which compares them asks about in one round.
MOST_IN_ROUND = 100
#: Segments of one recording beyond which a number is taken for a slip, or for damage.
MOST_SEGMENTS = 10_000_000
_WHOLE = ("votes", "queries_per_recording", "budget", "batch", "start")
_NUMBERS = ("segment_length", "hop", "start_length", "threshold", "shortest", "n_events", "query_cost_share",
            "guess_rate", "lapse_rate", "event_rate", "wrong_time", "presence_criterion")  # fmt: skip
_PARAMETERS = (*_WHOLE, *_NUMBERS, "windows", "event_length", "signal", "repeats")


def sense(recordings: Iterable[Recording]) -> str:
    """What people have done with a segment of these: "heard" sound, "viewed" videos and traces."""
    paths = [recording.path for recording in recordings if recording.path is not None]
    return "viewed" if any(path.suffix.lower() in {*SIGNALS, *VIDEOS} for path in paths) else "heard"


def query_id(recording: str, onset: float, offset: float, label: str, repeat: int = 0) -> str:
    """The stable name of a query: twelve letters that follow from what is asked, and from nothing else.

    >>> query_id("a.wav", 0, 3, "dog")
    'c695ae794a3d'
    """
    text = f"{recording}|{onset:.6f}|{offset:.6f}|{label}" + (f"|{repeat}" if repeat else "")
    return hashlib.sha256(text.encode()).hexdigest()[:12]


@dataclass(frozen=True, repr=False)
class Queries(Result):
    """Segments to ask, with the recordings they come from and how they were chosen."""

    frame: pd.DataFrame
    recordings: dict[str, Recording]
    method: str
    parameters: dict[str, Any]
    skipped: dict[str, str] = field(default_factory=dict)
    follows_answers: bool = False  # there may be a next round when these are answered
    left: dict[str, float] = field(default_factory=dict)  # wrong_time, n_events, answers_left, where the method tells

    def __len__(self) -> int:
        return len(self.frame)

    @property
    def n_queries(self) -> int:
        """How many segments there are to answer."""
        return len(self.frame)

    @property
    def listened(self) -> float:
        """How many seconds there are to hear."""
        return float((self.frame["offset"] - self.frame["onset"]).sum())

    @property
    def to_review(self) -> str:
        """How long the segments are, in words."""
        return f"{hours(self.listened)} to {'hear' if sense(self.recordings.values()) == 'heard' else 'view'}"

    @property
    def settings(self) -> dict[str, Any]:
        """What made the queries: the method and its parameters."""
        return {"method": self.method, **self.parameters}

    def estimate(self, *, seconds_per_answer: float = SECONDS_PER_ANSWER) -> float:
        """Seconds of work: each segment heard once, and so many seconds to answer each."""
        return self.listened + seconds_per_answer * self.n_queries

    def by_hand(self, *, seconds_per_event: float = 15.0) -> float | None:
        """Seconds of work to draw the expected events by hand, everything heard once; None if none are expected."""
        heard = sum(recording.length for recording in self.recordings.values())
        return heard + seconds_per_event * self.left["n_events"] if "n_events" in self.left else None

    def to_frame(self) -> pd.DataFrame:
        """One row per query: query (its id), recording, onset, offset, label, method, round, ..."""
        return self.frame.copy()

    def to_dict(self) -> dict[str, Any]:
        """Totals and rows as JSON can hold them."""
        return dict(to_jsonable({
            "method": self.method, "parameters": self.parameters, "n_queries": self.n_queries,
            "n_recordings": len(self.recordings), "listened": self.listened, "seconds_estimate": self.estimate(),
            "n_skipped": len(self.skipped), "skipped": self.skipped, "left": self.left, "queries": self.frame,
        }))  # fmt: skip

    def plot(self, ax: Axes | None = None, *, most: int = 12) -> Axes:
        """The segments over time, one row per recording (the first ``most``), true events above them if known."""
        from ...base.plot import COLOURS, EVENT, timeline

        rows: dict[str, Any] = {}
        names = [name for name in self.recordings if name in set(self.frame["recording"])][:most]
        for name in names:
            mine = self.frame[self.frame["recording"] == name][["onset", "offset"]].drop_duplicates().to_numpy(float)
            if (events := self.recordings[name].events) is not None:
                rows[f"{name}: events"] = (events, EVENT)
            rows[name] = (mine, [COLOURS[0] if k % 2 else COLOURS[5] for k in range(len(mine))])
        longest = max((self.recordings[name].length for name in names), default=1.0)
        ax = timeline(rows, recording_length=longest, ax=ax)
        ax.set_title(f"{self.method}: {counted(self.n_queries, 'query')}, {self.to_review}", fontsize=10)
        return ax

    @property
    def answer(self) -> str:
        """How many queries there are, and how much work."""
        names = counted(self.frame["recording"].nunique(), "recording")
        work = f"{self.to_review}, about {hours(self.estimate())} of work"
        return f"{counted(self.n_queries, 'query')} in {names}: {work}."

    def page(self) -> Report:
        """How many queries, their picture, the settings and all rows."""
        page = Report("Queries").sentences([self.answer])
        page.figure(self.plot().figure, "The segments that are asked, over time.").heading("Settings")
        page.table(pd.DataFrame({"name": list(self.settings), "value": list(map(str, self.settings.values()))}))
        return page.heading("Queries").table(self.frame.drop(columns=["calibration", "event_fraction"]))

    def write(self, out: str | os.PathLike[str], *, to: str = "csv", **how: Any) -> list[Path]:
        """Write the campaign's state and the files of the annotation tool into a folder; the paths.

        ``to`` is "labelstudio", "raven", "audacity", "csv" or "clips". See :func:`.exchange.write`.
        """
        from .exchange import write

        return write(self, out, to=to, **how)


def queries(
    recordings: Place | Iterable[Place] | Mapping[str, float | Recording] | Events,
    *,
    method: str | Method | None = None,
    plan: Place | Mapping[str, object] | Result | None = None,
    choice: str | None = None,
    label: str | Iterable[str] | None = None,
    segment_length: float | None = None,
    hop: float | None = None,
    votes: int | None = None,
    queries_per_recording: int | None = None,
    budget: int | None = None,
    batch: int | None = None,
    events: Events | None = None,
    features: Place | Mapping[str, Features | Place] | None = None,
    scores: pd.DataFrame | Place | None = None,
    feature_hop: float | None = None,
    windows: Iterable[float] = WINDOWS,
    threshold: float | None = None,
    shortest: float = SHORTEST,
    start: int | None = None,
    start_length: float | None = None,
    n_events: float = 1.0,
    query_cost_share: float | None = None,
    event_length: str | float | None = None,
    event_rate: float | None = None,
    wrong_time: float | None = None,
    presence_criterion: float | None = None,
    signal: bool = True,
    guess_rate: float = 0.0,
    lapse_rate: float = 0.0,
    sample_rate: float | None = None,
    answers: Answers | None = None,
    repeats: float = 0.0,
) -> Queries:
    """The segments to ask next, of every recording.

    Parameters
    ----------
    recordings : audio paths (or folders), ``{name: seconds}``, or an :class:`~weakly.Events`.
    plan : a :class:`~weakly.Plan`, its ``to_dict()`` or the plan.json of ``weakly plan --out``: method, lengths and
        label of its ``choice`` ("plain", "by_hand", "best", "yours"; left out, the recommended one) are taken.
    method : "fixed" (FIX, the default), "oracle" (ORC, needs events), "windows" (segment_length, hop, votes),
        "change-point" (where the signal changes), "bisection" (splits present segments, down to segment_length),
        "by_hand" (whole recordings, to be marked), "screening" (segments, then the present ones, to be marked),
        "information" (what tells most for its cost; nothing needs to be known), or your own
        :class:`~weakly.methods.base.Method`.
    label : the class that is asked for, or several.
    segment_length, hop : seconds.
    queries_per_recording : how many segments each recording gets (information: in each round); budget : how many all of
        them share.
    batch : of information, the segments of a recording in each round; another name of its queries_per_recording.
    events : strong labels, for the oracle and for pictures.
    features : for change points: {name: Features or path}, or a folder with one .npy, .npz or .parquet file for each
        recording; left out, log-mel features of the audio. ``feature_hop`` is the seconds per row where the files hold
        no times.
    scores : a detector's, as evidence for information in place of features: a table with recording, onset, offset,
        score (and label), or a file or folder of such tables or of .npy files; trusted as far as the answers confirm.
    windows, threshold : of change points (:class:`~weakly.methods.ChangePoint`); windows are the
        seconds on either side of a change: about a quarter to the whole of an event's length.
    shortest : seconds of the shortest segment that change points and information ask about.
    wrong_time : of information: the seconds of expected wrong label per recording at which to stop; left out, a tenth
        of the expected event seconds. event_length (a law as text), event_rate (per second), presence_criterion,
        guess_rate, lapse_rate : where its learning begins, if anything is known. signal : whether it listens to the
        audio or features for hints. Its queries_per_recording are those of a round: 1, unless the tool needs more.
    start (segments) or start_length (seconds), n_events : of bisection. query_cost_share : r, of a query that costs r
        beside 1 - r for each second: 0.5 in bisection, 0.75 (3 s of work for an answer) in information. guess_rate,
        lapse_rate : how often answers are wrong; bisection then asks again, information learns it.
    sample_rate : of signals in npy or CSV files.
    answers : what was answered so far; the methods that follow answers ask their next round.
    repeats : the share of queries that are asked again later on: half as many segments, twice more each, which tells
        guesses from lapses (:mod:`weakly.posterior.slips`); they make no labels.

    Examples
    --------
    >>> found = queries({"a.wav": 10.0}, method="fixed", segment_length=4)
    >>> found.n_queries, found.listened
    (3, 10.0)
    """
    if plan is not None:
        told = from_plan(plan, choice)
        given = {"method": method, "segment_length": segment_length, "hop": hop, "votes": votes}
        if twice := [name for name, value in given.items() if value is not None]:
            raise InvalidInput(f"the plan says {', '.join(twice)}: give plan, or {', '.join(twice)}, not both")
        method, segment_length, hop, votes = (told["parameters"].get(name, told.get(name)) for name in given)
        start_length = told["parameters"].get("start_length")
        label = label or told["label"]
    elif choice is not None:
        raise InvalidInput(f"choice needs a plan, got choice {choice!r} alone")
    method, label = "fixed" if method is None else method, "event" if label is None else label
    if not isinstance(method, (str, Method)):
        raise InvalidInput(f"method must be one of {', '.join(_by_name())} or a weakly.methods.Method, got {method!r}")
    name = method.name if isinstance(method, Method) else one_of("method", method, _by_name())
    labels = [label] if isinstance(label, str) else list(label)
    if not labels or not all(isinstance(name, str) for name in labels):
        raise InvalidInput(f"label must be a name or several, got {label!r}")
    for what, value in (("queries_per_recording", queries_per_recording), ("budget", budget), ("batch", batch)):
        if value is not None:
            whole(what, value, most=MOST_SEGMENTS)
    if queries_per_recording is not None and budget is not None:
        raise InvalidInput("give queries_per_recording or budget, not both")
    if batch is not None and (name != Information.name or queries_per_recording is not None):
        rounds = (method if isinstance(method, Method) else METHODS[name]).follows_answers
        wrong = f"{name} asks {'its own rounds' if rounds else 'all at once'}"
        wrong = "queries_per_recording says the same" if name == Information.name else wrong
        raise InvalidInput(f"batch is the round of method 'information', and {wrong}: leave batch out")
    if segment_length is not None:
        segment_length = float(check("segment_length", segment_length))
    repeats = float(check("event_fraction", repeats, called="repeats"))
    known, skipped = recordings_of(recordings, sample_rate=sample_rate)
    event_length, windows = None if event_length is None else str(event_length), list(_spans(windows))
    parameters = {name: value for name, value in locals().items() if name in _PARAMETERS}
    kind = type(method) if isinstance(method, Method) else METHODS[name]
    if isinstance(method, Method):
        parameters = {"own": kind.__name__, **method.parameters}
    if scores is not None and (features is not None or not (kind.uses_signal or kind.needs_signal)):
        other = "give features or scores, not both" if features is not None else f"{name} has no use for them"
        raise InvalidInput(f"scores are evidence for method 'information' or 'change-point': {other}")
    listens = kind.needs_signal or features is not None or (kind.uses_signal and signal is not False)
    if listens and scores is None:
        known = with_signal(kind.needs_signal, known, features, feature_hop, sample_rate)
    truth = events if events is not None else recordings if isinstance(recordings, Events) else None
    rows, follows, left = [], False, dict[str, float]()
    for class_name in labels:
        known = known if truth is None else with_events(known, truth, class_name if len(labels) > 1 else None)
        known = known if scores is None else with_scores(known, scores, feature_hop, class_name)
        how = method if isinstance(method, Method) else make_method(name, parameters, list(known.values()))
        how = how.of_class(class_name)
        follows = follows or how.follows_answers
        rows += _rows(how, known, class_name, answers, left)
    frame = pd.DataFrame(rows, columns=list(COLUMNS))
    source: dict[str, Any] = {"feature_hop": feature_hop, "sample_rate": sample_rate}
    for word, given_as in (("features", features), ("scores", scores)):
        named = os.fspath(given_as) if isinstance(given_as, (str, os.PathLike)) else "arrays"
        source[word] = None if given_as is None else named
    result = Queries(frame, known, name, {**parameters, **source, "label": labels}, skipped, follows, left)
    return with_repeats(result, repeats) if repeats else result


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


def make_method(method: str, parameters: Mapping[str, Any], recordings: list[Recording]) -> Method:
    """The method by its name, with its parameters checked; nothing is computed yet."""
    given = {name: value for name, value in parameters.items() if value is not None}
    for name in (name for name in _WHOLE if name in given):
        given[name] = whole(name, given[name], most=MOST_SEGMENTS)  # 1.0 in a damaged campaign is no index
    for name in (name for name in _NUMBERS if name in given):
        given[name] = positive(name, given[name], zero=True)
    given["windows"] = _spans(given.get("windows", ()))
    if not isinstance(given.get("event_length", ""), str):
        raise InvalidInput(f"event_length must be text, got {given['event_length']!r}")
    longest = max((recording.length for recording in recordings), default=0.0)
    for name in ("segment_length", "hop"):
        if name in given and longest > MOST_SEGMENTS * given[name]:
            most = f"at most {MOST_SEGMENTS:,} segments of a recording"
            raise InvalidInput(f"{name} must leave {most}, got {given[name]!r} for {longest:g} s")
    return METHODS[one_of("method", method, _by_name())].of(given, recordings)


def from_plan(plan: Any, choice: str | None = None) -> dict[str, Any]:
    """The method, its parameters and the label of a choice of a plan, from the plan, its dict or its file."""
    if isinstance(plan, (str, os.PathLike)):
        path = Path(plan) / "plan.json" if Path(plan).is_dir() else Path(plan)
        try:
            plan = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise InvalidInput(f"{path}: is no plan.json of weakly plan --out ({error})") from error
    known = plan if isinstance(plan, Mapping) else plan.to_dict()
    choices = known.get("choices") if isinstance(known.get("choices"), list) else []
    if not choices or not all(isinstance(each, Mapping) and "parameters" in each for each in choices):
        raise InvalidInput("plan must hold choices, as the plan.json of weakly plan --out does")
    roles = [str(each["role"]) for each in choices]
    wanted = roles[0] if choice is None else one_of("choice", choice, tuple(dict.fromkeys(roles)))
    found = dict(choices[roles.index(wanted)])
    if found["method"] not in _by_name():
        name, command = found.get("name"), found.get("command")
        raise InvalidInput(f"choice {wanted!r} is {name}, which is made by other commands: {command}")
    settings = known.get("settings", {})
    return {**found, "label": settings.get("label") or settings.get("labels") or None}


def _by_name() -> tuple[str, ...]:
    return tuple(name for name, kind in METHODS.items() if kind.by_name)


def _spans(windows: Any) -> tuple[float, ...]:
    several = windows if isinstance(windows, (list, tuple, np.ndarray)) else [windows]
    return tuple(positive("windows", window) for window in several)


def asked_so_far(answers: Answers | None, recording: str, label: str) -> AnswerHistory:
    """The answers about one recording and label, one per query in their order: the majority of its annotators."""
    if answers is None:
        return AnswerHistory()
    frame = answers.to_frame()
    mine = frame[(frame["recording"] == recording) & (frame["label"] == label) & frame["onset"].notna()]
    if mine.empty:
        return AnswerHistory()
    groups = mine.groupby(mine["query"].where(mine["query"] != "", mine.index.astype(str)), sort=False)
    rows = [(float(g["onset"].iloc[0]), float(g["offset"].iloc[0]), verdict(g["present"].tolist())) for _, g in groups]
    table = np.array(rows)
    return AnswerHistory(table[:, :2], table[:, 2])


def _rows(
    method: Method, known: dict[str, Recording], label: str, answers: Answers | None, left: dict[str, float]
) -> list[tuple[Any, ...]]:
    """The rows of all recordings; what is left to do is added to ``left``, where the method can tell."""
    each = {name: (recording, asked_so_far(answers, name, label)) for name, recording in known.items()}
    method = method.among(each)
    rows: list[tuple[Any, ...]] = []
    for recording, segments in method.queue(each, min(len(each), MOST_IN_ROUND)):
        rows += rows_of(method, recording, label, each[recording.name][1], segments)
    for recording, asked in each.values():
        for word, value in (method.outlook(recording, asked) or {}).items():
            left[word] = left.get(word, 0.0) + value
    return rows


def rows_of(
    method: Method, recording: Recording, label: str, asked: AnswerHistory, segments: Intervals
) -> list[tuple[Any, ...]]:
    """The segments that the method asks of one recording after these answers, as rows of :data:`COLUMNS`."""
    rows: list[tuple[Any, ...]] = []
    seen, turn = Counter(key(asked.segments)), 1 + method.rounds(recording, asked)
    for (onset, offset), segment in zip(segments.tolist(), key(segments)):
        repeat, seen[segment] = seen[segment], seen[segment] + 1
        name = query_id(recording.name, onset, offset, label, repeat)
        rows.append((name, recording.name, onset, offset, label, method.name, turn, repeat, False, np.nan,
                     recording.length))  # fmt: skip
    return rows


def recordings_of(recordings: Any, *, sample_rate: float | None = None) -> tuple[dict[str, Recording], dict[str, str]]:
    """Recordings by name from whatever names them, and those that cannot be used."""
    if isinstance(recordings, Events):
        extents = recordings.extents
        if unknown := [str(name) for name in extents.index if not extents[name] > 0]:
            raise InvalidInput(f"recording {unknown[0]!r} has no known length; give recording_length when reading")
        return {str(name): Recording(str(name), float(extents[name])) for name in extents.index}, {}
    if isinstance(recordings, Mapping):
        if not recordings:
            raise InvalidInput("there are no recordings")
        known = {str(name): value for name, value in recordings.items()}
        new = {name: check("recording_length", x) for name, x in known.items() if not isinstance(x, Recording)}
        return known | {name: Recording(name, float(length)) for name, length in new.items()}, {}
    given = [recordings] if isinstance(recordings, (str, os.PathLike)) else list(recordings)
    paths: list[Path] = []
    for path in map(Path, given):
        inside = sorted(p for p in path.rglob("*") if p.suffix.lower() in RECORDINGS) if path.is_dir() else [path]
        paths += [p for p in inside if p not in paths]
    if not paths:
        raise InvalidInput("there are no recordings" + (f" in {given[0]}" if given else ""))
    listing = durations(paths, sample_rate=sample_rate)
    if not listing.seconds:
        path, reason = next(iter(listing.skipped.items()))
        raise InvalidInput(f"none of the {len(paths)} recordings can be read; {path}: {reason}")
    named = {name: Recording(name, listing.seconds[path], path=path) for name, path in listing.names().items()}
    return named, {str(path): reason for path, reason in listing.skipped.items()}


def _features_of(recording: Recording, features: Any, hop: float | None, sample_rate: float | None) -> Any:
    """The features that are given, or log-mel of the audio, read when they are asked for."""
    if features is None:
        if (audio := recording.path) is None:
            words = "change points need audio or features, not only its length"
            raise InvalidInput(f"recording {recording.name!r}: {words}")
        return partial(log_mel, audio, sample_rate=sample_rate)
    if isinstance(features, (str, os.PathLike)):
        stem = Path(recording.name).stem
        places = [Path(features) / f"{stem}{ending}" for ending in (".npz", ".npy", ".parquet", ".pq")]
        if place := next((path for path in places if path.is_file()), None):
            return partial(load_features, place, hop=hop)
        raise InvalidInput(f"{features}: no features of recording {recording.name!r} ({stem}.npz, .npy or .parquet)")
    if (value := features.get(recording.name)) is None:
        raise InvalidInput(f"features must hold every recording, {recording.name!r} is missing")
    return value if isinstance(value, Features) else partial(load_features, value, hop=hop)


def with_signal(
    needed: bool, known: Mapping[str, Recording], features: Any, hop: float | None, sample_rate: float | None
) -> dict[str, Recording]:
    """The recordings with what a method listens to; where it is not needed, one without audio stays as it is."""
    heard = dict(known)
    for name, recording in known.items():
        has_audio = recording.path is not None and recording.path.suffix.lower() not in VIDEOS
        if recording.features is None and (needed or features is not None or has_audio):
            heard[name] = replace(recording, features=_features_of(recording, features, hop, sample_rate))
    return heard


def with_scores(
    known: Mapping[str, Recording], scores: pd.DataFrame | Place, hop: float | None, label: str
) -> dict[str, Recording]:
    """The recordings with a detector's scores of this class (or of any) as what is listened to."""
    from ...posterior.detector import frames_by_class

    by_class = frames_by_class(scores if isinstance(scores, pd.DataFrame) else read_scores(os.fspath(scores), hop=hop))
    frames = scores_of(by_class, label, list(known))
    heard = {name: frames[name].over_time(known[name].length) for name in known if name in frames}
    return {name: replace(known[name], features=heard.get(name, known[name].features)) for name in known}


def with_events(known: dict[str, Recording], events: Events, label: str | None) -> dict[str, Recording]:
    """The recordings with their true events of one label, or of all labels as one."""
    frame = events.to_frame()
    frame = frame if label is None else frame[frame["label"] == label]
    result = dict(known)
    for name, theirs in matched(known, events.recordings.index).items():
        rows = frame[frame["recording"] == theirs][["onset", "offset"]].to_numpy(float)
        result[name] = replace(known[name], events=merge(np.clip(rows, 0, known[name].length)))
    return result
