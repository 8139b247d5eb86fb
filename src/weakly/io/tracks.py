"""Lines without names: Audacity and .lab label tracks, NIGENS, RTTM, UEM, and MNE's text annotations.

An Audacity track may hold answers: where its labels are questions (``query dog?``), the annotator types ``yes``, ``no``
or ``unsure`` behind, before or in place of the question mark; a label that cannot be read as an answer is a broken row.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ..base.errors import InvalidInput
from ..base.results import counted
from ..model.answers import Answers
from ..model.events import Events
from .output import answer_losses, exact, inexact, losses, per_recording, plain_fields, save, texts_of
from .registry import Format
from .source import Source, quoted
from .table import TextRows, short_rows
from .times import duration, ending
from .vocabulary import UNREADABLE, answer_of, is_number, numbers, split_answer

_ENDING = (r"\.BirdNET\.results\.txt$", r"\.audacity\.txt$", r"\.labels\.txt$", r"\.txt$", r"\.lab$")
_ASKED = re.compile(r"(^|\s)[0-9a-f]{12}(\s|$)|\?")


class Lines:
    """Fields of lines in columns, each with its line."""

    def __init__(self, source: Source, n: int) -> None:
        self.source = source
        self.columns: list[list[str]] = [[] for _ in range(n)]
        self.places: list[int | str] = []

    def add(self, line: int, *fields: str) -> None:
        for column, value in zip(self.columns, fields):
            column.append(value)
        self.places.append(line)

    @classmethod
    def split(
        cls, source: Source, n: int, fields_of: Callable[[str], Sequence[str]], wrong: str, *, comment: str = "\0"
    ) -> Lines:
        """Every line that is no comment; one that has not n fields is broken, and ``wrong`` says why."""
        found, source.n_rows = cls(source, n), 0
        for line, text in source.lines():
            if text.lstrip().startswith(comment):
                continue
            source.n_rows += 1
            fields = fields_of(text)
            if len(fields) == n:
                found.add(line, *fields)
            else:
                source.fail(line, "", wrong.format(len(fields)))
        return found

    def numbers(self, k: int, name: str) -> Any:
        return numbers(self.source, self.columns[k], self.places, name)

    def short(self, widths: Sequence[int]) -> list[int]:
        """The lines that are broken, because they hold fewer fields than the others do."""
        most = max(widths, default=0)
        fewer = {i: n for i, n in enumerate(widths) if n < most}
        return sorted(short_rows(self.source, fewer, self.places, most, padded=False))


def sniff(source: Source) -> bool:
    """Rows of two numbers, the second no smaller, and a text, separated by tabs; lines of frequencies between them."""
    rows = [line.split("\t") for line in source.head if not line.startswith("\\")]
    if not rows or not all(len(row) in (3, 4) and is_number(row[0]) and is_number(row[1]) for row in rows):
        return False
    return sum(float(row[1]) >= float(row[0]) for row in rows) > 0.5 * len(rows)


def read(source: Source) -> TextRows:
    """The labels of one track; the file's name stands for the recording."""
    found = Lines(source, 4)
    bands: dict[int, tuple[str, str]] = {}
    widths: list[int] = []
    n = 0
    for line, text in source.lines():
        fields = text.split("\t")
        if fields[0] == "\\":
            if len(fields) != 3 or not found.places or len(found.places) - 1 in bands:
                source.fail(line, "", "a line of frequencies needs two numbers and stands below its label")
                n += 1
            else:
                bands[len(found.places) - 1] = (fields[1], fields[2])
            continue
        n += 1
        if len(fields) < 2 or len(fields) > 4:
            source.fail(line, "", f"has {len(fields)} fields; a label is start, end and text, separated by tabs")
            continue
        more = [*fields, "", ""][2:4]
        found.add(line, fields[0], fields[1], more[0] if len(fields) > 2 else source.label or "event", more[1])
        widths.append(len(fields))
    source.n_rows = n
    onset = found.numbers(0, "start")
    onset[found.short(widths)] = np.inf
    recording, label, places = source.stem(*_ENDING), found.columns[2], found.places
    rows = TextRows.of(source, places, recording, onset, found.numbers(1, "end"), label)
    if any(found.columns[3]):  # BirdNET's confidence, or what somebody noted
        numeric = all(is_number(text) for text in found.columns[3] if text)
        rows.data |= {"confidence": found.numbers(3, "confidence")} if numeric else {"comment": found.columns[3]}
    if bands:
        for name, k in (("low_frequency", 0), ("high_frequency", 1)):
            rows.data[name] = numbers(source, [bands.get(i, ("", ""))[k] for i in range(len(places))], places, name)
    asked = places and sum(bool(_ASKED.search(text)) for text in label) > 0.5 * len(label)
    if asked:
        _questions(rows)
    rows.checked()
    told = (
        f"recording = the file's name (1), label = the track's texts ({len(set(rows.data['label']))}), time in seconds"
    )
    return rows.say(told + (", answers = the words beside the questions" if asked else ""))


