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
from .table import ColumnTable, TextRows
from .times import duration, ending
from .vocabulary import UNREADABLE, answer_of, is_number, numbers, split_answer

_ENDING = (r"\.BirdNET\.results\.txt$", r"\.audacity\.txt$", r"\.labels\.txt$", r"\.txt$", r"\.lab$")
_ASKED = re.compile(r"(^|\s)[0-9a-f]{12}(\s|$)|\?")


def lines_of(
    source: Source, names: Sequence[str], fields_of: Callable[[str], Sequence[str]], *, comment: str = "\0"
) -> ColumnTable:
    """The lines that are no comments, as a table; one with more or fewer fields is dealt with as in any table."""
    some = [(list(fields_of(text)), line) for line, text in source.lines() if not text.lstrip().startswith(comment)]
    return ColumnTable.of(source, list(names), [([fields for fields, _ in some], [line for _, line in some])])


def sniff(source: Source) -> bool:
    """Rows of two numbers, the second no smaller, and a text, separated by tabs; lines of frequencies between them."""
    rows = [line.split("\t") for line in source.head if not line.startswith("\\")]
    if not rows or not all(len(row) in (3, 4) and is_number(row[0]) and is_number(row[1]) for row in rows):
        return False
    return sum(float(row[1]) >= float(row[0]) for row in rows) > 0.5 * len(rows)


def read(source: Source) -> TextRows:
    """The labels of one track; the file's name stands for the recording."""
    some: list[list[str]] = []
    lines: list[int] = []
    bands: dict[int | str, list[str]] = {}
    broken = 0
    for line, text in source.lines():
        fields = text.split("\t")
        if fields[0] == "\\" and len(fields) == 3 and lines and lines[-1] not in bands:
            bands[lines[-1]] = fields[1:]
        elif fields[0] == "\\" or not 2 <= len(fields) <= 4:
            words = "a line of frequencies needs two numbers and stands below its label"
            told = f"has {len(fields)} fields; a label is start, end and text, separated by tabs"
            source.fail(line, "", words if fields[0] == "\\" else told)
            broken += 1
        else:
            some.append(fields)
            lines.append(line)
    table = ColumnTable.of(source, ["start", "end", "label", "more"][: max(map(len, some), default=3)], [(some, lines)])
    source.n_rows = len(lines) + broken
    recording, places = source.stem(*_ENDING), table.lines
    label, more = table.columns.get("label", [source.label or "event"] * len(table)), table.columns.get("more", [])
    rows = TextRows.of(source, places, recording, table.numbers("start"), table.numbers("end"), label)
    if any(more):  # BirdNET's confidence, or what somebody noted
        numeric = all(is_number(text) for text in more if text)
        rows.data |= {"confidence": table.numbers("more")} if numeric else {"comment": more}
    if bands:
        for name, k in (("low_frequency", 0), ("high_frequency", 1)):
            rows.data[name] = numbers(source, [bands.get(line, ("", ""))[k] for line in places], places, name)
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
    table = lines_of(source, ("start", "end", "label"), lambda text: text.split(sign, 2))
    start, end = table.numbers("start"), table.numbers("end")
    times = [*table.columns["start"], *table.columns["end"]]
    whole = spaced and bool(times) and all(text.isdigit() for text in times)
    if whole and source.path.suffix.lower() in (".phn", ".wrd") and "rate" not in source.columns:
        raise InvalidInput(f"{source.name}: its times are sample numbers: --columns rate=16000 (TIMIT's)")
    unit = "seconds"
    if whole and max(map(int, times)) >= 1_000_000:
        start, end, unit = np.round(start * 1e-7, 9), np.round(end * 1e-7, 9), "units of 100 ns"
        source.note(f"{source.name}: whole numbers this large are HTK's units of 100 ns")
    label = [text.strip().strip('"') for text in table.columns["label"]]
    parts = [text.rsplit(sign, 1) for text in label]
    scored = bool(parts) and all(len(part) == 2 and "." in part[1] and is_number(part[1]) for part in parts)
    label = [part[0].strip() for part in parts] if scored else label
    rows = TextRows.of(source, table.lines, source.stem(*_ENDING), start, end, label)
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
    table = lines_of(source, ("start", "end"), _fields)
    recording, label = source.stem(r"\.txt$"), source.label or source.path.resolve().parent.name or "event"
    rows = TextRows.of(source, table.lines, recording, table.numbers("start"), table.numbers("end"), label)
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

    def fields_of(text: str) -> list[str]:
        match = _LISTED.match(text)
        return [text] if match is None else [part for part in match.groups() if part is not None]

    told = any("##" in line for line in source.head)
    table = lines_of(source, ["name", "start", "end", "label"][: 3 + told], fields_of)
    times, names = (table.numbers("start"), table.numbers("end")), table.columns["name"]
    name = re.sub(r"[_-](val|validation|test|testing|train|training)$", "", source.path.stem)
    label = table.columns.get("label", [source.label or name] * len(table))
    if first_is_label(source, names, told=told):
        names, label, told = [source.stem()] * len(table), names, True
    n, k, which = len(set(names)), len(set(label)), "the words behind ##" if told else "the file's name"
    rows = TextRows.of(source, table.lines, names, *times, label).checked()
    return rows.say(f"recording = the first word ({n}), label = {which} ({k}), time in seconds")


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
    lines = [(line, text.split()) for line, text in source.lines() if not text.lstrip().startswith(";;")]
    turns = []
    for line, fields in lines:
        if fields[0] == "SPEAKER" and 8 <= len(fields) <= 10:
            turns.append((line, fields))
        elif fields[0] not in _OTHERS:
            got = f"got {len(fields)}, {quoted(fields[0])}"
            source.fail(line, "", f"a turn has 8 to 10 words, the first SPEAKER; {got}")
    width = max((len(fields) for _, fields in turns), default=8)
    names = ["type", "recording", "channel", "onset", "duration", "words", "subtype", "speaker", "confidence", "ahead"]
    table = ColumnTable.of(source, names[:width], [([fields for _, fields in turns], [line for line, _ in turns])])
    source.n_rows, recording, speaker = len(lines), table.columns["recording"], table.columns["speaker"]
    onset = table.numbers("onset")
    end = ending(onset, table.numbers("duration"))
    rows = TextRows.of(source, table.lines, recording, onset, end, speaker)
    if set(table.columns.get("confidence", ())) - {"<NA>"}:
        rows.data["confidence"] = table.numbers("confidence")
    if len(set(table.columns["channel"])) > 1:
        rows.data["channel"] = table.columns["channel"]
    others: set[int | str] = {line for line, fields in lines if fields[0] in _OTHERS}
    rows.merged = {"no turn": others} if others else {}
    n, k = len(set(recording)), len(set(speaker))
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
    table = lines_of(source, ("file", "channel", "start", "end"), str.split, comment=";;")
    times, names = (table.numbers("start"), table.numbers("end")), table.columns["file"]
    rows, n = TextRows.of(source, table.lines, names, *times, "examined"), len(set(names))
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
    names = ("onset", "duration", "description")
    table = lines_of(source, names, lambda text: [part.strip() for part in text.split(",", 2)], comment="#")
    onset, label = table.numbers("onset"), table.columns["description"]
    end = ending(onset, table.numbers("duration"))
    name = source.stem(r"[-_.]?annot(ations)?\.txt$", r"-annot\.txt$", r"\.txt$")
    rows = TextRows.of(source, table.lines, name, onset, end, label)
    told = f"label = description ({len(set(label))}), time = onset + duration in seconds"
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
