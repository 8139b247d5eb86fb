"""Files that other libraries open: Parquet (pyarrow), EDF+ and BDF+ annotations (edfio), WFDB annotations (wfdb)."""

from __future__ import annotations

import io
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ..base.errors import InvalidInput, MissingExtra, optional
from ..base.files import atomic_write
from ..model.answers import Answers
from ..model.events import Events
from .output import count
from .plain import rows_of
from .registry import Format
from .source import PARQUET, Source
from .table import ColumnTable, TextRows, lengths_agree
from .times import ending


def _opened(source: Source, what: str, opener: Any) -> Any:
    """What a library makes of the file; it may raise anything at all on a broken one, and all of it becomes ours."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return opener()
    except MissingExtra:
        raise
    except Exception as error:
        words = " ".join(str(error).split())[:200] or type(error).__name__
        raise InvalidInput(f"{source.name}: is not a readable {what} file: {words}") from error


def sniff_parquet(source: Source) -> bool:
    """The four letters that Parquet begins with."""
    return source.data.startswith(PARQUET)


def read_parquet(source: Source) -> TextRows:
    """The table, whatever its columns are called; types say what text would not: durations, dates, numbers."""
    optional("pyarrow", extra="formats")
    frame = _opened(source, "Parquet", lambda: pd.read_parquet(io.BytesIO(source.data)))
    source.n_rows, source.text = len(frame), ""  # nobody shall look for text in it
    columns = [column_values(frame.iloc[:, k]) for k in range(frame.shape[1])]
    return rows_of(ColumnTable(source, [str(name) for name in frame.columns], columns, range(1, len(frame) + 1)))


def column_values(column: pd.Series) -> Any:
    """The column as tables hold it: numbers as an array, all else as texts."""
    kind = getattr(column.dtype, "kind", "O")
    if kind in "fiu":
        return column.to_numpy(dtype=np.float64, na_value=np.nan) if column.isna().any() else column.to_numpy()
    if kind == "m":
        return column.dt.total_seconds().to_numpy(dtype=np.float64)
    if kind == "M":
        return ["" if value != value else value.isoformat() for value in column]
    return ["" if value is None or _is_nan(value) else str(value) for value in column.tolist()]


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and value != value


def _save(frame: pd.DataFrame, path: Path) -> None:
    optional("pyarrow", extra="formats")
    try:
        with atomic_write(path, "wb") as file:
            frame.to_parquet(file, index=False)
    except FileNotFoundError as error:
        raise InvalidInput(f"{path}: there is no folder {path.parent}") from error
    except (ValueError, TypeError, UnicodeError) as error:
        raise InvalidInput(f"{path}: Parquet cannot hold a column: {error}") from error


def write_parquet(events: Events | Answers, path: Path) -> list[str]:
    """Everything: silent recordings as rows without times, lengths, what was not annotated."""
    frame, listing = events.to_frame(), events.recordings
    silent, idle = events.silent, [name for name, yes in zip(listing.index, listing["annotated"]) if not yes]
    if silent or idle:
        more = pd.DataFrame({"recording": silent + idle})
        filled = pd.concat([frame, more], ignore_index=True) if len(frame) else more.reindex(columns=frame.columns)
        frame = filled.assign(**{name: filled[name].astype(np.float64) for name in ("onset", "offset")})
    if listing["length"].notna().any():
        frame["recording_length"] = listing["length"].reindex(frame["recording"]).to_numpy()
    if idle:
        frame["annotated"] = [True] * (len(frame) - len(idle)) + [False] * len(idle)
    _save(frame, path)
    return []


def sniff_edf(source: Source) -> bool:
    """The header of EDF+ or BDF+: the plain kinds hold no annotations."""
    head = source.data[:256]
    return head[:8] in (b"0       ", b"\xffBIOSEMI") and head[192:196] in (b"EDF+", b"BDF+")


def read_edf(source: Source) -> TextRows:
    """The annotations of a recording and its length; those without a duration are points."""
    edfio = optional("edfio", extra="formats")
    bdf = source.data[:1] == b"\xff"
    signal = _opened(source, "EDF+", lambda: (edfio.read_bdf if bdf else edfio.read_edf)(io.BytesIO(source.data)))
    items = _opened(source, "EDF+", lambda: list(signal.annotations))
    told = int(source.data[236:244])  # edfio puts the number that is there in its place
    if told > signal.num_data_records:
        has = signal.num_data_records
        raise InvalidInput(f"{source.name}: is cut short: it holds {has} of its {told} data records")
    name = source.stem()
    onset = np.array([item.onset for item in items], dtype=np.float64)
    length = np.array([item.duration or 0.0 for item in items], dtype=np.float64)
    labels = [str(item.text) for item in items]
    data = {"recording": [name] * len(items), "onset": onset, "offset": ending(onset, length), "label": labels}
    source.n_rows = len(items)
    rows = TextRows(source, data, [f"annotation {i + 1}" for i in range(len(items))], empty=[] if items else [name])
    rows.checked()
    lengths_agree(rows, {name: float(signal.duration)})
    return rows.say(f"recording = the file's name (1), label = the texts ({len(set(labels))}), time = onset + duration")


def sniff_wfdb(source: Source) -> bool:
    """A file that is no text beside a record's header of the same name."""
    path = source.path
    if path.suffix.lower() in ("", ".hea", ".dat", ".mat", ".txt", ".csv", ".edf"):
        return False
    header = path.with_suffix(".hea")
    whole = path.parent / (path.name.rpartition(".")[0] + ".hea")
    beside = header.is_file() or whole.is_file() or path.with_name(path.stem.removesuffix(".edf") + ".hea").is_file()
    return beside and source.data[-2:] == b"\0\0"