def _questions(rows: TextRows) -> None:
    """Turn labels that are questions into answers; which words belong to the label is seen from all of them."""
    parts = [split_answer(text) for text in rows.data["label"]]
    known = sorted({label for (_, label, _), text in zip(parts, rows.data["label"]) if "?" in text and label}, key=len)[
        ::-1
    ]
    for i, text in enumerate(rows.data["label"]):  # "dog note absent": other texts tell that the label is dog
        asked = next((label for label in known if f" {label} " in f" {text} "), None) if "?" not in text else None
        parts[i] = split_answer(text, asked) if asked else parts[i]
    words = {text.lower() for _, _, text in parts}
    if len(parts) > 1 and len(words) == 1 and "" not in words:  # "no call?" everywhere: the word is the label's
        whole = {" ".join(text.split()) for text in rows.data["label"]}
        if all(text.endswith("?") for text in whole):
            parts = [(query, f"{said} {label}".strip(), "") for query, label, said in parts]
    present = np.empty(len(parts))
    for i, (_, _, said) in enumerate(parts):
        value = answer_of(said) if said else None
        if value is None and "?" not in rows.data["label"][i]:
            value = UNREADABLE
        present[i] = -np.inf if value is None else value
        if value == UNREADABLE:
            text = quoted(rows.data["label"][i])
            rows.source.fail(
                rows.places[i], "label", f"{text} holds no answer; write yes, no or unsure behind the question"
            )
    rows.data |= {
        "query": [query for query, _, _ in parts],
        "label": [label or "event" for _, label, _ in parts],
        "present": present,
        "annotator": [""] * len(parts),
        "seconds": np.full(len(parts), np.nan),
    }
    rows.keep(~np.isposinf(present))
    waiting = np.isneginf(rows.data["present"])
    if waiting.any():
        rows.source.note(f"{rows.source.name}: {counted(int(waiting.sum()), 'question')} not answered yet and left out")
        rows.keep(~waiting, why="not answered yet")


def _one(frame: pd.DataFrame, name: str, path: Path) -> list[str]:
    found: list[str] = []
    labels = plain_fields(texts_of(frame, "label"), found, "labels")
    low, high = texts_of(frame, "low_frequency"), texts_of(frame, "high_frequency")
    lines = []
    for row in zip(exact(frame["onset"]), exact(frame["offset"]), labels, low, high):
        lines.append("\t".join(row[:3]) + "\n")
        if row[3] and row[4]:
            lines.append(f"\\\t{row[3]}\t{row[4]}\n")
    save(path, lines)
    return found


def write(events: Events, path: Path) -> list[str]:
    """One track per recording; an empty file is an empty recording."""
    found = losses(events, empty=True, extra=("low_frequency", "high_frequency"))
    asked = sum(bool(_ASKED.search(label)) for label in events.labels)
    if asked:
        found.append(f"that {counted(asked, 'label')} with a question mark or an id are no questions")
    return found + per_recording(events, path, ending=".txt", one=_one, kind="Audacity")


