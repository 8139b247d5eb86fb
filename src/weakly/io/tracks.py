"""Lines without names: Audacity and .lab label tracks, NIGENS, RTTM, UEM, and MNE's text annotations.

An Audacity track may hold answers: where its labels are questions (``query dog?``), the annotator types ``yes``, ``no``
or ``unsure`` behind, before or in place of the question mark; a label that cannot be read as an answer is a broken row.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
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
from .formats import EMPTY, UNDERSCORES, Format, columns_of, inexact, losses, per_recording, plain_fields, save
from .source import Source, quoted
from .table import ColumnTable, TextRows
from .times import duration, ending
from .vocabulary import CLEAR, UNREADABLE, answer_of, is_number, numbers

_ENDING = (r"\.BirdNET\.results\.txt$", r"\.audacity\.txt$", r"\.labels\.txt$", r"\.txt$", r"\.lab$")
_ASKED = re.compile(r"(^|\s)[0-9a-f]{12}(\s|$)|\?")
_QUERY = re.compile(r"\b[0-9a-f]{12}\b")
_BESIDE = CLEAR | {"+", "-", "?", "??", "1", "0"}
OWN = "the file's name"
NUMBER = r"\s*[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?\s*"


def lines_of(
    source: Source, names: Sequence[str], fields_of: Callable[[str], Sequence[str]], *, comment: str = "\0"
) -> ColumnTable:
    """The lines that are no comments, as a table; one with more or fewer fields is dealt with as in any table."""
    some = [(list(fields_of(text)), line) for line, text in source.lines() if not text.lstrip().startswith(comment)]
    return ColumnTable.of(source, list(names), [([fields for fields, _ in some], [line for _, line in some])])


def _spans(table: ColumnTable, recording: Any, label: Any) -> TextRows:
    """The rows of a table with the columns start and end, or onset and duration."""
    onset = table.numbers("start" if "start" in table.columns else "onset")
    end = table.numbers("end") if "end" in table.columns else ending(onset, table.numbers("duration"))
    return TextRows.of(table.source, table.lines, recording, onset, end, label)


def _is_span(row: Sequence[str], *, ordered: bool = False) -> bool:
    """Whether fields begin with two numbers, of which, if asked, the second is no smaller."""
    return is_number(row[0]) and is_number(row[1]) and (not ordered or float(row[1]) >= float(row[0]))


def sniff(source: Source) -> bool:
    """Rows of two numbers, the second no smaller, and a text, separated by tabs; lines of frequencies between them."""
    rows = [line.split("\t") for line in source.head if not line.startswith("\\")]
    spans = all(len(row) in (3, 4) and _is_span(row) for row in rows)
    return spans and sum(float(row[1]) >= float(row[0]) for row in rows) > 0.5 * len(rows)


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
    label, more = table.columns.get("label", [source.label or "event"] * len(table)), table.columns.get("more", [])
    rows, places = _spans(table, source.stem(*_ENDING), label), table.lines
    if any(more):  # BirdNET's confidence, or what somebody noted
        numeric = all(is_number(text) for text in more if text)
        rows.data |= {"confidence": table.numbers("more")} if numeric else {"comment": more}
    for k, name in enumerate(("low_frequency", "high_frequency") if bands else ()):
        rows.data[name] = numbers(source, [bands.get(line, ("", ""))[k] for line in places], places, name)
    asked = places and sum(bool(_ASKED.search(text)) for text in label) > 0.5 * len(label)
    if asked:
        _questions(rows)
    told = "answers = the words beside the questions" if asked else ""
    return rows.checked().say(OWN, "the track's texts", "time in seconds", told)


def _questions(rows: TextRows) -> None:
    """Turn labels that are questions into answers; which words belong to the label is seen from all of them."""
    texts = rows.data["label"]
    parts = [split_answer(text) for text in texts]
    known = sorted({label for (_, label, _), text in zip(parts, texts) if "?" in text and label}, key=len)[::-1]
    for i, text in enumerate(texts):  # "dog note absent": other texts tell that the label is dog
        asked = next((label for label in known if f" {label} " in f" {text} "), None) if "?" not in text else None
        parts[i] = split_answer(text, asked) if asked else parts[i]
    words = {text.lower() for _, _, text in parts}
    if len(parts) > 1 and len(words) == 1 and "" not in words and all(text.rstrip().endswith("?") for text in texts):
        parts = [(query, f"{said} {label}".strip(), "") for query, label, said in parts]  # "no call?" everywhere
    present = np.empty(len(parts))
    for i, (_, _, said) in enumerate(parts):
        value = answer_of(said)
        present[i] = value if value is not None else -np.inf if "?" in texts[i] else UNREADABLE
        if present[i] == UNREADABLE:
            told = f"{quoted(texts[i])} holds no answer; write yes, no or unsure behind the question"
            rows.source.fail(rows.places[i], "label", told)
    rows.data |= dict(zip(("query", "label"), ([part[k] for part in parts] for k in (0, 1))))
    rows.data["label"] = [label or "event" for label in rows.data["label"]]
    rows.data |= {"present": present, "annotator": [""] * len(parts), "seconds": np.full(len(parts), np.nan)}
    rows.keep(~np.isposinf(present))
    waiting = np.isneginf(rows.data["present"])
    if waiting.any():
        rows.source.note(f"{counted(int(waiting.sum()), 'question')} not answered yet and left out")
        rows.keep(~waiting, why="not answered yet")


def split_answer(text: str, label: str | None = None) -> tuple[str, str, str]:
    """The query, the label and the answer that one text of a label track holds; empty what is not there.

    A campaign writes ``query label?``; the annotator adds a word behind it, before it, or in place of the question
    mark: ``dog? yes``, ``n dog?``, ``dog absent``, ``dog ??``. A known ``label`` is taken out before words are sought.

    >>> split_answer("0123456789ab dog? yes"), split_answer("n dog?"), split_answer("big dog absent")
    (('0123456789ab', 'dog', 'yes'), ('', 'dog', 'n'), ('', 'big dog', 'absent'))
    """
    match = _QUERY.search(text)
    query = match.group() if match else ""
    rest = " ".join(_QUERY.sub(" ", text, count=1).split()) if match else text.strip()
    if label and label.strip() and label in rest:
        before, _, after = rest.partition(label)
        asked = after.lstrip().startswith("?")
        said = f"{before} {after.lstrip().removeprefix('?')}".strip()
        return query, label, said if said or asked else rest
    asked = "?" in rest
    if asked:
        head, _, tail = rest.partition("?")
        if tail.strip():
            return query, head.strip(), tail.strip()
        rest = head.strip()
    first, _, more = rest.partition(" ")
    before, _, last = rest.rpartition(" ")
    if not asked and last.lower() in _BESIDE:  # also alone
        return query, before.strip(), last
    if first.lower().rstrip(":,") in _BESIDE and more:
        return query, more.strip(), first if asked else first.rstrip(":,")
    return query, rest, ""


def _track(frame: pd.DataFrame, _: str, lost: list[str]) -> Iterator[str]:
    onset, offset, labels, *band = columns_of(frame, "onset", "offset", "label", "low_frequency", "high_frequency")
    for start, end, label, low, high in zip(onset, offset, plain_fields(labels, lost, "label"), *band):
        yield f"{start}\t{end}\t{label}\n" + (f"\\\t{low}\t{high}\n" if low and high else "")


def write(events: Events, path: Path) -> list[str]:
    """One track per recording; an empty file is an empty recording."""
    found = losses(events, "label", EMPTY, "low_frequency", "high_frequency")
    asked = sum(bool(_ASKED.search(label)) for label in events.labels)
    if asked:
        found.append(f"that {counted(asked, 'label')} with a question mark or an id are no questions")
    return per_recording(events, path, found, ending=".txt", kind="Audacity", text=_track)


def write_answers(answers: Answers, path: Path) -> list[str]:
    """One track per recording with a question and its answer as the text: ``query dog? yes``."""
    frame, words = answers.to_frame(), {1.0: "yes", 0.0: "no"}
    if frame["onset"].isna().any():
        raise InvalidInput("audacity: the answers do not say where their segments are")
    asked = zip(frame["query"], frame["label"], frame["present"])
    text = [f"{query} {label}? {words.get(present, 'unsure')}".strip() for query, label, present in asked]
    lengths: dict[Any, float] = answers.recordings["length"].dropna().to_dict()
    tracks = Events.from_frame(frame.assign(label=text)[["recording", "onset", "offset", "label"]],
                               recordings=list(answers.recordings.index), recording_length=lengths)  # fmt: skip
    lost = losses(answers, "query", EMPTY)
    return per_recording(tracks, path, lost, ending=".txt", kind="Audacity", text=_track)


def sniff_triples(source: Source) -> bool:
    """Rows of two numbers, the second no smaller, and a text, separated by commas or semicolons."""
    rows = [line.split(source.delimiter, 2) for line in source.head]
    whole = all(len(row) == 3 and _is_span(row, ordered=True) and not is_number(row[2]) for row in rows)
    return source.delimiter != "\t" and bool(rows) and whole


def read_spans(source: Source, *, spaced: bool) -> TextRows:
    """Start, end and label of each line, perhaps a confidence: seconds, or the units of 100 ns that HTK writes."""
    sign = None if spaced else source.delimiter
    table = lines_of(source, ("start", "end", "label"), lambda text: text.split(sign, 2))
    times = [*table.columns["start"], *table.columns["end"]]
    whole = spaced and bool(times) and all(text.isdecimal() for text in times)
    if whole and source.path.suffix.lower() in (".phn", ".wrd") and "rate" not in source.columns:
        raise source.error("its times are sample numbers: --columns rate=16000 (TIMIT's)")
    label = [text.strip().strip('"') for text in table.columns["label"]]
    parts = [text.rsplit(sign, 1) for text in label]
    scored = bool(parts) and all(len(part) == 2 and "." in part[1] and is_number(part[1]) for part in parts)
    rows = _spans(table, source.stem(*_ENDING), [part[0].strip() for part in parts] if scored else label)
    unit = "seconds"
    if whole and max(map(int, times)) >= 1_000_000:
        rows.data |= {name: np.round(rows.data[name] * 1e-7, 9) for name in ("onset", "offset")}
        unit = "units of 100 ns"
        source.note("whole numbers this large are HTK's units of 100 ns")
    if scored:
        rows.data["confidence"] = np.array([float(part[1]) for part in parts])
    told = "confidence = the last field" if scored else ""
    return rows.checked().say(OWN, "the words" if spaced else "the third field", f"time in {unit}", told)


def sniff_pairs(source: Source) -> bool:
    """Rows of two numbers, the second an end: most are greater, and a number or a pitch beside each time is none."""
    rows = [_fields(line) for line in source.head]
    if is_beats(rows) or not rows or not all(len(row) == 2 and _is_span(row) for row in rows):
        return False
    over = sum(float(b[0]) < float(a[1]) for a, b in pairwise(rows))
    short = sum(float(b) < float(a) for a, b in rows)
    return over <= 0.5 * (len(rows) - 1) and short <= 0.5 * len(rows)


def _fields(line: str) -> list[str]:
    return [part.strip() for part in re.split(r"[,;\t]", line)] if re.search(r"[,;\t]", line) else line.split()


def is_beats(rows: Sequence[Sequence[str]]) -> bool:
    """Whether second numbers count beats: small whole numbers, from 1 on, that start again."""
    second = [row[1] for row in rows if len(row) > 1]
    if len(second) < max(2, len(rows)) or not all(text.isdecimal() and int(text) < 20 for text in second):
        return False
    steps = {int(b) - int(a) for a, b in pairwise(second)}
    return 1 in steps and (min(steps) < 0 or "1" in second[:2]) and any("." in row[0] for row in rows)


def read_pairs(source: Source) -> TextRows:
    """The events of one NIGENS file: its class is the folder's name."""
    table = lines_of(source, ("start", "end"), _fields)
    label = source.label or source.path.resolve().parent.name or "event"
    rows = _spans(table, source.stem(r"\.txt$"), label).checked()
    source.own = ""  # the same name in two folders is one recording with two classes
    return rows.say(OWN, f"the folder's name {label!r}", "time in seconds")


