"""TextGrid (Praat) and ELAN files, through praatio and pympi: tiers of intervals with a text.

The text of an interval is the label and its tier is kept beside it; an interval without text is time in which nothing
was marked. Points have no length. The file's name stands for the recording.
"""

from __future__ import annotations

import os
import re
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ..base.errors import InvalidInput, optional
from ..model.events import Events
from .output import count, losses, per_recording, save, texts_of
from .registry import Format
from .source import Source, quoted
from .table import TextRows


def sniff_textgrid(source: Source) -> bool:
    """The two lines that every TextGrid begins with."""
    return len(source.head) > 1 and "ooTextFile" in source.head[0] and "TextGrid" in source.head[1]


def _parsed(source: Source, parse: Any, path: str) -> Any:
    """What the library makes of the file; it may raise anything at all on a broken one, and all of it becomes ours."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return parse(path)
    except Exception as error:
        words = " ".join(str(error).split())[:200] or type(error).__name__
        raise InvalidInput(f"{source.name}: cannot be read: {type(error).__name__}: {words}") from error


def _as_utf8(source: Source, parse: Any) -> Any:
    """The library's view of the text that we decoded, so that marks and encodings are ours to deal with."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"file{source.path.suffix}"
        path.write_bytes(source.text.replace("\r\n", "\n").encode("utf-8"))
        return _parsed(source, parse, str(path))


def read_textgrid(source: Source) -> TextRows:
    """The intervals with a text."""
    praatio = optional("praatio.textgrid", extra="formats")

    def parse(path: str) -> tuple[list[tuple[str, str, Any]], float]:
        grid = praatio.openTextgrid(
            path, includeEmptyIntervals=True, reportingMode="silence", duplicateNamesMode="rename"
        )
        found = []
        for name in grid.tierNames:
            tier = grid.getTier(name)
            for entry in tier.entries:
                if isinstance(tier, praatio.PointTier):
                    found.append((name, str(entry[1]), (float(entry[0]), float(entry[0]))))
                else:
                    found.append((name, str(entry[2]), (float(entry[0]), float(entry[1]))))
        return found, float(grid.maxTimestamp)

    found, length = _as_utf8(source, parse)
    if _is_cut(source.text):
        raise InvalidInput(f"{source.name}: is cut short: it holds fewer tiers or intervals than it says")
    return _rows(source, found, {source.stem(r"\.TextGrid$"): length})


_TOKEN = re.compile(r'"(?:[^"]|"")*"|<exists>|(?<!\S)[-+]?[\d.]\S*(?!\S)')


def _is_cut(text: str) -> bool:
    """Whether a TextGrid holds less than it says. As in Praat, only texts and free-standing numbers are content."""
    tokens = _TOKEN.findall(text)
    try:
        at = tokens.index("<exists>") + 1
        tiers, at = int(tokens[at]), at + 1
        for _ in range(tiers):  # class, name, two times, and how many intervals (of 3) or points (of 2)
            at += 5 + int(tokens[at + 4]) * (3 if "Interval" in tokens[at] else 2)
    except ValueError:  # built in a way that is not known here
        return "<exists>" not in tokens and "<absent>" not in text
    except IndexError:
        return True
    return at > len(tokens)


def _rows(source: Source, found: list[tuple[str, str, Any]], lengths: dict[str, float]) -> TextRows:
    name = source.stem(r"\.TextGrid$", r"\.eaf$")
    named = [(tier, text, times) for tier, text, times in found if text.strip()]
    data = {
        "recording": [name] * len(named),
        "onset": np.array([times[0] for _, _, times in named], dtype=np.float64),
        "offset": np.array([times[1] for _, _, times in named], dtype=np.float64),
        "label": [text for _, text, _ in named],
        "tier": [tier for tier, _, _ in named],
    }
    places: list[int | str] = [
        f"tier {quoted(tier)}, interval {i} {quoted(text)}" for i, (tier, text, _) in enumerate(named, 1)
    ]
    source.n_rows = len(named)
    rows = TextRows(source, data, places)
    if not named:
        rows.empty.append(name)
    rows.checked()
    rows.lengths = {n: v for n, v in lengths.items() if np.isfinite(v) and v > 0}
    k, tiers = len(set(rows.data["label"])), dict.fromkeys(tier for tier, _, _ in named)
    return rows.say(f"recording = the file's name (1), label = the texts ({k}), tiers = {', '.join(tiers)}")


def _layers(frame: pd.DataFrame) -> list[tuple[str, list[tuple[str, str, str]]]]:
    """Tiers of intervals that do not overlap, one per class and more where a class overlaps itself."""
    tiers: list[tuple[str, list[tuple[str, str, str]]]] = []
    onset, offset = frame["onset"].tolist(), frame["offset"].tolist()
    names = texts_of(frame, "tier") if "tier" in frame else texts_of(frame, "label")
    for name in dict.fromkeys(names):
        rows = sorted((i for i, own in enumerate(names) if own == name), key=lambda i: (onset[i], offset[i]))
        layers: list[list[int]] = []
        for i in rows:
            for layer in layers:
                if offset[layer[-1]] <= onset[i]:
                    layer.append(i)
                    break
            else:
                layers.append([i])
        text = texts_of(frame, "label")
        for k, layer in enumerate(layers):
            title = name if k == 0 else f"{name} ({k + 1})"
            tiers.append((title, [(repr(onset[i]), repr(offset[i]), text[i]) for i in layer]))
    return tiers