def write_answers(answers: Answers, path: Path) -> list[str]:
    """One track per recording with a question and its answer as the text: ``query dog? yes``."""
    frame = answers.to_frame()
    if frame["onset"].isna().any():
        raise InvalidInput("audacity: the answers do not say where their segments are")
    words = {1.0: "yes", 0.0: "no"}
    text = [
        f"{q} {c}? {words.get(v, 'unsure')}".strip()
        for q, c, v in zip(frame["query"], frame["label"], frame["present"])
    ]
    lengths: dict[Any, float] = answers.recordings["length"].dropna().to_dict()
    tracks = Events.from_frame(frame.assign(label=text)[["recording", "onset", "offset", "label"]],
                               recordings=list(answers.recordings.index), recording_length=lengths)  # fmt: skip
    found = [words for words in answer_losses(answers, held=("query",)) if "without answers" not in words]
    return found + per_recording(tracks, path, ending=".txt", one=_one, kind="Audacity")


def sniff_lab(source: Source) -> bool:
    """Rows of two numbers and words, separated by spaces."""
    rows = [line.split(maxsplit=2) for line in source.head]
    return "\t" not in source.text[:4096] and bool(rows) and all(
        len(row) == 3 and is_number(row[0]) and is_number(row[1]) for row in rows
    )  # fmt: skip


def sniff_triples(source: Source) -> bool:
    """Rows of two numbers, the second no smaller, and a text, separated by commas or semicolons."""
    rows = [line.split(source.delimiter, 2) for line in source.head]
    return source.delimiter != "\t" and bool(rows) and all(
        len(row) == 3 and is_number(row[0]) and is_number(row[1]) and float(row[1]) >= float(row[0])
        and not is_number(row[2]) for row in rows
    )  # fmt: skip


def read_spans(source: Source, *, spaced: bool) -> TextRows:
    """Start, end and label of each line, perhaps a confidence: seconds, or the units of 100 ns that HTK writes."""
    sign = None if spaced else source.delimiter
    found = Lines.split(source, 3, lambda text: text.split(sign, 2), "has {} fields; a label is start, end and text")
    start, end = found.numbers(0, "start"), found.numbers(1, "end")
    times = [*found.columns[0], *found.columns[1]]
    whole = spaced and bool(times) and all(text.isdigit() for text in times)
    if whole and source.path.suffix.lower() in (".phn", ".wrd") and "rate" not in source.columns:
        raise InvalidInput(f"{source.name}: its times are sample numbers: --columns rate=16000 (TIMIT's)")
    unit = "seconds"
    if whole and max(map(int, times)) >= 1_000_000:
        start, end, unit = np.round(start * 1e-7, 9), np.round(end * 1e-7, 9), "units of 100 ns"
        source.note(f"{source.name}: whole numbers this large are HTK's units of 100 ns")
    label = [text.strip().strip('"') for text in found.columns[2]]
    parts = [text.rsplit(sign, 1) for text in label]
    scored = bool(parts) and all(len(part) == 2 and "." in part[1] and is_number(part[1]) for part in parts)
    label = [part[0].strip() for part in parts] if scored else label
    rows = TextRows.of(source, found.places, source.stem(*_ENDING), start, end, label)
    if scored:
        rows.data["confidence"] = np.array([float(part[1]) for part in parts])
    k = len(set(rows.checked().data["label"]))
    told, which = ", confidence = the last field" if scored else "", "the words" if spaced else "the third field"
    return rows.say(f"recording = the file's name (1), label = {which} ({k}), time in {unit}{told}")


def write_lab(events: Events, path: Path) -> list[str]:
    """One file of starts, ends and words per recording."""

    def one(frame: pd.DataFrame, name: str, target: Path) -> list[str]:
        lost: list[str] = []
        labels = plain_fields(texts_of(frame, "label"), lost, "labels")
        clean = [" ".join(label.split()) for label in labels]
        if any(a != b or not b for a, b in zip(texts_of(frame, "label"), clean)):
            lost.append("outer and double spaces of labels, and labels without a word")
        rows = zip(exact(frame["onset"]), exact(frame["offset"]), clean)
        save(target, [f"{a} {b} {c or 'event'}\n" for a, b, c in rows])
        return lost

    return losses(events, empty=True) + per_recording(events, path, ending=".lab", one=one, kind="lab")