def first_is_label(source: Source, names: Sequence[str], *, told: bool) -> bool:
    """Whether the words before two times are labels: so it was said; where they may be, it is asked."""
    if source.columns.get("recording") == "@file" and not told:
        return True
    if names and not told and not any(re.search(r"[\d.]", name) for name in names):
        words = f"the first word of a line ({quoted(names[0])}) is taken as the recording"
        source.note(f"{words}: --columns recording=@file if it is the label")
    return False


# A name, two numbers and perhaps a sentence behind ##.
_LISTED = re.compile(rf"\s*(?!{NUMBER}\s)(\S+)\s+(\d+\.?\d*|\.\d+)\s+(\d+\.?\d*|\.\d+)\s*(?:##\s*(.*))?")


def read_listed(source: Source) -> TextRows:
    """The segments of a list of videos; the class stands behind ##, else it is the file's name (Diving_val: Diving)."""

    def fields_of(text: str) -> list[str]:
        match = _LISTED.fullmatch(text)
        return [text] if match is None else [part for part in match.groups() if part is not None]

    told = any("##" in line for line in source.head)
    table = lines_of(source, ["name", "start", "end", "label"][: 3 + told], fields_of)
    names, name = table.columns["name"], re.sub(r"[_-](val|test|train)(idation|ing)?$", "", source.path.stem)
    label, which = table.columns.get("label", [source.label or name] * len(table)), "the words behind ##"
    if first_is_label(source, names, told=told):
        names, label, told = [source.stem()] * len(table), names, True
    return _spans(table, names, label).checked().say("the first word", which if told else OWN, "time in seconds")


