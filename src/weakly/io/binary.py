"""Files that other libraries open: Parquet (pyarrow), EDF+ and BDF+ annotations (edfio), WFDB annotations (wfdb), and
tiers of intervals with a text, TextGrid of Praat and ELAN (pympi).

The text of an interval is the label and its tier is kept beside it; an interval without text is time in which nothing
was marked. Points have no length. The file's name stands for the recording.
"""

from __future__ import annotations

import io
import re
import shlex
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ..base.errors import InvalidInput, optional
from ..base.results import counted
from ..model.answers import Answers
from ..model.events import Events
from .formats import Format, saving
from .plain import rows_of
from .source import PARQUET, Source, quoted, refused
from .table import ColumnTable, TextRows
from .times import ending
from .tracks import OWN


def read_parquet(source: Source) -> TextRows:
    """The table, whatever its columns are called."""
    optional("pyarrow", extra="parquet")
    with refused(source.name, "is not a readable Parquet file", quiet=True):
        frame = pd.read_parquet(io.BytesIO(source.data))
    source.n_rows, source.text = len(frame), ""  # nobody shall look for text in it
    return rows_of(ColumnTable.of_frame(source, frame))


def write_parquet(events: Events | Answers, path: Path) -> list[str]:
    """Everything: silent recordings as rows without times, lengths, what was not annotated."""
    frame, listing = events.to_frame(), events.recordings
    silent, idle = events.silent, list(listing.index[~listing["annotated"]])
    if silent or idle:
        more = pd.DataFrame({"recording": silent + idle})
        filled = pd.concat([frame, more], ignore_index=True) if len(frame) else more.reindex(columns=frame.columns)
        frame = filled.assign(**{name: filled[name].astype(np.float64) for name in ("onset", "offset")})
    if listing["length"].notna().any():
        frame["recording_length"] = listing["length"].reindex(frame["recording"]).to_numpy()
    if idle:
        frame["annotated"] = [True] * (len(frame) - len(idle)) + [False] * len(idle)
    optional("pyarrow", extra="parquet")
    with saving(path, "wb") as file:
        try:
            frame.to_parquet(file, index=False)
        except (ValueError, TypeError) as error:
            raise InvalidInput(f"{path}: Parquet cannot hold a column: {error}") from error
    return []


def read_edf(source: Source) -> TextRows:
    """The annotations of a recording and its length; those without a duration are points."""
    edfio = optional("edfio", extra="signals")
    bdf = source.data[:1] == b"\xff"
    with refused(source.name, "is not a readable EDF+ file", quiet=True):
        signal = (edfio.read_bdf if bdf else edfio.read_edf)(io.BytesIO(source.data))
        items = list(signal.annotations)
    told = int(source.data[236:244])  # edfio puts the number that is there in its place
    if told > signal.num_data_records:
        has = signal.num_data_records
        raise source.error(f"is cut short: it holds {has} of its {told} data records")
    name = source.stem()
    onset = np.array([item.onset for item in items], dtype=np.float64)
    length = np.array([item.duration or 0.0 for item in items], dtype=np.float64)
    labels = [str(item.text) for item in items]
    source.n_rows, places = len(items), [f"annotation {i + 1}" for i in range(len(items))]
    rows = TextRows.of(source, places, name, onset, ending(onset, length), labels)
    return rows.checked({name: float(signal.duration)}).say(OWN, "the texts", "time = onset + duration")


def _record(path: Path) -> str | None:
    """The record that an annotation file belongs to, of which the header stands beside it; None without one."""
    base = str(path.with_suffix(""))
    return next((name for name in (base, base.removesuffix(".edf")) if Path(name + ".hea").is_file()), None)