def sniff_pairs(source: Source) -> bool:
    """Rows of two numbers, the second an end: most are greater, and a number or a pitch beside each time is none."""
    rows = [_fields(line) for line in source.head]
    if not rows or not all(len(row) == 2 and is_number(row[0]) and is_number(row[1]) for row in rows):
        return False
    over = sum(float(b[0]) < float(a[1]) for a, b in pairwise(rows))
    short = sum(float(b) < float(a) for a, b in rows)
    return over <= 0.5 * (len(rows) - 1) and short <= 0.5 * len(rows) and not is_beats(rows)


def _fields(line: str) -> list[str]:
    return [part.strip() for part in re.split(r"[,;\t]", line)] if re.search(r"[,;\t]", line) else line.split()


def is_beats(rows: Sequence[Sequence[str]]) -> bool:
    """Whether second numbers count beats: small whole numbers, from 1 on, that start again."""
    second = [row[1] for row in rows]
    if len(rows) < 2 or not all(text.isdigit() and int(text) < 20 for text in second):
        return False
    steps = {int(b) - int(a) for a, b in pairwise(second)}
    return 1 in steps and (min(steps) < 0 or "1" in second[:2]) and any("." in row[0] for row in rows)


def read_pairs(source: Source) -> TextRows:
    """The events of one NIGENS file: its class is the folder's name."""
    found = Lines.split(source, 2, _fields, "has {} fields; a NIGENS line is start and end")
    recording, label = source.stem(r"\.txt$"), source.label or source.path.resolve().parent.name or "event"
    rows = TextRows.of(source, found.places, recording, found.numbers(0, "start"), found.numbers(1, "end"), label)
    source.own = ""  # the same name in two folders is one recording with two classes
    return rows.checked().say(f"recording = the file's name (1), label = the folder's name {label!r}, time in seconds")


def write_pairs(events: Events, path: Path) -> list[str]:
    """One file of starts and ends per recording."""

    def one(frame: pd.DataFrame, name: str, target: Path) -> list[str]:
        save(target, [f"{a} {b}\n" for a, b in zip(exact(frame["onset"]), exact(frame["offset"]))])
        return []

    found = losses(events, empty=True, label=False)
    folder = path if path.is_dir() or not path.suffix else path.parent
    if events.labels == [folder.resolve().name]:
        found = [words for words in found if words != "the column label"]
    elif len(events.labels) > 1:
        found.append(f"which of {counted(len(events.labels), 'label')} an event has")
    return found + per_recording(events, path, ending=".txt", one=one, kind="NIGENS")


def first_is_label(source: Source, names: Sequence[str], *, told: bool) -> bool:
    """Whether the words before two times are labels: so it was said; where they may be, it is asked."""
    if source.columns.get("recording") == "@file" and not told:
        return True
    if names and not told and not any(re.search(r"[\d.]", name) for name in names):
        words = f"the first word of a line ({quoted(names[0])}) is taken as the recording"
        source.note(f"{source.name}: {words}: --columns recording=@file if it is the label")
    return False


_LISTED = re.compile(r"^\s*(\S+)\s+([\d.]+)\s+([\d.]+)\s*(?:##\s*(.*))?$")


def sniff_listed(source: Source) -> bool:
    """Lines of a name, two numbers and perhaps a sentence behind ##."""
    rows = [_LISTED.match(line) for line in source.head]
    return bool(rows) and all(row and not is_number(row[1]) and is_number(row[2]) and is_number(row[3]) for row in rows)


def read_listed(source: Source) -> TextRows:
    """The segments of a list of videos; the class stands behind ##, else it is the file's name (Diving_val: Diving)."""
    found, n = Lines(source, 4), 0
    for line, text in source.lines():
        match, n = _LISTED.match(text), n + 1
        if match is None:
            source.fail(line, "", f"{quoted(text)} is not a name, a start and an end")
        else:
            found.add(line, match[1], match[2], match[3], match[4] or "")
    source.n_rows = n
    name = re.sub(r"[_-](val|validation|test|testing|train|training)$", "", source.path.stem)
    told = any(found.columns[3])
    if first_is_label(source, found.columns[0], told=told):
        found.columns[0], found.columns[3], told = [source.stem()] * len(found.places), found.columns[0], True
    onset = found.numbers(1, "start")
    onset[found.short([3 + bool(text) for text in found.columns[3]])] = np.inf
    label = found.columns[3] if told else [source.label or name] * len(found.places)
    rows = TextRows.of(source, found.places, found.columns[0], onset, found.numbers(2, "end"), label)
    n, k = len(set(found.columns[0])), len(set(label))
    which = "the words behind ##" if told else "the file's name"
    return rows.checked().say(f"recording = the first word ({n}), label = {which} ({k}), time in seconds")


