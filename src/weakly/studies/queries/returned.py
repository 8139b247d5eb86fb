"""What comes back: answers by query, read from any tool's files, and put together with the queries that were asked."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ...base.errors import InvalidInput
from ...io.gather import parse
from ...io.table import TextRows
from ...io.vocabulary import UNREADABLE, answer_of
from ...model.answers import Answers
from .export import REGION
from .store import Answer, same

_ID = re.compile(r"[0-9a-f]{12}")
_CLIP = re.compile(r"(?:^|/)([0-9a-f]{12})\.\w+$")  # a cut clip is called by its query
_CLOCKS = ("answered", "updated_at", "when", "created_at")  # what tells when an answer was given


@dataclass(frozen=True)
class Collected:
    """The answers of a campaign so far, what they lack, and what did not fit."""

    queries: pd.DataFrame
    answers: Answers
    pending: list[str]  # queries without an answer
    duplicates: list[str]  # the same annotator gave the same answer again
    contradictions: list[str]  # answers that differ: by one annotator (the last counts), or between annotators
    unknown: list[str] = field(default_factory=list)  # places of answers to no query of the campaign
    unreadable: list[str] = field(default_factory=list)  # places of words that are no answer

    @property
    def n_answered(self) -> int:
        """How many queries have an answer."""
        return len(self.queries) - len(self.pending)

    def seconds_per_query(self) -> dict[str, float]:
        """How long an answer takes: robust against breaks, because the clock of a tool runs on through them.

        ``median``; ``winsorised``: the mean after what lies beyond the median plus five times the median absolute
        deviation is set to that; ``mean``: as the clock says; ``n_idle``: how many were set.
        """
        seconds = self.answers.to_frame()["seconds"].dropna().to_numpy(float)
        if len(seconds) == 0:
            return {"n": 0, "median": np.nan, "winsorised": np.nan, "mean": np.nan, "n_idle": 0}
        middle = float(np.median(seconds))
        limit = middle + 5 * 1.4826 * max(float(np.median(np.abs(seconds - middle))), 0.1 * middle)
        return {
            "n": len(seconds),
            "median": middle,
            "winsorised": float(np.minimum(seconds, limit).mean()),
            "mean": float(seconds.mean()),
            "n_idle": int((seconds > limit).sum()),
        }

    def to_dict(self) -> dict[str, Any]:
        """Counts, times and lists as JSON can hold them."""
        from ...base.results import plain

        present = self.answers.to_frame()["present"]
        return dict(plain({
            "n_queries": len(self.queries), "n_answered": self.n_answered, "n_answers": len(self.answers),
            "n_present": int((present == 1).sum()), "n_absent": int((present == 0).sum()),
            "n_unsure": int(present.isna().sum()), "n_pending": len(self.pending),
            "n_duplicates": len(self.duplicates), "n_contradictions": len(self.contradictions),
            "n_unknown": len(self.unknown), "n_unreadable": len(self.unreadable),
            "duplicates": self.duplicates, "contradictions": self.contradictions, "unknown": self.unknown,
            "unreadable": self.unreadable, "seconds_per_query": self.seconds_per_query(),
        }))  # fmt: skip

    def to_frame(self) -> pd.DataFrame:
        """One row per answer."""
        return self.answers.to_frame()

    def calibration(self) -> pd.DataFrame:
        """The answered calibration items: annotator, event_fraction, present."""
        items = self.queries[self.queries["calibration"]].set_index("query")["event_fraction"]
        frame = self.answers.to_frame()
        mine = frame[frame["query"].isin(items.index) & frame["present"].notna()]
        return pd.DataFrame({
            "annotator": mine["annotator"], "event_fraction": items.reindex(mine["query"]).to_numpy(),
            "present": mine["present"],
        }).reset_index(drop=True)  # fmt: skip


def collect(
    queries: pd.DataFrame, answers: Iterable[Answer], *, unknown: Iterable[str] = (), unreadable: Iterable[str] = ()
) -> Collected:
    """Put answers and queries together, and say what is missing, double or contradictory.

    Of several answers of one annotator to one query the latest counts: by the tool's clock, else by their order.
    """
    order = {query: k for k, query in enumerate(queries["query"])}
    lost = list(unknown)
    duplicates: list[str] = []
    contradictions: list[str] = []
    latest: dict[tuple[str, str], Answer] = {}
    for one in answers:
        if one.query not in order:
            lost.append(f"{one.source}: {one.query}")
            continue
        before = latest.get((one.query, one.annotator))
        if before is not None:
            (duplicates if same(before.present, one.present) else contradictions).append(one.query)
            if before.answered > one.answered:
                continue
        latest[(one.query, one.annotator)] = one
    by_query: dict[str, set[float]] = {}
    for (query, _), one in latest.items():
        if not np.isnan(one.present):
            by_query.setdefault(query, set()).add(one.present)
    contradictions += [query for query, values in by_query.items() if len(values) > 1]
    ordered = sorted(latest.values(), key=lambda one: (order[one.query], one.annotator))
    rows = queries.set_index("query")[["recording", "onset", "offset", "label"]].to_dict("index")
    table = pd.DataFrame(
        [{**rows[one.query], "present": one.present, "annotator": one.annotator, "seconds": one.seconds,
          "query": one.query, "answered": one.answered} for one in ordered],
        columns=[*Answers.COLUMNS, "answered"],
    )  # fmt: skip
    pending = [query for query in queries["query"] if query not in {query for query, _ in latest}]
    return Collected(
        queries, Answers.from_frame(table), pending, list(dict.fromkeys(duplicates)),
        list(dict.fromkeys(contradictions)), lost, list(unreadable),
    )  # fmt: skip


class Returned(NamedTuple):
    """What was read: answers, the places of those about no query, and of words that are no answer."""

    answers: list[Answer]
    unknown: list[str]
    unreadable: list[str]


def read_returned(queries: pd.DataFrame, paths: Iterable[Path], folder: Path) -> Returned:
    """The answers in files of any tool to these queries: by their ids, by a clip's name, or by the segment."""
    known = dict(zip(queries["query"], queries["label"]))
    by_time: dict[Any, list[str]] = {}
    for query, name, onset, offset in queries[["query", "recording", "onset", "offset"]].itertuples(index=False):
        by_time.setdefault(_moment(name, onset, offset), []).append(query)
    found = Returned([], [], [])
    for rows in (rows for path in paths for rows in _parsed(path)):
        file = rows.source.name
        broken = {_line(at): words for at, _, words in reversed(rows.source.problems)}
        found.unreadable.extend(f"{file}, {at}: {words}" for at, words in reversed(broken.items()))
        frame = pd.DataFrame(rows.data)
        choices = frame.groupby(["query", "annotation"])["label"].agg(list).to_dict() if "annotation" in frame else {}
        for at, row in zip(rows.places, frame.to_dict("records")):
            query, place = str(row.get("query") or ""), f"{file}, {_line(at)}"
            if query not in known and (clip := _CLIP.search(str(row["recording"]))):
                query = clip.group(1)
            if query not in known and not _ID.fullmatch(query):
                near = by_time.get(_moment(row["recording"], row["onset"], row["offset"]), [])
                query = next((one for one in near if known[one] == row["label"] or len(near) == 1), query)
            if query not in known:
                found.unknown.append(f"{place}: {query or 'no query id'}")
                continue
            present = float(row["present"])
            if "annotation" in row and row["label"] != known[query]:
                present, word = _choice(row["label"], present, choices.get((row["query"], row["annotation"]), []))
                if word is not None:
                    found.unreadable.extend([f"{place}: {word!r}"] if word else [])
                    continue
            clock = next((str(row[name]) for name in _CLOCKS if row.get(name)), "")
            who, seconds = str(row.get("annotator") or ""), float(row.get("seconds", np.nan))
            seconds = seconds if 0 <= seconds < np.inf else np.nan
            found.answers.append(Answer(query, present, who, seconds, clock, os.path.relpath(file, folder)))
    return found