_NO_TURN = "SPKR-INFO LEXEME NON-LEX NON-SPEECH FILLER EDIT SU IP CB A/P NOSCORE NO_RT_METADATA SEGMENT"
_OTHERS = frozenset(_NO_TURN.split())
_TURN = re.compile(rf";;.*|({_NO_TURN.replace(' ', '|')})\b.*|SPEAKER\s+\S+\s+\S+\s{NUMBER}(\s+\S+){{4,}}\s*")


def read_rttm(source: Source) -> TextRows:
    """The turns; lines of other types hold no turns and are passed over."""
    lines = {line: text.split() for line, text in source.lines() if not text.lstrip().startswith(";;")}
    turns = {line: words for line, words in lines.items() if words[0] == "SPEAKER" and 8 <= len(words) <= 10}
    others: set[int | str] = {line for line, words in lines.items() if words[0] in _OTHERS}
    for line, words in lines.items():
        if line not in turns and line not in others:
            got = f"got {len(words)}, {quoted(words[0])}"
            source.fail(line, "", f"a turn has 8 to 10 words, the first SPEAKER; {got}")
    names = ["type", "recording", "channel", "onset", "duration", "words", "subtype", "speaker", "confidence", "ahead"]
    width = max(map(len, turns.values()), default=8)
    table = ColumnTable.of(source, names[:width], [(list(turns.values()), list(turns))])
    source.n_rows = len(lines)
    rows = _spans(table, table.columns["recording"], table.columns["speaker"])
    if set(table.columns.get("confidence", ())) - {"<NA>"}:
        rows.data["confidence"] = table.numbers("confidence")
    if len(set(table.columns["channel"])) > 1:
        rows.data["channel"] = table.columns["channel"]
    rows.merged = {"no turn": others} if others else {}
    return rows.checked().say("the second word", "the speaker", "time in seconds")