_NO_TURN = "SPKR-INFO LEXEME NON-LEX NON-SPEECH FILLER EDIT SU IP CB A/P NOSCORE NO_RT_METADATA SEGMENT"
_OTHERS = frozenset(_NO_TURN.split())


def sniff_rttm(source: Source) -> bool:
    """Lines of at least eight words that begin with SPEAKER."""
    rows = [line.split() for line in source.head if not line.startswith(";;")]
    return bool(rows) and rows[0][0] in ("SPEAKER", "SPKR-INFO") and all(
        row[0] in _OTHERS or (row[0] == "SPEAKER" and len(row) >= 8 and is_number(row[3])) for row in rows[:20]
    )  # fmt: skip


def read_rttm(source: Source) -> TextRows:
    """The turns; lines of other types hold no turns and are passed over."""
    found = Lines(source, 6)
    others: set[int | str] = set()
    widths: list[int] = []
    lines = [(line, text.split()) for line, text in source.lines() if not text.lstrip().startswith(";;")]
    source.n_rows = len(lines)
    for line, fields in lines:
        if fields[0] in _OTHERS:
            others.add(line)
        elif fields[0] != "SPEAKER" or not 8 <= len(fields) <= 10:
            got = f"got {len(fields)}, {quoted(fields[0])}"
            source.fail(line, "", f"a turn has 8 to 10 words, the first SPEAKER; {got}")
        else:
            score = "" if len(fields) < 9 or fields[8] == "<NA>" else fields[8]
            found.add(line, fields[1], fields[3], fields[4], fields[7], score, fields[2])
            widths.append(len(fields))
    onset = found.numbers(1, "onset")
    onset[found.short(widths)] = np.inf
    end = ending(onset, found.numbers(2, "duration"))
    rows = TextRows.of(source, found.places, found.columns[0], onset, end, found.columns[3])
    if any(found.columns[4]):
        rows.data["confidence"] = found.numbers(4, "confidence")
    if len(set(found.columns[5])) > 1:
        rows.data["channel"] = found.columns[5]
    rows.merged = {"no turn": others} if others else {}
    n, k = len(set(found.columns[0])), len(set(found.columns[3]))
    return rows.checked().say(f"recording = the second word ({n}), label = the speaker ({k}), time in seconds")


def _word(value: str) -> str:
    return re.sub(r"\s+", "_", value) or "<NA>"


def write_rttm(events: Events, path: Path) -> list[str]:
    """One line per event; words cannot hold spaces, so these become underscores."""
    frame = events.to_frame()
    found = losses(events, empty=False, extra=("confidence",)) + inexact(frame["onset"], frame["offset"])
    words = {value: _word(value) for value in {*frame["recording"], *frame["label"]}}
    changed = sorted(value for value, word in words.items() if word != value)
    if changed:
        found.append(f"spaces in {counted(len(changed), 'name')} (first {changed[0][:40]!r}), written as underscores")
    names, labels = (map(words.__getitem__, frame[name]) if changed else frame[name] for name in ("recording", "label"))
    lengths = exact(duration(frame["onset"], frame["offset"]))
    score = [text or "<NA>" for text in texts_of(frame, "confidence")]
    rows = zip(names, exact(frame["onset"]), lengths, labels, score)
    save(path, map("SPEAKER %s 1 %s %s <NA> <NA> %s %s <NA>\n".__mod__, rows))
    return found


def sniff_uem(source: Source) -> bool:
    """Lines of a file, a channel and two numbers, separated by spaces."""
    rows = [line.split() for line in source.head if not line.startswith(";;")]
    tabbed = any("\t" in line or "," in line for line in source.head) and source.path.suffix.lower() != ".uem"
    return not tabbed and bool(rows) and all(
        len(row) == 4 and is_number(row[2]) and is_number(row[3]) and re.fullmatch(r"\d|NA|<NA>|[A-Z]", row[1])
        for row in rows
    )  # fmt: skip


