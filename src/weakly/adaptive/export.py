"""Queries for the annotator's tool: Label Studio, Raven, Audacity, clip tables, cut clips; and the campaign's state.

The state is ``queries.csv`` with ``campaign.json`` beside it. It is written first, and each file appears whole or not
at all, so after a crash the same command completes what is missing; a file that would not change is not touched.
"""

from __future__ import annotations

import io
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote
from xml.sax.saxutils import quoteattr

import pandas as pd

from ..audio import write_clip
from ..errors import InvalidInput
from ..files import atomic_write
from ..symbols import choice

if TYPE_CHECKING:
    from .queries import Queries

TOOLS = ("labelstudio", "raven", "audacity", "csv", "clips")
ANSWERS = ("present", "absent", "unsure")
STATE, SETTINGS = "queries.csv", "campaign.json"


def save(path: Path, text: str) -> Path:
    """The file with this text; untouched if it has it already."""
    path.parent.mkdir(parents=True, exist_ok=True)
    data = text.encode("utf-8")
    if not (path.is_file() and path.read_bytes() == data):
        with atomic_write(path, "wb") as file:
            file.write(data)
    return path


def table(frame: pd.DataFrame, sep: str = ",") -> str:
    """The table as text: every time with microseconds at most, no index, Unix line ends."""
    buffer = io.StringIO()
    frame.to_csv(buffer, index=False, sep=sep, lineterminator="\n")
    return buffer.getvalue()


def write(
    queries: Queries,
    out: str | os.PathLike[str],
    *,
    to: str = "csv",
    url_prefix: str = "/data/local-files/?d=",
    cut: bool = False,
    fade: float = 0.005,
    sample_rate: float | None = None,
) -> list[Path]:
    """Write the state of the campaign and the files of one tool; the paths, state first.

    Parameters
    ----------
    queries : what :func:`weakly.queries` returned. In a folder with earlier rounds, its rows are added to theirs.
    to : "labelstudio" (tasks and a labelling configuration), "raven" and "audacity" (one file per recording), "csv" (a
        table with one row per clip: file, start_time, end_time, annotation), "clips" (that table over cut WAV files).
    url_prefix : what stands before a recording's path in Label Studio; the default is its local file storage.
    cut : for Label Studio, cut WAV clips and let each task play only its own; else the task holds the recording with
        the segment marked in it.
    fade : seconds of fade at both ends of a cut clip.
    """
    choice("to", to, TOOLS)
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    frame = add_round(folder / STATE, queries.frame)
    settings = {
        "method": queries.method,
        "parameters": queries.parameters,
        "recordings": _known(folder / SETTINGS)
        | {
            name: {"seconds": one.length, "path": None if one.path is None else str(one.path)}
            for name, one in sorted(queries.recordings.items())
        },
        "to": to,
    }
    paths = [
        save(folder / SETTINGS, json.dumps(settings, indent=2, ensure_ascii=False) + "\n"),
        save(folder / STATE, table(frame)),
    ]
    if to == "labelstudio":
        paths += _labelstudio(frame, queries, folder, url_prefix, cut, fade, sample_rate)
    elif to == "raven":
        paths += [save(folder / "raven" / f"{_stem(name)}.Table.1.selections.txt", _raven(part))
                  for name, part in frame.groupby("recording", sort=False)]  # fmt: skip
    elif to == "audacity":
        paths += [save(folder / "audacity" / f"{_stem(name)}.txt", _audacity(part))
                  for name, part in frame.groupby("recording", sort=False)]  # fmt: skip
    elif to == "csv":
        paths.append(save(folder / "clips.csv", table(_clips(frame, queries))))
    else:
        clips = _cut(frame, queries, folder, fade, sample_rate)
        listing = _clips(frame, queries)
        listing["file"] = [str(path.relative_to(folder)) for path in clips]
        listing["start_time"], listing["end_time"] = 0.0, (frame["offset"] - frame["onset"]).round(6).to_numpy()
        paths += [*clips, save(folder / "clips.csv", table(listing))]
    return paths


def _known(settings: Path) -> dict[str, Any]:
    """The recordings of earlier rounds."""
    return dict(json.loads(settings.read_text(encoding="utf-8"))["recordings"]) if settings.is_file() else {}


def add_round(state: Path, frame: pd.DataFrame) -> pd.DataFrame:
    """The rows of the state file and those of the frame that it does not hold yet."""
    if not state.is_file():
        return frame
    old = read_state(state)
    new = frame[~frame["query"].isin(set(old["query"]))]
    return old if new.empty else pd.concat([old, new], ignore_index=True)


def read_state(path: Path) -> pd.DataFrame:
    """The queries of a campaign."""
    from .queries import COLUMNS

    if not path.is_file():
        raise InvalidInput(f"{path}: no such file; queries.csv is written by weakly queries")
    numbers = ("onset", "offset", "event_fraction", "recording_length")
    texts = {"query": str, "recording": str, "label": str}
    try:
        # A recording or a label may be called "NA": only empty numbers are missing.
        frame = pd.read_csv(path, dtype=texts, keep_default_na=False, na_values={name: [""] for name in numbers})
    except (ValueError, pd.errors.ParserError) as error:
        raise InvalidInput(f"{path}: not a table of queries: {error}") from error
    missing = [name for name in COLUMNS if name not in frame.columns]
    if missing:
        raise InvalidInput(f"{path}: no column {missing[0]!r}; queries.csv is written by weakly queries")
    frame["calibration"] = frame["calibration"].astype(str).str.lower().isin(("true", "1"))
    return frame