def read_wfdb(source: Source) -> TextRows:
    """Rhythms, from one change to the next, and what stands between ``[`` and ``]``; beats are points, passed over."""
    wfdb = optional("wfdb", extra="signals")
    base, record = source.path.with_suffix(""), _record(source.path)
    if record is None:
        raise source.error(f"there is no header {base.name.removesuffix('.edf')}.hea beside it")
    with refused(source.name, "is not a readable WFDB file", quiet=True):
        notes, header = wfdb.rdann(str(base), source.path.suffix[1:]), wfdb.rdheader(record)
    rate = float(notes.fs or header.fs or 0)
    if rate <= 0:
        raise source.error("neither it nor its header says how many samples a second has")
    name, length = source.stem(), float(header.sig_len or 0) / float(header.fs or rate)
    times, symbols = np.asarray(notes.sample) / rate, list(notes.symbol)
    texts = [str(text or "").strip("\0 ") for text in notes.aux_note]
    last = length or (float(times[-1]) if len(times) else 0.0)
    changes = [i for i, text in enumerate(texts) if text.startswith("(")]
    found = [(i, times[i], times[j] if j is not None else last, texts[i].lstrip("("))
             for i, j in zip(changes, [*changes[1:], None])]  # fmt: skip
    opened = None
    for i, symbol in enumerate(symbols):
        if symbol == "[":
            opened = i
        elif symbol == "]" and opened is not None:
            found.append((opened, times[opened], times[i], texts[opened] or "[ ]"))
            opened = None
    if opened is not None:
        source.fail(f"annotation {opened + 1}", "symbol", "'[' is never closed")
    found = [row for row in found if row[2] > row[1]]
    if source.point_length is not None:  # the beats instead of the rhythms
        found = [(i, t, t, s) for i, (t, s) in enumerate(zip(times, symbols)) if not texts[i].startswith("(")]
    source.n_rows, places = len(times), [f"annotation {i + 1}" for i, *_ in found]
    beats = {f"annotation {i + 1}" for i in range(len(times))} - {*places, *(place for place, *_ in source.problems)}
    onset, offset = (np.array([row[k] for row in found], dtype=np.float64) for k in (1, 2))
    rows = TextRows.of(source, places, name, onset, offset, [row[3] for row in found])
    if beats:
        told = f"{counted(len(beats), 'annotation')} (beats and other points) without a length left out; "
        told += "--point-length 0.2 makes events of them instead of the rhythms"
        if source.point_length is not None:
            told = f"{counted(len(beats), 'rhythm')} left out: points were asked for"
        source.note(told, kind="points")
        rows.merged["points"] = set(beats)
    return rows.checked({name: length}).say(OWN, "rhythm", f"time = samples at {rate:g} Hz")


READERS = (
    Format("parquet", "Parquet table (needs the extra parquet); holds everything", (), read_parquet,
           write_parquet, write_parquet, endings=(".parquet", ".pq"), binary=True, mark=f"^{PARQUET.decode()}"),
    Format("edf", "annotations of EDF+ and BDF+ (needs the extra signals)", (), read_edf, binary=True,
           mark=r"(?s)^(0       |\xffBIOSEMI).{184}[EB]DF\+"),  # the plain kinds hold no annotations
    Format("wfdb", "WFDB annotations beside their header: rhythms (needs the extra signals)",
           lambda s: s.path.suffix.lower() not in ("", ".hea", ".dat", ".mat", ".txt", ".csv", ".edf")
           and _record(s.path) is not None, read_wfdb, binary=True, mark=r"\0\0\Z"),
)  # fmt: skip


_TOKEN = re.compile(r'"(?:[^"]|"")*"|<exists>|<absent>|(?<!\S)[-+]?[\d.]\S*(?!\S)')


