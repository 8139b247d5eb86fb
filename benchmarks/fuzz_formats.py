"""Mangled files by the thousand: no traceback, no hang, and no row lost without a word.

Each of the tests' sample files is cut, spliced, re-separated, re-quoted, re-encoded and shuffled; every result must be
an ``InvalidInput`` or events whose rows add up. ``python benchmarks/fuzz_formats.py 20000`` prints what was found.
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from pathlib import Path

import numpy as np

from weakly import InvalidInput
from weakly.formats import check, detect, read, read_answers
from weakly.formats.source import Source

SAMPLES = sorted(
    path for path in (Path(__file__).parents[1] / "tests" / "formats" / "data").rglob("*") if path.is_file()
)
GLUE = [b"\t", b",", b";", b"\n", b"\r\n", b'"', b"'", b"0", b"-1", b"1e308", b"1e999", b"nan", b"n/a", b"\\", b"\xff",
        b"\x00", b"[", b"{", b"}", b"null", b"?", b"00:01:02", b"2024-01-01T00:00:00",
        b"\xef\xbb\xbf", b"\xe2\x80\xa8", b",,,,", b" "]  # fmt: skip

SWAPS = [(b"\t", b","), (b",", b"\t"), (b",", b";"), (b"\n", b"\r\n"), (b".", b",")]


def mangled(data: bytes, dice: random.Random) -> bytes:
    """The data with one to four accidents."""
    for _ in range(dice.randint(1, 4)):
        at, end = sorted((dice.randint(0, len(data)), dice.randint(0, len(data))))
        lines = data.split(b"\n")
        how = dice.randrange(11)
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
        else:
            bits = bytearray(data)
            for _ in range(dice.randint(1, 8)):
                if bits:
                    bits[dice.randrange(len(bits))] = dice.randrange(256)
            data = bytes(bits)
    return data


#: Formats in which a line is a row, below one line of names.
TABLES = {"csv", "tsv", "dcase", "birdnet", "szcore", "boris", "aplose", "kaleidoscope", "bids", "raven", "sonyc",
          "clips-wide", "votes", "audioset", "stead", "wide", "charades"}  # fmt: skip


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


if __name__ == "__main__":
    print(run(int(sys.argv[1]) if len(sys.argv) > 1 else 2000, int(sys.argv[2]) if len(sys.argv) > 2 else 0))