def _stem(name: Any) -> str:
    return str(name).replace("/", "__").replace("\\", "__")


def _raven(part: pd.DataFrame) -> str:
    return table(
        pd.DataFrame({
            "Selection": range(1, len(part) + 1),
            "View": "Spectrogram 1",
            "Channel": 1,
            "Begin Time (s)": part["onset"].map("{:.6f}".format),
            "End Time (s)": part["offset"].map("{:.6f}".format),
            "Low Freq (Hz)": "0.0",
            "High Freq (Hz)": "20000.0",
            "Begin File": part["recording"],
            "Query": part["query"],
            "Label": part["label"],
            "Answer": "",
        }),
        sep="\t",
    )  # fmt: skip


def _audacity(part: pd.DataFrame) -> str:
    return "".join(
        f"{row.onset:.6f}\t{row.offset:.6f}\t{row.query} {row.label}?\n" for row in part.itertuples(index=False)
    )


def _place(queries: Queries, recording: str) -> str:
    path = queries.recordings[recording].path if recording in queries.recordings else None
    return recording if path is None else str(path)


def _clips(frame: pd.DataFrame, queries: Queries) -> pd.DataFrame:
    return pd.DataFrame({
        "file": [_place(queries, name) for name in frame["recording"]],
        "start_time": frame["onset"].round(6),
        "end_time": frame["offset"].round(6),
        "annotation": "",
        "comments": "",
        "label": frame["label"],
        "query": frame["query"],
    })  # fmt: skip


def _cut(frame: pd.DataFrame, queries: Queries, folder: Path, fade: float, sample_rate: float | None) -> list[Path]:
    paths = []
    for row in frame.itertuples(index=False):
        target = folder / "clips" / f"{row.query}.wav"
        source = queries.recordings[str(row.recording)].path if str(row.recording) in queries.recordings else None
        if source is None:
            raise InvalidInput(f"recording {row.recording!r}: clips need its audio, and only its length is known")
        if not target.is_file():  # the id says what is in it, so a clip that is there is right
            write_clip(source, target, onset=row.onset, offset=row.offset, fade=fade, sample_rate=sample_rate)  # type: ignore[arg-type]
        paths.append(target)
    return paths


def _labelstudio(
    frame: pd.DataFrame, queries: Queries, folder: Path, prefix: str, cut: bool, fade: float, sample_rate: float | None
) -> list[Path]:
    clips = _cut(frame, queries, folder, fade, sample_rate) if cut else [None] * len(frame)
    paths = [path for path in clips if path is not None]
    rounds = frame["round"].astype(int)
    for turn in sorted(rounds.unique()):
        tasks = [
            _task(row, clip, queries, prefix)
            for row, clip, mine in zip(frame.itertuples(index=False), clips, rounds == turn)
            if mine
        ]
        name = "tasks.json" if turn == 1 else f"tasks_{turn}.json"
        paths.append(save(folder / name, json.dumps(tasks, indent=1, ensure_ascii=False) + "\n"))
    paths.append(save(folder / "labeling_config.xml", labeling_config(whole=not cut)))
    return paths


def _task(row: Any, clip: Path | None, queries: Queries, prefix: str) -> dict[str, Any]:
    source = clip if clip is not None else queries.recordings[row.recording].path
    place = row.recording if source is None else str(source.resolve())  # the server has a folder of its own
    local = prefix + quote(place.lstrip("/"))
    where = "" if clip is not None else f" between {row.onset:.2f} s and {row.offset:.2f} s"
    data = {
        "audio": local if prefix else place,
        "query": row.query,
        "recording": row.recording,
        "onset": round(row.onset, 6),
        "offset": round(row.offset, 6),
        "label": row.label,
        "question": f"Is there {row.label}{where}?",
    }
    task: dict[str, Any] = {"data": data}
    if clip is None:
        # Label Studio cannot play a part of a file, so the part is marked: a click on the region plays it.
        region = {
            "id": row.query, "from_name": "segment", "to_name": "audio", "type": "labels", "readonly": True,
            "original_length": round(row.recording_length, 6),
            "value": {"start": round(row.onset, 6), "end": round(row.offset, 6), "channel": 0, "labels": ["segment"]},
        }  # fmt: skip
        task["predictions"] = [{"model_version": "weakly", "result": [region]}]
    return task


def labeling_config(*, whole: bool) -> str:
    """The labelling configuration: hear the segment, answer present, absent or unsure (keys 1, 2, 3)."""
    choices = "\n".join(
        f"    <Choice value={quoteattr(word)} hotkey={quoteattr(str(k + 1))}/>" for k, word in enumerate(ANSWERS)
    )
    marks = """  <Labels name="segment" toName="audio"><Label value="segment" background="#D55E00"/></Labels>
""" if whole else ""  # fmt: skip
    return f"""<View>
  <Header value="$question"/>
{marks}  <Audio name="audio" value="$audio" hotkey="space"/>
  <Choices name="answer" toName="audio" choice="single-radio" required="true" showInline="true">
{choices}
  </Choices>
</View>
"""