def _moment(recording: str, onset: float, offset: float) -> tuple[str, float, float]:
    """A segment by its file's name and milliseconds, for answers that come without a query's id."""
    return Path(str(recording)).name, np.round(onset, 3), np.round(offset, 3)


def _parsed(path: Path) -> list[TextRows]:
    """What the readers of formats find in a file (or in the files of a folder), as answers."""
    kinds = {"clips.csv": "clips", "raven": "raven", "audacity": "audacity"}
    likely = kinds.get(path.name) or kinds.get(path.parent.name)
    how: dict[str, Any] = {"label": None, "columns": None, "on_error": "skip", "progress": False, "answers": True}
    found, _, _ = parse(path, format=likely, **how)
    if all(rows.weak for rows in found):
        return found
    try:  # a table of clips in which one word is no answer is still one
        return parse(path, format="clips", **how)[0]
    except InvalidInput:
        raise InvalidInput(f"{path}: holds events, and no answers to queries") from None


def _choice(label: str, present: float, offered: list[str]) -> tuple[float, str | None]:
    """The answer of a row of Label Studio that is not its query's label, or why it is none ("": it says nothing).

    Where all choices are answers, the row is the question's; where one is something else, every choice has a row.
    """
    if all(answer_of(word) in (None, UNREADABLE) for word in offered):
        return present, None if len(offered) == 1 and label != REGION else label
    word = answer_of(label)
    if present != 1:
        return np.nan, ""
    return (np.nan, label) if word is None or word == UNREADABLE else (word, None)


def _line(place: int | str) -> str:
    return f"line {place}" if isinstance(place, int) else place