def read_uem(source: Source) -> TextRows:
    """The stretches that were examined, as events of the class "examined"; give them as ``examined``."""
    wrong = "has {} words; a UEM line is file, channel, start and end"
    found = Lines.split(source, 4, str.split, wrong, comment=";;")
    times = found.numbers(2, "start"), found.numbers(3, "end")
    rows = TextRows.of(source, found.places, found.columns[0], *times, "examined")
    n = len(set(found.columns[0]))
    return rows.checked().say(f"recording = the first word ({n}), stretches that were examined")


def write_uem(events: Events, path: Path) -> list[str]:
    """One line per event, whatever its class."""
    frame = events.to_frame()
    found = losses(events, empty=False, label=events.labels in ([], ["examined"]))
    words = {value: _word(value) for value in set(frame["recording"])}
    if any(word != value for value, word in words.items()):
        found.append("spaces in names of recordings, written as underscores")
    rows = zip(frame["recording"], exact(frame["onset"]), exact(frame["offset"]))
    save(path, [f"{words[r]} 1 {a} {b}\n" for r, a, b in rows])
    return found


def sniff_mne(source: Source) -> bool:
    """The line that MNE's text annotations begin with."""
    return bool(source.head) and source.head[0].strip().lower().startswith("# mne-annotations")


def read_mne(source: Source) -> TextRows:
    """Onset, duration and description of each line; those without a duration are points."""
    wrong = "has {} fields; an annotation is onset, duration, description"
    found = Lines.split(source, 3, lambda text: [part.strip() for part in text.split(",", 2)], wrong, comment="#")
    onset = found.numbers(0, "onset")
    end = ending(onset, found.numbers(1, "duration"))
    name = source.stem(r"[-_.]?annot(ations)?\.txt$", r"-annot\.txt$", r"\.txt$")
    rows = TextRows.of(source, found.places, name, onset, end, found.columns[2])
    told = f"label = description ({len(set(found.columns[2]))}), time = onset + duration in seconds"
    return rows.checked().say(f"recording = the file's name (1), {told}")


def write_mne(events: Events, path: Path) -> list[str]:
    """One file per recording: a line of names, then onset, duration, description."""

    def one(frame: pd.DataFrame, name: str, target: Path) -> list[str]:
        lost: list[str] = []
        labels = plain_fields(texts_of(frame, "label"), lost, "labels")
        if any(label != label.strip() for label in labels):
            lost.append("spaces around labels")
        lengths = exact(duration(frame["onset"], frame["offset"]))
        rows = (f"{a},{d},{c}\n" for a, d, c in zip(exact(frame["onset"]), lengths, labels))
        save(target, ["# MNE-Annotations\n# onset, duration, description\n", *rows])
        return lost

    frame = events.to_frame()
    found = losses(events, empty=True) + inexact(frame["onset"], frame["offset"])
    return found + per_recording(events, path, ending=".txt", one=one, kind="MNE text")


READERS = (
    Format("rttm", "RTTM (SPEAKER file 1 onset duration ... label)", sniff_rttm, read_rttm, write_rttm,
           endings=(".rttm",)),
    Format("uem", "UEM, the stretches that were examined (file 1 start end)", sniff_uem, read_uem, write_uem,
           endings=(".uem",)),
    Format("mne", "MNE annotations as text (onset, duration, description)", sniff_mne, read_mne, write_mne),
)  # fmt: skip
TRACKS = (
    Format("audacity", "Audacity label track (start, end, label), also with answers (dog? yes)", sniff, read, write,
           write_answers, endings=(".txt",)),
    Format("lab", "label file (start end label, separated by spaces; HTK's units too)", sniff_lab,
           partial(read_spans, spaced=True), write_lab, endings=(".lab",)),
    Format("thumos", "list of videos (name start end; the class is the file's name, or stands behind ##)", sniff_listed,
           read_listed),
    Format("nigens", "NIGENS text (start end; the class is the folder)", sniff_pairs, read_pairs, write_pairs),
    Format("triples", "start, end, label without a line of names, by commas", sniff_triples,
           partial(read_spans, spaced=False)),
)  # fmt: skip
