"""Recordings in, the next segments to ask out, as one result that can be written for any tool."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ...base.errors import InvalidInput
from ...base.report import Report, Result
from ...base.results import counted, hours, plain
from ...base.symbols import check, choice, positive, whole
from ...methods.base import AnswerHistory, Labels, Method, Recording, key, verdict
from ...methods.boundary import Boundary
from ...methods.change_point import WINDOWS, ChangePoint, Chosen, Prototypes, SharedBudget, learned_segments
from ...methods.segments import Bisection, Fixed, Oracle, Overlapping
from ...model.answers import Answers
from ...model.events import Events
from .sources import recordings_of, with_events, with_signal

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLUMNS = ("query", "recording", "onset", "offset", "label", "method", "round", "repeat", "calibration",
           "event_fraction", "recording_length")  # fmt: skip
#: Seconds that an answer takes besides listening, where nobody has measured it yet.
SECONDS_PER_ANSWER = 3.0
#: Seconds of the shortest segment that a person is asked about, unless told.
SHORTEST = 0.3
#: Segments of one recording beyond which a number is taken for a slip, or for damage.
MOST_SEGMENTS = 10_000_000
_WHOLE = ("votes", "queries_per_recording", "budget", "batch", "start")
_NUMBERS = ("segment_length", "hop", "threshold", "penalty", "shortest", "n_events", "query_cost_share", "tolerance",
            "guess_rate", "lapse_rate", "event_rate", "wrong_time", "presence_criterion")  # fmt: skip


def query_id(recording: str, onset: float, offset: float, label: str, repeat: int = 0) -> str:
    """The stable name of a query: twelve letters that follow from what is asked, and from nothing else.

    >>> query_id("a.wav", 0, 3, "dog")
    'c695ae794a3d'
    """
    text = f"{recording}|{onset:.6f}|{offset:.6f}|{label}" + (f"|{repeat}" if repeat else "")
    return hashlib.sha256(text.encode()).hexdigest()[:12]


@dataclass(frozen=True)
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
    def settings(self) -> dict[str, Any]:
        """What made the queries: the method and its parameters."""
        return {"method": self.method, **self.parameters}

    def estimate(self, *, seconds_per_answer: float = SECONDS_PER_ANSWER) -> float:
        """Seconds of work: each segment heard once, and so many seconds to answer each."""
        return self.listened + seconds_per_answer * self.n_queries

    def by_hand(self, *, seconds_per_event: float = 15.0) -> float | None:
        """Seconds of work to draw the expected events by hand, everything heard once; None if none are expected."""
        if "n_events" not in self.left:
            return None
        heard = sum(one.length for one in self.recordings.values())
        return heard + seconds_per_event * self.left["n_events"]

    def to_frame(self) -> pd.DataFrame:
        """One row per query: query (its id), recording, onset, offset, label, method, round, ..."""
        return self.frame.copy()

    def to_dict(self) -> dict[str, Any]:
        """Totals and rows as JSON can hold them."""
        return dict(plain({
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
            events = self.recordings[name].events
            if events is not None:
                rows[f"{name}: events"] = (events, EVENT)
            shades = [COLOURS[0] if k % 2 else COLOURS[5] for k in range(len(mine))]
            rows[name] = (mine, shades)
        longest = max((self.recordings[name].length for name in names), default=1.0)
        ax = timeline(rows, recording_length=longest, ax=ax)
        ax.set_title(f"{self.method}: {counted(self.n_queries, 'query')}, {hours(self.listened)} to hear", fontsize=10)
        return ax

    @property
    def answer(self) -> str:
        """How many queries there are, and how much work."""
        names = counted(self.frame["recording"].nunique(), "recording")
        work = f"{hours(self.listened)} to hear, about {hours(self.estimate())} of work"
        return f"{counted(self.n_queries, 'query')} in {names}: {work}."

    def brief(self) -> pd.DataFrame:
        """The columns that people read."""
        return self.frame.drop(columns=["calibration", "event_fraction"])

    def page(self) -> Report:
        """How many queries, their picture, the settings and all rows."""
        page = Report("Queries").answer(self.answer)
        page.figure(self.plot().figure, "The segments that are asked, over time.").heading("Settings")
        page.table(pd.DataFrame({"name": list(self.settings), "value": list(map(str, self.settings.values()))}))
        return page.heading("Queries").table(self.brief())

    def write(self, out: str | os.PathLike[str], *, to: str = "csv", **how: Any) -> list[Path]:
        """Write the campaign's state and the files of the annotation tool into a folder; the paths.

        ``to`` is "labelstudio", "raven", "audacity", "csv" or "clips". See :func:`weakly.studies.queries.export.write`.
        """
        from .export import write

        return write(self, out, to=to, **how)


def queries(
    recordings: Any,
    *,
    method: str | Method = "fixed",
    label: str | Iterable[str] = "event",
    segment_length: float | None = None,
    hop: float | None = None,
    votes: int | None = None,
    queries_per_recording: int | None = None,
    budget: int | None = None,
    batch: int | None = None,
    events: Events | None = None,
    features: Any = None,
    feature_hop: float | None = None,
    windows: Iterable[float] = WINDOWS,
    search: str = "peaks",
    threshold: float | None = None,
    penalty: float | None = None,
    shortest: float = SHORTEST,
    children: str = "halves",
    start: int | None = None,
    n_events: float = 1.0,
    query_cost_share: float = 0.5,
    event_length: str | float | None = None,
    event_rate: float | None = None,
    wrong_time: float | None = None,
    presence_criterion: float | None = None,
    signal: bool = True,
    tolerance: float = 0.05,
    guess_rate: float = 0.0,
    lapse_rate: float = 0.0,
    sample_rate: float | None = None,
    answers: Answers | None = None,
    calibrate: int | None = None,
    rng: Any = None,
) -> Queries:
    """The segments to ask next, of every recording.

    Parameters
    ----------
    recordings : audio paths (or folders), ``{name: seconds}``, or an :class:`~weakly.Events`.
    method : "fixed" (FIX), "oracle" (ORC, needs events), "windows" (segment_length, hop, votes), "change-point"
        (where the signal changes), "bisection" (splits present segments, down to segment_length), "boundary" (halving
        towards onset, offset and criterion of single events), "information" (what tells most for its cost; nothing
        needs to be known), or your own :class:`~weakly.methods.base.Method`.
    label : the class that is asked for, or several.
    segment_length, hop : seconds.
    queries_per_recording : how many segments each recording gets (information: in each round); budget : how many all of
        them share.
    batch : for change points, ask so many recordings at a time; the boundaries of the next batch are those of a model
        that has learned from the answers so far.
    events : strong labels, for the oracle, for calibration items and for pictures.
    features : for change points: {name: Features or path}, or a folder with one .npy, .npz or .parquet file for each
        recording; left out, log-mel features of the audio. ``feature_hop`` is the seconds per row where the files hold
        no times.
    windows, search, threshold, penalty : of change points (:class:`~weakly.methods.ChangePoint`); windows are the
        seconds on either side of a change: about a quarter to the whole of an event's length.
    shortest : seconds of the shortest segment that change points and boundary search ask about.
    wrong_time : of information: the seconds of expected wrong label per recording at which to stop; left out, a tenth
        of the expected event seconds. event_length (a law as text), event_rate (per second), presence_criterion,
        guess_rate, lapse_rate : where its learning begins, if anything is known. signal : whether it listens to the
        audio or features for hints. Its queries_per_recording are those of a round: 1, unless the tool needs more.
    children, start, n_events, query_cost_share : of bisection. tolerance : of boundary search. guess_rate, lapse_rate :
        how often answers are wrong; bisection and boundary search then ask again, information learns it.
    sample_rate : of signals in npy or CSV files.
    answers : what was answered so far; the methods that follow answers ask their next round.
    calibrate : mix in so many segments whose event fraction is known: pieces of the given events in the recordings
        themselves, as long as the other queries (:mod:`.calibration`). ``rng`` chooses among them.

    Examples
    --------
    >>> found = queries({"a.wav": 10.0}, method="fixed", segment_length=4)
    >>> found.n_queries, found.listened
    (3, 10.0)
    """
    if not isinstance(method, (str, Method)):
        raise InvalidInput(f"method must be one of {', '.join(METHODS)} or a weakly.methods.Method, got {method!r}")
    name = method.name if isinstance(method, Method) else choice("method", method, tuple(METHODS))
    labels = [label] if isinstance(label, str) else list(label)
    if not labels or not all(isinstance(one, str) for one in labels):
        raise InvalidInput(f"label must be a name or several, got {label!r}")
    for what, value in (("queries_per_recording", queries_per_recording), ("budget", budget), ("batch", batch)):
        if value is not None:
            whole(what, value, most=MOST_SEGMENTS)
    if queries_per_recording is not None and budget is not None:
        raise InvalidInput("give queries_per_recording or budget, not both")
    if batch is not None and (name != "change-point" or queries_per_recording is None):
        raise InvalidInput("batch needs method 'change-point' with queries_per_recording")
    if segment_length is not None:
        segment_length = float(check("segment_length", segment_length))
    known, skipped = recordings_of(recordings, sample_rate=sample_rate)
    parameters: dict[str, Any] = {
        "segment_length": segment_length, "hop": hop, "votes": votes, "queries_per_recording": queries_per_recording,
        "budget": budget, "batch": batch, "windows": list(_spans(windows)), "search": search,
        "threshold": threshold, "penalty": penalty, "shortest": shortest, "children": children, "start": start,
        "n_events": n_events, "query_cost_share": query_cost_share, "tolerance": tolerance, "guess_rate": guess_rate,
        "lapse_rate": lapse_rate, "event_length": None if event_length is None else str(event_length),
        "event_rate": event_rate, "wrong_time": wrong_time, "presence_criterion": presence_criterion, "signal": signal,
    }  # fmt: skip
    if isinstance(method, Method):
        parameters = {"own": type(method).__name__, **method.parameters}
    if name == "change-point" or features is not None or (name == "information" and signal is not False):
        known = with_signal(name, known, features, feature_hop, sample_rate)
    truth = events if events is not None else recordings if isinstance(recordings, Events) else None
    rows, follows = [], batch is not None
    left: dict[str, float] = {}
    for one_label in labels:
        mine = known if truth is None else with_events(known, truth, one_label if len(labels) > 1 else None)
        if batch is None:
            how = method if isinstance(method, Method) else make_method(name, parameters, list(mine.values()))
            follows = follows or how.follows_answers
            rows += _rows(how, mine, one_label, answers, left)
        else:
            rows += _batch(mine, one_label, answers, parameters)
        known = mine
    frame = pd.DataFrame(rows, columns=list(COLUMNS))
    path = os.fspath(features) if isinstance(features, (str, os.PathLike)) else None
    source = {"features": "arrays" if features is not None and path is None else path, "feature_hop": feature_hop,
              "sample_rate": sample_rate}  # fmt: skip
    result = Queries(frame, known, name, {**parameters, **source, "label": labels}, skipped, follows, left)
    if calibrate:
        from .calibration import with_items

        if truth is None:
            raise InvalidInput("calibrate needs events: strong labels of some of the recordings, to take items from")
        result = with_items(result, truth, count=calibrate, rng=rng)
    return result


def make_method(method: str, parameters: Mapping[str, Any], recordings: list[Recording]) -> Method:
    """The method by its name, with its parameters checked; nothing is computed yet."""
    given = {name: value for name, value in parameters.items() if value is not None}
    for name in _WHOLE:
        if name in given:
            whole(name, given[name], most=MOST_SEGMENTS)
    for name in _NUMBERS:
        if name in given:
            positive(name, given[name], zero=True)
    _spans(given.get("windows", ()))
    for name in ("event_length", "search", "children"):
        if not isinstance(given.get(name, ""), str):
            raise InvalidInput(f"{name} must be text, got {given[name]!r}")
    longest = max((one.length for one in recordings), default=0.0)
    for name in ("segment_length", "hop"):
        if name in given and longest > MOST_SEGMENTS * given[name]:
            raise InvalidInput(
                f"{name} must leave at most {MOST_SEGMENTS:,} segments of a recording, got {given[name]!r} for "
                f"{longest:g} s"
            )
    return METHODS[choice("method", method, tuple(METHODS))](parameters, recordings)


def _fixed(p: Mapping[str, Any], recordings: list[Recording]) -> Method:
    length, count, budget = p.get("segment_length"), p.get("queries_per_recording"), p.get("budget")
    if length is None and count is None and budget is None:
        raise InvalidInput("method 'fixed' needs segment_length, queries_per_recording or budget")
    if length is None and budget is not None:
        length = _shared_length(recordings, budget)
    return Fixed(segment_length=length, n_queries=count)


def _windows(p: Mapping[str, Any], recordings: list[Recording]) -> Method:
    length = _needed(p, "windows")
    return Overlapping(segment_length=length, hop=_or(p.get("hop"), length / 2), votes=p.get("votes"))


def _change_point(p: Mapping[str, Any], recordings: list[Recording]) -> Method:
    how = ChangePoint(
        n_queries=p.get("queries_per_recording"),
        windows=_spans(p.get("windows") or WINDOWS),
        search=p.get("search") or "peaks",
        penalty=p.get("penalty"),
        threshold=p.get("threshold"),
        shortest=_or(p.get("shortest"), 0.0),
    )
    budget = p.get("budget")
    if budget is None:
        return how
    _enough(recordings, budget)
    return SharedBudget(tuple(recordings), budget, replace(how, threshold=_or(p.get("threshold"), 0.0)))


def _bisection(p: Mapping[str, Any], recordings: list[Recording]) -> Method:
    return Bisection(
        segment_length=_needed(p, "bisection"),
        start=p.get("start"),
        children=p.get("children") or "halves",
        n_events=_or(p.get("n_events"), 1.0),
        query_cost_share=_or(p.get("query_cost_share"), 0.5),
        guess_rate=_or(p.get("guess_rate"), 0.0),
        lapse_rate=_or(p.get("lapse_rate"), 0.0),
    )


def _boundary(p: Mapping[str, Any], recordings: list[Recording]) -> Method:
    return Boundary(
        tolerance=_or(p.get("tolerance"), 0.05),
        segment_length=p.get("segment_length"),
        guess_rate=_or(p.get("guess_rate"), 0.0),
        lapse_rate=_or(p.get("lapse_rate"), 0.0),
        shortest=_or(p.get("shortest"), 0.0),
    )


def _information(p: Mapping[str, Any], recordings: list[Recording]) -> Method:
    from ...methods.information import Information

    given: dict[str, Any] = {
        name: p.get(name) for name in ("event_length", "event_rate", "wrong_time", "presence_criterion")
    }
    rates: dict[str, Any] = {name: p.get(name) or None for name in ("guess_rate", "lapse_rate")}  # 0: not known
    return Information(
        **given, **rates, query_cost_share=_or(p.get("query_cost_share"), 0.5),
        shortest=_or(p.get("shortest"), SHORTEST) or SHORTEST, batch=int(_or(p.get("queries_per_recording"), 1)),
        signal=p.get("signal") is not False,
    )  # fmt: skip


#: What makes each method from the parameters of the door.
METHODS: dict[str, Callable[[Mapping[str, Any], list[Recording]], Method]] = {
    "fixed": _fixed,
    "oracle": lambda p, recordings: Oracle(),
    "windows": _windows,
    "change-point": _change_point,
    "bisection": _bisection,
    "boundary": _boundary,
    "information": _information,
}


def _spans(windows: Any) -> tuple[float, ...]:
    return tuple(
        positive("windows", one) for one in (windows if isinstance(windows, (list, tuple, np.ndarray)) else [windows])
    )


def _needed(p: Mapping[str, Any], method: str) -> float:
    if p.get("segment_length") is None:
        raise InvalidInput(f"method {method!r} needs segment_length")
    return float(p["segment_length"])


def _enough(recordings: list[Recording], budget: int) -> None:
    if budget < len(recordings):
        raise InvalidInput(f"budget must be at least one query per recording ({len(recordings)}), got {budget}")


def _or(value: Any, default: float) -> float:
    return default if value is None else float(value)


def _shared_length(recordings: list[Recording], budget: int) -> float:
    """The shortest segment length whose fixed segments of all recordings fit the budget."""
    _enough(recordings, budget)
    lengths = np.array([one.length for one in recordings])
    low, high = float(lengths.sum()) / budget, float(lengths.max())
    for _ in range(60):
        middle = (low + high) / 2
        fits = np.ceil(lengths / middle).sum() <= budget
        low, high = (low, middle) if fits else (middle, high)
    return high


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
    method: Method,
    known: dict[str, Recording],
    label: str,
    answers: Answers | None,
    left: dict[str, float] | None = None,
) -> list[tuple[Any, ...]]:
    """The rows of all recordings; what is left to do is added to ``left``, where the method can tell."""
    each = {name: (one, asked_so_far(answers, name, label)) for name, one in known.items()}
    method = method.among(each)
    rows = [row for one, asked in each.values() for row in rows_of(method, one, label, asked)]
    if left is not None:
        for one, asked in each.values():
            for word, value in (method.outlook(one, asked) or {}).items():
                left[word] = left.get(word, 0.0) + value
    return rows


def rows_of(method: Method, recording: Recording, label: str, asked: AnswerHistory) -> list[tuple[Any, ...]]:
    """What the method asks of one recording after these answers, as rows of :data:`COLUMNS`."""
    rows: list[tuple[Any, ...]] = []
    segments = method.next(recording, asked)
    seen: dict[tuple[int, int], int] = {}
    for segment in key(asked.segments):
        seen[segment] = seen.get(segment, 0) + 1
    turn = 1 + (method.rounds(recording, asked) if len(asked) else 0)
    for (onset, offset), segment in zip(segments.tolist(), key(segments)):
        repeat = seen.get(segment, 0)
        seen[segment] = repeat + 1
        name = query_id(recording.name, onset, offset, label, repeat)
        rows.append((name, recording.name, onset, offset, label, method.name, turn, repeat, False, np.nan,
                     recording.length))  # fmt: skip
    return rows


def _batch(
    known: dict[str, Recording], label: str, answers: Answers | None, parameters: Mapping[str, Any]
) -> list[tuple[Any, ...]]:
    """The next recordings, cut where a model of the answers so far changes its mind."""
    count = parameters["queries_per_recording"]
    how = {"windows": tuple(parameters["windows"]), "shortest": parameters["shortest"]}
    model, open_ = Prototypes(), {}
    for name, recording in known.items():
        asked = asked_so_far(answers, name, label)
        if len(asked):
            order = np.argsort(asked.segments[:, 0], kind="stable")
            labels = Labels(asked.segments[order], asked.present[order])
            model = model.learn(recording.known_features(), labels)
        else:
            open_[name] = recording
    turn = {name: open_[name] for name in list(open_)[: parameters["batch"]]}
    if not model.ready:
        return _rows(make_method("change-point", parameters, list(turn.values())), turn, label, None)
    cuts = {name: learned_segments(model, one, n_queries=count, **how) for name, one in turn.items()}
    rows = _rows(Chosen(cuts), turn, label, None)
    done = -(-(len(known) - len(open_)) // parameters["batch"])
    return [(*row[:6], 1 + done, *row[7:]) for row in rows]