def write_rttm(events: Events, path: Path) -> list[str]:
    """One line of words per event; words cannot hold spaces, so these become underscores."""
    frame, lost = events.to_frame(), losses(events, "label", "confidence")
    lost += inexact(frame["onset"], frame["offset"])
    frame["length"] = duration(frame["onset"], frame["offset"])
    names, *times, labels, score = columns_of(frame, "recording", "onset", "length", "label", "confidence")
    names, labels = (plain_fields(*each, UNDERSCORES) for each in ((names, lost, "recording"), (labels, lost, "label")))
    lost += ["empty labels, written as <NA>"] * ("" in events.labels)
    rows = ([word or "<NA>" for word in row] for row in zip(names, *times, labels, score))
    save(path, ("SPEAKER {} 1 {} {} <NA> <NA> {} {} <NA>\n".format(*row) for row in rows))
    return lost


def sniff_uem(source: Source) -> bool:
    """Lines of a file, a channel and two numbers, separated by spaces."""
    rows = [line.split() for line in source.head if not line.startswith(";;")]
    tabbed = any("\t" in line or "," in line for line in source.head) and source.path.suffix.lower() != ".uem"
    return not tabbed and bool(rows) and all(
        len(row) == 4 and _is_span(row[2:]) and re.fullmatch(r"\d|NA|<NA>|[A-Z]", row[1]) for row in rows
    )  # fmt: skip