def _clean(frame: pd.DataFrame, found: list[str]) -> pd.DataFrame:
    blank = frame["label"].str.strip() == ""
    if blank.any():
        found.append(
            f"{count(int(blank.sum()), 'event')} without a label: an interval without text means nothing there"
        )
    odd = frame["label"].str.contains(r'["\r\n\x00]|^\s|\s$', regex=True)
    if odd.any():
        found.append(f"quotes, line ends and outer spaces in {count(int(odd.sum()), 'label')}")
    frame = frame[~blank].copy()
    frame["label"] = frame["label"].str.replace(r"[\r\n\x00]", " ", regex=True).str.replace('"', "'").str.strip()
    return frame


def write_textgrid(events: Events, path: Path) -> list[str]:
    """One TextGrid per recording, one tier per class."""
    found = losses(events, empty=True, lengths=True, extra=("tier",))
    lengths = events.recordings["length"]
    if lengths.isna().any():
        found.append(
            f"that the lengths of {count(int(lengths.isna().sum()), 'recording')} are unknown: "
            "the last offset stands for it"
        )

    def one(frame: pd.DataFrame, name: str, target: Path) -> list[str]:
        lost: list[str] = []
        frame = _clean(frame, lost)
        length = float(lengths[name])
        total = repr(length if length == length else float(frame["offset"].max()) if len(frame) else 1.0)
        tiers = _layers(frame) or [("events", [])]
        lines = ['File type = "ooTextFile"\nObject class = "TextGrid"\n\n', f"xmin = 0\nxmax = {total}\n",
                 f"tiers? <exists>\nsize = {len(tiers)}\nitem []:\n"]  # fmt: skip
        for k, (title, entries) in enumerate(tiers, 1):
            filled = _filled(entries, total)
            title = title.replace('"', "'").replace("\r", " ").replace("\n", " ")
            lines.append(f'    item [{k}]:\n        class = "IntervalTier"\n        name = "{title}"\n')
            lines.append(f"        xmin = 0\n        xmax = {total}\n        intervals: size = {len(filled)}\n")
            for j, (start, end, text) in enumerate(filled, 1):
                lines.append(f"        intervals [{j}]:\n            xmin = {start}\n            xmax = {end}\n")
                lines.append(f'            text = "{text}"\n')
        save(target, lines)
        return lost

    return found + per_recording(events, path, ending=".TextGrid", one=one, kind="TextGrid")


def _filled(entries: list[tuple[str, str, str]], total: str) -> list[tuple[str, str, str]]:
    """The intervals with empty ones between them, as Praat wants it."""
    filled, last = [], "0"
    for start, end, text in entries:
        if float(start) > float(last):
            filled.append((last, start, ""))
        filled.append((start, end, text))
        last = end
    if float(last) < float(total):
        filled.append((last, total, ""))
    return filled


def sniff_elan(source: Source) -> bool:
    """An XML document of ELAN."""
    return "<ANNOTATION_DOCUMENT" in source.text[:4096]


def read_elan(source: Source) -> TextRows:
    """The annotations that are aligned with time."""
    if "<!ENTITY" in source.text or "<!DOCTYPE" in source.text:
        raise InvalidInput(f"{source.name}: declares XML entities, which ELAN files do not need; refused")
    pympi = optional("pympi", extra="formats")

    def parse(path: str) -> list[tuple[str, str, Any]]:
        document = pympi.Elan.Eaf(path, suppress_version_warning=True)
        found = []
        for tier in document.get_tier_names():
            for item in document.get_annotation_data_for_tier(tier):
                found.append((str(tier), str(item[2] or ""), (float(item[0]) / 1000, float(item[1]) / 1000)))
        return found

    return _rows(source, _as_utf8(source, parse), {})


def write_elan(events: Events, path: Path) -> list[str]:
    """One ELAN file per recording, one tier per class; ELAN counts milliseconds."""
    pympi = optional("pympi", extra="formats")
    found = losses(events, empty=True, extra=("tier",))

    def one(frame: pd.DataFrame, name: str, target: Path) -> list[str]:
        lost: list[str] = []
        frame = _clean(frame, lost)
        document = pympi.Elan.Eaf(author="weakly")
        document.remove_tier("default")
        rounded = 0
        for title, entries in _layers(frame) or [("events", [])]:
            document.add_tier(title)
            for start, end, text in entries:
                first, last = round(float(start) * 1000), round(float(end) * 1000)
                rounded += first / 1000 != float(start) or last / 1000 != float(end)
                document.add_annotation(title, first, max(last, first + 1), text)
        if rounded:
            lost.append(f"fractions of a millisecond of {count(rounded, 'event')}")
        handle, temporary = tempfile.mkstemp(suffix=".eaf")
        os.close(handle)
        try:
            document.to_file(temporary)
            text = Path(temporary).read_text(encoding="utf-8")
        except (ValueError, UnicodeError) as error:
            raise InvalidInput(f"{target}: ELAN cannot hold these labels: {error}") from error
        finally:
            for leftover in (temporary, temporary[:-4] + ".bak", temporary + ".bak"):
                Path(leftover).unlink(missing_ok=True)
        save(target, [text])
        return lost

    return found + per_recording(events, path, ending=".eaf", one=one, kind="ELAN")


READERS = (
    Format("textgrid", "TextGrid of Praat (needs the extra formats)", sniff_textgrid, read_textgrid, write_textgrid,
           endings=(".textgrid",)),
    Format("elan", "ELAN annotation document (needs the extra formats)", sniff_elan, read_elan, write_elan,
           endings=(".eaf",)),
)  # fmt: skip