def read_textgrid(source: Source) -> TextRows:
    """The intervals with a text, and points. As in Praat, only texts and free-standing numbers are content."""
    tokens: Iterator[str] = iter(_TOKEN.findall(source.text))
    cut = f"{source.name}: is cut short: it holds fewer tiers or intervals than it says"

    def text() -> str:
        return next(tokens)[1:-1].replace('""', '"').strip()

    found, length, names = [], 0.0, Counter[str]()
    try:
        _, _, _, length, exists = text(), text(), next(tokens), float(next(tokens)), next(tokens) == "<exists>"
        for _ in range(int(next(tokens)) if exists else 0):
            kind, tier = text(), text()
            names[tier] += 1
            tier += f"_{names[tier]}" if names[tier] > 1 else ""
            _, _, n = next(tokens), next(tokens), int(next(tokens))
            for _ in range(n):
                start = float(next(tokens))
                end = float(next(tokens)) if kind == "IntervalTier" else start
                found.append((tier, text(), (start, end)))
    except StopIteration as error:
        raise InvalidInput(cut) from error
    except ValueError as error:
        raise source.error(f"cannot be read: {error}") from error
    return _rows(source, found, length)


def _rows(source: Source, found: list[tuple[str, str, Any]], length: float) -> TextRows:
    """The intervals with a text of the tiers that were chosen; where several could be, they are asked for."""
    name = source.stem(r"\.TextGrid$", r"\.eaf$")
    named = [(tier, text, times) for tier, text, times in found if text.strip()]
    tiers = {tier: {text for own, text, _ in named if own == tier} for tier, _, _ in named}
    wanted = source.layer.get("tier")
    by_tier = source.columns.get("label") == "tier"
    told = wanted is not None or by_tier or source.on_error == "collect"
    apart = all(texts == {re.sub(r" \(\d+\)$", "", tier)} for tier, texts in tiers.items())  # a tier a class, as ours
    if len(tiers) > 1 and not told and not apart:
        ways = " or ".join(f"--tier {shlex.quote(tier)}" for tier in list(tiers)[:6])
        raise source.error(f"holds {len(tiers)} tiers; take one: {ways}; all: --tier '*'; or call "
                           "events by their tiers: --columns label=tier")  # fmt: skip
    if wanted not in (None, "*"):
        named = [row for row in named if row[0] == wanted]
        if not named and wanted not in tiers:
            raise source.error(f"no tier {quoted(wanted)}; there are {', '.join(map(quoted, tiers))}")
    if by_tier:
        named = [(tier, tier, times) for tier, _, times in named]
    places = [f"tier {quoted(tier)}, interval {i} {quoted(text)}" for i, (tier, text, _) in enumerate(named, 1)]
    source.n_rows = len(named)
    onset, offset = (np.array([times[k] for _, _, times in named], dtype=np.float64) for k in (0, 1))
    marks = {"label": [text for _, text, _ in named], "tier": [tier for tier, _, _ in named]}
    rows = TextRows.of(source, places, name, onset, offset, **marks).checked()
    rows.lengths = {name: length} if np.isfinite(length) and length > 0 else {}
    return rows.say(OWN, "the tiers" if by_tier else "the texts", f"tiers = {', '.join(dict.fromkeys(marks['tier']))}")


def read_elan(source: Source) -> TextRows:
    """The annotations that are aligned with time."""
    if "<!ENTITY" in source.text or "<!DOCTYPE" in source.text:
        raise source.error("declares XML entities, which ELAN files do not need; refused")
    pympi = optional("pympi", extra="elan")
    found = []
    with tempfile.TemporaryDirectory() as folder, refused(source.name, quiet=True):
        path = Path(folder) / "file.eaf"
        path.write_bytes(source.text.replace("\r\n", "\n").encode("utf-8"))  # marks and encodings are ours to deal with
        document = pympi.Elan.Eaf(str(path), suppress_version_warning=True)
        for tier in document.get_tier_names():
            for item in document.get_annotation_data_for_tier(tier):
                found.append((str(tier), str(item[2] or ""), (float(item[0]) / 1000, float(item[1]) / 1000)))
    return _rows(source, found, np.nan)


TIERS = (
    Format("textgrid", "TextGrid of Praat", lambda s: "TextGrid" in "".join(s.head[1:2]), read_textgrid,
           mark="ootextfile"),
    Format("elan", "ELAN annotation document (needs the extra elan)",
           lambda s: "<ANNOTATION_DOCUMENT" in s.text[:4096], read_elan),
)  # fmt: skip