def read_uem(source: Source) -> TextRows:
    """The stretches that were examined, as events of the class "examined"; give them as ``examined``."""
    table = lines_of(source, ("file", "channel", "start", "end"), str.split, comment=";;")
    rows = _spans(table, table.columns["file"], "examined").checked()
    return rows.say("the first word", "'examined'", "stretches that were examined")


def read_mne(source: Source) -> TextRows:
    """Onset, duration and description of each line; those without a duration are points."""
    names = ("onset", "duration", "description")
    table = lines_of(source, names, lambda text: [part.strip() for part in text.split(",", 2)], comment="#")
    name = source.stem(r"[-_.]?annot(ations)?\.txt$", r"-annot\.txt$", r"\.txt$")
    rows = _spans(table, name, table.columns["description"]).checked()
    return rows.say(OWN, "description", "time = onset + duration in seconds")


READERS = (
    Format("rttm", "RTTM (SPEAKER file 1 onset duration ... label)", _TURN, read_rttm, write_rttm,
           endings=(".rttm",)),
    Format("uem", "UEM, the stretches that were examined (file 1 start end)", sniff_uem, read_uem),
    Format("mne", "MNE annotations as text (onset, duration, description)", (), read_mne,
           mark=r"^\s*# mne-annotations"),
)  # fmt: skip
TRACKS = (
    Format("audacity", "Audacity label track (start, end, label), also with answers (dog? yes)", sniff, read, write,
           write_answers, endings=(".txt",)),
    Format("lab", "label file (start end label, separated by spaces; HTK's units too)",
           re.compile(rf"{NUMBER}(?<= ){NUMBER}(?<= )[^\t]+"),
           partial(read_spans, spaced=True)),
    Format("thumos", "list of videos (name start end; the class is the file's name, or stands behind ##)", _LISTED,
           read_listed),
    Format("nigens", "NIGENS text (start end; the class is the folder)", sniff_pairs, read_pairs),
    Format("triples", "start, end, label without a line of names, by commas", sniff_triples,
           partial(read_spans, spaced=False)),
)  # fmt: skip