def read_wfdb(source: Source) -> TextRows:
    """Rhythms, from one change to the next, and what stands between ``[`` and ``]``; beats are points, passed over."""
    wfdb = optional("wfdb", extra="formats")
    base, ending_ = str(source.path.with_suffix("")), source.path.suffix[1:]
    notes = _opened(source, "WFDB", lambda: wfdb.rdann(base, ending_))
    header = _opened(
        source,
        "WFDB header",
        lambda: wfdb.rdheader(base.removesuffix(".edf") if not Path(base + ".hea").is_file() else base),
    )
    rate = float(notes.fs or header.fs or 0)
    if rate <= 0:
        raise InvalidInput(f"{source.name}: neither it nor its header says how many samples a second has")
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
    used = {f"annotation {i + 1}" for i, *_ in found}
    beats = {f"annotation {i + 1}" for i in range(len(times))} - used - {place for place, _, _ in source.problems}
    source.n_rows = len(times)
    onset, offset = (np.array([row[k] for row in found], dtype=np.float64) for k in (1, 2))
    labels = [row[3] for row in found]
    data: dict[str, Any] = {"recording": [name] * len(found), "onset": onset, "offset": offset, "label": labels}
    rows = TextRows(source, data, [f"annotation {i + 1}" for i, *_ in found], empty=[] if found else [name])
    if beats:
        source.note(
            f"{source.name}: {count(len(beats), 'annotation')} (beats and other points) without a length passed over"
        )
        rows.merged["points"] = set(beats)
    rows.checked()
    lengths_agree(rows, {name: length} if length else {})
    k = len(set(data["label"]))
    return rows.say(f"recording = the file's name (1), label = rhythm ({k}), time = samples at {rate:g} Hz")


READERS = (
    Format("parquet", "Parquet table (needs the extra formats); holds everything", sniff_parquet, read_parquet,
           write_parquet, write_parquet, endings=(".parquet", ".pq"), binary=True),
    Format("edf", "annotations of EDF+ and BDF+ (needs the extra formats)", sniff_edf, read_edf, binary=True),
    Format("wfdb", "WFDB annotations beside their header: rhythms (needs the extra formats)", sniff_wfdb, read_wfdb,
           binary=True),
)  # fmt: skip
