"""Mangled files by the thousand: no traceback, no hang, and no row lost without a word.

Each of the tests' sample files is cut, spliced, re-separated, re-quoted, re-encoded and shuffled; every result must be
an ``InvalidInput`` or events whose rows add up. In tables, one row is cut, or its fields or lines are merged: none is
read otherwise than before without a word. ``python benchmarks/fuzz_formats.py 20000`` prints what was found, and what
became of tables whose recordings stand in a column with an unknown name: never one recording without a word.
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from weakly import InvalidInput
from weakly.io import check, detect, read, read_answers
from weakly.io.source import Source
from weakly.io.vocabulary import is_number

SAMPLES = sorted(path for path in (Path(__file__).parents[1] / "tests" / "io" / "data").rglob("*") if path.is_file())
GLUE = [b"\t", b",", b";", b"\n", b"\r\n", b'"', b"'", b"0", b"-1", b"1e308", b"1e999", b"nan", b"n/a", b"\\", b"\xff",
        b"\x00", b"[", b"{", b"}", b"null", b"?", b"00:01:02", b"2024-01-01T00:00:00",
        b"\xef\xbb\xbf", b"\xe2\x80\xa8", b",,,,", b" "]  # fmt: skip

SWAPS = [(b"\t", b","), (b",", b"\t"), (b",", b";"), (b"\n", b"\r\n"), (b".", b",")]


def mangled(data: bytes, dice: random.Random) -> bytes:
    """The data with one to four accidents."""
    for _ in range(dice.randint(1, 4)):
        at, end = sorted((dice.randint(0, len(data)), dice.randint(0, len(data))))
        lines = data.split(b"\n")
        how = dice.randrange(13)
        if how == 0:
            data = data[:end]
        elif how == 1:
            data = data[:at] + data[at + dice.randint(1, 3) :]
        elif how == 2:
            data = data[:at] + dice.choice(GLUE) + data[at:]
        elif how == 3:
            data = data[:end] + data[at:end][:200] + data[end:]
        elif how == 4:
            dice.shuffle(lines)
            data = b"\n".join(lines)
        elif how == 5:
            data = data.replace(*dice.choice(SWAPS))
        elif how == 6 and len(lines) > 2:
            k = dice.randrange(len(lines))
            lines[k] = lines[k].replace(b"\t", b",") if b"\t" in lines[k] else lines[k].replace(b",", b"\t")
            data = b"\n".join(lines)
        elif how == 7:
            data = data.decode("utf-8", "replace").encode(dice.choice(["utf-16", "cp1252", "utf-8-sig"]), "replace")
        elif how == 8 and len(lines) > 1:
            k = dice.randrange(len(lines))
            data = b"\n".join(lines[:k] + [lines[k]] * dice.randint(2, 30) + lines[k + 1 :])
        elif how == 9:
            other = dice.choice(SAMPLES).read_bytes()
            data = data[:at] + other[: dice.randint(0, len(other))]
        elif how == 10:
            k = dice.randrange(len(lines))
            lines[k] = lines[k][: dice.randint(0, len(lines[k]))]
            data = b"\n".join(lines)
        elif how == 11:
            k, sign = dice.randrange(len(lines)), dice.choice([b"\t", b",", b";", b" "])
            lines[k] = lines[k].replace(sign, b"", dice.randint(1, 2))
            data = b"\n".join(lines)
        else:
            bits = bytearray(data)
            for _ in range(dice.randint(1, 8)):
                if bits:
                    bits[dice.randrange(len(bits))] = dice.randrange(256)
            data = bytes(bits)
    return data


#: Formats in which a line is a row, below one line of names.
TABLES = {"csv", "tsv", "dcase", "birdnet", "szcore", "boris", "aplose", "kaleidoscope", "bids", "raven", "sonyc",
          "clips-wide", "audioset", "stead", "wide"}  # fmt: skip


def lines_of(path: Path) -> int | None:
    """How many rows a table should have, counted by its lines alone; None where quotes or another format forbid it."""
    try:
        source = Source(path)
        if detect(source).name not in TABLES or '"' in source.text:
            return None
    except InvalidInput:
        return None
    lines = source.text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return sum(bool(line.strip(" \t,;\x0b\x0c\x1c\x1d\x1e\x85\u2028\xa0")) for line in lines) - 1


def run(n: int = 2000, seed: int = 0) -> dict[str, int]:
    """How many files were read, refused, and broke a promise; each of the last is printed."""
    dice, found = random.Random(seed), Counter[str]()
    slowest = 0.0
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for k in range(n):
            sample = dice.choice(SAMPLES)
            path = Path(folder) / sample.name
            data = mangled(sample.read_bytes(), dice)
            path.write_bytes(data)
            due = lines_of(path)
            for job, on_error in ((read, "raise"), (read, "skip"), (read_answers, "skip"), (check, "")):
                started = time.perf_counter()
                try:
                    result = job(path, **({"on_error": on_error} if on_error else {}))  # type: ignore[operator]
                    sums = result.account
                    whole = sums["rows"] == sum(sums[name] for name in ("events", "empty", "skipped", "merged"))
                    lost = [note for note in getattr(result, "notes", ()) if "not accounted for" in note]
                    short = due is not None and sums["rows"] < due and bool(sums["rows"] or job is not check)
                    if not whole or lost or short:
                        found["rows lost"] += 1
                        print(k, sample.name, job.__name__, sums, due, lost, repr(data[:300]))
                    if job is read:
                        times = result.to_frame()[["onset", "offset"]].to_numpy(float)
                        assert np.isfinite(times).all()
                        assert (times[:, 1] > times[:, 0]).all()
                    found[f"{job.__name__} {on_error}".strip()] += 1
                except InvalidInput:
                    found[f"{job.__name__} {on_error} refused".replace("  ", " ")] += 1
                except Exception:
                    found["traceback"] += 1
                    print(k, sample.name, job.__name__, on_error, repr(data[:300]), traceback.format_exc()[-600:])
                slowest = max(slowest, time.perf_counter() - started)
            path.unlink()
    found["slowest, milliseconds"] = round(slowest * 1000)
    return dict(found)


#: Files whose lines end with words, which may be any; and those with lines that belong to the one above.
FREE = {"charades_sta_train.txt", "Diving_val.txt", "speech.lab", "chords.lab", "htk.lab", "sleep-annot.txt",
        "freq.txt"}  # fmt: skip
DAMAGE = ("cut line", "cut file", "merge fields", "other separator", "join lines", "names again")


def rows_of(path: Path) -> tuple[list[str], str, list[int]] | None:
    """The lines of a table, what separates its fields, and which of them are rows; None of another file."""
    text = path.read_bytes().decode("utf-8", "replace")
    if path.name in FREE or "\ufffd" in text or not text or text.lstrip().startswith(("[", "{", "<", "File type")):
        return None
    lines, sign = text.splitlines(keepends=True), Source(path).delimiter
    sign = sign if sign in lines[-1] else " "
    told = [k for k, line in enumerate(lines) if sign in line.strip() and line.strip(f"{sign} \r\n")]
    rows = [k for k in told if lines[k][0] not in "#;\\" and '"' not in lines[k]]
    rows = rows if any(map(is_number, lines[told[0]].split(sign))) else [k for k in rows if k != told[0]]
    return (lines, sign, rows) if len(rows) > 1 else None


def damaged(table: tuple[list[str], str, list[int]], how: str, dice: random.Random) -> str:
    """The table with one row that lost a separator at least, or that holds those of two lines."""
    lines, sign, rows = list(table[0]), table[1], table[2]
    k = dice.choice(rows[:-1] if how == "join lines" else rows[1:] if how == "cut file" else rows)
    line = lines[k].rstrip("\r\n")
    end = lines[k][len(line) :] or "\n"
    at = dice.choice([i for i, letter in enumerate(line) if letter == sign and line[:i].strip()] or [len(line)])
    short = line[: dice.randint(1, at)]
    if how == "cut line":
        lines[k] = short + end
    elif how == "cut file":
        lines[k:] = [short]
    elif how == "merge fields":
        lines[k] = line[:at] + line[at + 1 :] + end
    elif how == "other separator":
        lines[k] = line[:at] + dice.choice([each for each in "\t,;|" if each != sign]) + line[at + 1 :] + end
    elif how == "join lines":
        lines[k] = line
    elif not any(map(is_number, lines[0].split(sign))):
        lines.insert(k + 1, lines[0])
    return "".join(lines)


def _told(path: Path) -> dict[str, tuple[Any, set[str]]]:
    """What each door makes of a file (None where it refuses it), and what it says of it."""
    told: dict[str, tuple[Any, set[str]]] = {}
    for job in (read, read_answers):
        try:
            found: Any = job(path)
            rows = found.to_frame().astype(str).to_numpy().tolist()
            told[job.__name__] = ([*rows, *sorted(map(str, found.recordings.index))], set(found.notes))
        except InvalidInput as error:
            told[job.__name__] = (None, {str(error)})
    told["check"] = (None, {str(item) for item in check(path).findings})
    return told


def silent(n: int = 2000, seed: int = 0) -> Counter[str]:
    """What became of n tables with one damaged line: refused, said, the same as before, or read otherwise in SILENCE.

    Of a cut file the lines before the cut are the same; where a reader refuses or says something, ``check`` has to.
    """
    dice, found, clean = random.Random(seed), Counter[str](), dict[Path, Any]()
    tables = {path: table for path in SAMPLES if (table := rows_of(path)) is not None}
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for k in range(n):
            sample, how = dice.choice(list(tables)), dice.choice(DAMAGE)
            path = Path(folder) / sample.parent.name / sample.name
            path.parent.mkdir(exist_ok=True)
            if sample not in clean:
                path.write_bytes(sample.read_bytes())
                clean[sample] = _told(path)
            text = damaged(tables[sample], how, dice)
            path.write_bytes(text.encode())
            try:
                told = _told(path)
            except Exception:
                found["traceback"] += 1
                print(k, sample.name, how, repr(text[-300:]), traceback.format_exc()[-600:])
                continue
            job = "read" if clean[sample]["read"][0] is not None else "read_answers"
            (was, had), (got, has) = clean[sample][job], told[job]
            same = got == was or (got is not None and how == "cut file" and all(row in was for row in got))
            fate = "refused" if got is None else "said" if has - had else "same" if same else "SILENT"
            if fate in ("refused", "said") and not told["check"][1] - clean[sample]["check"][1]:
                fate = "check SILENT"
            found[fate] += 1
            if "SILENT" in fate:
                print(k, sample.name, how, fate, has - had, repr(text[:400]))
    return found


#: Names that no table of names knows, and what may stand below them.
UNKNOWN = [
    "nest", "box", "tape", "reel", "plot_no", "camera", "hive", "tank", "visit", "Mikrofon", "unit", "bout",
    "sweep", "block", "aru", "logger", "sensor", "rec_no", "sample_name", "xyz", "Spalte1", "col3", "bird",
    "whale", "cow", "child", "dyad", "game", "match", "lecture", "tag_number", "transect", "site", "station",
    "channel_name", "PTID", "MRN", "mouse", "cage", "dataset", "survey",
]  # fmt: skip
VALUES: dict[str, Callable[[int], Any]] = {
    "whole number": lambda k: k + 1, "code": lambda k: f"n{k + 1}", "file": lambda k: f"rec_{k}.wav",
    "word": lambda k: ("alpha", "beta", "gamma", "delta", "north")[k], "date": lambda k: f"2024-05-{k + 1:02d}",
    "long code": lambda k: f"2024{k}_siteA", "float": lambda k: float(k + 1),
}  # fmt: skip


def pooled(n: int = 1500, seed: int = 0, *, endings: tuple[str, ...] = (".csv", ".parquet")) -> Counter[str]:
    """What became of n tables of 2 to 5 recordings under an unknown name: right, refused, one recording (said how)."""
    dice, found = random.Random(seed), Counter[str]()
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(n):
            name, kind, many = dice.choice(UNKNOWN), dice.choice(list(VALUES)), dice.randint(2, 5)
            rows = []
            for k in range(many):
                end = dice.random() * 3
                for _ in range(dice.randint(3, 8)):
                    start = end + dice.random() * 4
                    end = start + 0.2 + dice.random() * 1.5
                    rows.append((VALUES[kind](k), round(start, 2), round(end, 2), dice.choice(["song", "call"])))
            order = dice.choice(["recording", "onset", "label", "shuffled"])
            if order == "shuffled":
                dice.shuffle(rows)
            elif order != "recording":
                rows.sort(key=lambda row: row[1] if order == "onset" else (row[3], row[0], row[1]))
            table = pd.DataFrame(rows, columns=[name, "start", "end", "species"])
            table = table if dice.random() < 0.7 else table.drop(columns="species")
            path = Path(folder) / f"t{dice.choice(endings)}"
            table.to_csv(path, index=False) if path.suffix == ".csv" else table.to_parquet(path, index=False)
            try:
                events = read(path)
            except InvalidInput as error:
                found["refused" if "--columns" in str(error) else "refused without a way out"] += 1
                continue
            told = [note for note in events.notes if f"--columns recording={name}" in note]
            if len(events.recordings) == many:
                found["right"] += 1
            else:
                found[f"{len(events.recordings)} recording(s), {'said' if told else 'SILENT'}"] += 1
                if not told:
                    print(name, kind, order, path.suffix, list(table), many, events.reading)
    return found


if __name__ == "__main__":
    count, first = (int(sys.argv[k]) if len(sys.argv) > k else default for k, default in ((1, 2000), (2, 0)))
    print(dict(pooled(seed=first)))
    print(run(count, first))
    print(dict(silent(count, first)))
