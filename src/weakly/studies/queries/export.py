"""Queries for the annotator's tool: Label Studio, Raven, Audacity, clip tables, cut clips; all exports of the store.

A file in which somebody may have typed is never written over: its answers are taken into the store, its text stays as
it is, and only rows that it lacks are added behind it. Every file appears whole or not at all.
"""

from __future__ import annotations

import csv
import io
import json
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote
from xml.sax.saxutils import quoteattr

import numpy as np
import pandas as pd

from ...base.errors import InvalidInput
from ...base.files import atomic_write, private_files
from ...base.symbols import choice
from ...io.signals import write_clip

if TYPE_CHECKING:
    from ...methods.base import Recording
    from .campaign import Campaign
    from .query_set import Queries

TOOLS = ("labelstudio", "raven", "audacity", "csv", "clips")
REGION = "segment"  # what the marked segment is called in Label Studio
CHOICES = ("present", "absent", "unsure")
_ID = re.compile(r"\b[0-9a-f]{12}\b")


def table(frame: pd.DataFrame, sep: str = ",") -> str:
    """The table as text: no index, Unix line ends."""
    buffer = io.StringIO()
    frame.to_csv(buffer, index=False, sep=sep, lineterminator="\n")
    return buffer.getvalue()


def text_of(path: Path) -> str:
    """The text of a file; "" where there is none."""
    try:
        return path.read_bytes().decode("utf-8") if path.is_file() else ""
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{path}: is not text ({error.reason}); move it away, it is left as it is") from error


class Exporter:
    """Writes the files of one campaign into its folder, and remembers what it wrote."""

    def __init__(self, campaign: Campaign) -> None:
        self.campaign, self.folder, self.store = campaign, campaign.folder, campaign.store
        self.paths: list[Path] = []

    def place(self, path: Path, text: str) -> None:
        """The file with this text; untouched if it has it already. What somebody changed must not get here."""
        path.parent.mkdir(parents=True, exist_ok=True)
        data = text.encode("utf-8")
        if not (path.is_file() and path.read_bytes() == data):
            # Remembered first: after a crash the file is ours, whichever of the two it is.
            self.store.written(self._name(path), data)
            with atomic_write(path, "wb") as file:
                file.write(data)
        self.paths.append(path)

    def _name(self, path: Path) -> str:
        return os.path.relpath(path, self.folder)

    def changed(self, path: Path) -> bool:
        """Whether somebody changed the file since it was written."""
        from .store import fingerprint

        return path.is_file() and fingerprint(path.read_bytes()) not in self.store.written(self._name(path))

    def rows(self, path: Path, frame: pd.DataFrame, *, key: str, sep: str = ",") -> None:
        """A table with these rows: where one is there, only the rows that it lacks are added behind its own text."""
        text = text_of(path)
        if not text.strip():
            return self.place(path, table(frame, sep))
        first = text.partition("\n")[0].rstrip("\r")
        sep = max((sep, "\t", ";", ","), key=first.count)
        try:
            found = list(csv.reader(io.StringIO(text), delimiter=sep))
        except csv.Error as error:
            raise InvalidInput(
                f"{path}: is not a table any more ({error}); move it away, it is left as it is"
            ) from error
        names = [name.strip().strip("\ufeff") for name in found[0]]
        if key not in names:
            raise InvalidInput(
                f"{path}: has no column {key!r} and is not rewritten, for somebody may have typed in it; "
                "move it away and run the command again"
            )
        at = names.index(key)
        known = {row[at].strip() for row in found[1:] if len(row) > at}
        new = frame[~frame[key].isin(known)]
        if new.empty:
            self.paths.append(path)
            return None
        more = table(new.reindex(columns=names), sep).partition("\n")[2]
        end = "\r\n" if first != text.partition("\n")[0] else "\n"
        return self.place(path, text + ("" if text.endswith("\n") else end) + more.replace("\n", end))

    def lines(self, path: Path, lines: dict[str, str]) -> None:
        """Lines by query: those that the file lacks are added behind its own."""
        text = text_of(path)
        known = set(_ID.findall(text))
        more = "".join(line for query, line in lines.items() if query not in known)
        self.place(path, text + ("" if not text or text.endswith("\n") else "\n") + more if more or not text else text)

    def whole(self, path: Path, text: str, *, theirs: bool = False) -> None:
        """A file that is ours; one that somebody changed stays (``theirs``), or stops us if it lacks something."""
        if not self.changed(path) or text_of(path) == text:
            return self.place(path, text)
        if not theirs and not set(_ID.findall(text)) <= set(_ID.findall(text_of(path))):
            raise InvalidInput(
                f"{path}: was changed since it was written and lacks new queries; its answers are in the campaign; "
                "move it away and run the command again"
            )
        self.paths.append(path)
        return None


@private_files()
def write(
    queries: Queries,
    out: str | os.PathLike[str],
    *,
    to: str = "csv",
    url_prefix: str = "/data/local-files/?d=",
    cut: bool = False,
    fade: float = 0.005,
) -> list[Path]:
    """Take the queries into the campaign of a folder, and write the files of one tool; the paths, the store first.

    Parameters
    ----------
    queries : what :func:`weakly.queries` returned. In a folder with earlier rounds, its rows are added to theirs; a
        folder that holds another campaign is refused.
    to : "labelstudio" (tasks and a labelling configuration), "raven" and "audacity" (one file per recording), "csv" (a
        table with one row per clip: file, start_time, end_time, annotation), "clips" (that table over cut WAV files).
    url_prefix : what stands before a recording's path in Label Studio; the default is its local file storage.
    cut : for Label Studio, cut WAV clips and let each task play only its own; else the task holds the recording with
        the segment marked in it.
    fade : seconds of fade at both ends of a cut clip.
    """
    from .campaign import QUERIES, Campaign

    choice("to", to, TOOLS)
    if to == "clips" or cut:
        for name in queries.frame["recording"].unique():
            if queries.recordings[str(name)].path is None:
                raise InvalidInput(f"recording {name!r}: clips need its audio, and only its length is known")
    campaign = Campaign.start(out, queries, tool={"to": to, "url_prefix": url_prefix, "cut": cut})
    folder, frame, known = campaign.folder, campaign.queries, campaign.everything() | queries.recordings
    typed = {one.query: CHOICES[2 if np.isnan(one.present) else 0 if one.present else 1]
             for one in campaign.answers if not one.annotator}  # fmt: skip
    frame = frame.assign(answer=[typed.get(query, "") for query in frame["query"]])
    export, sample_rate = Exporter(campaign), queries.parameters["sample_rate"]
    export.rows(folder / QUERIES, frame.drop(columns="answer"), key="query")
    if to == "labelstudio":
        clips = _cut(frame, known, folder, fade, sample_rate) if cut else None
        _labelstudio(export, frame, known, clips, url_prefix)
    elif to == "raven":
        for name, part in frame.groupby("recording", sort=False):
            export.rows(folder / "raven" / f"{_stem(name)}.Table.1.selections.txt", _raven(part), key="Query", sep="\t")
    elif to == "audacity":
        for name, part in frame.groupby("recording", sort=False):
            export.lines(folder / "audacity" / f"{_stem(name)}.txt", _audacity(part))
    elif to == "csv":
        export.rows(folder / "clips.csv", _clips(frame, known), key="query")
    else:
        clips = _cut(frame, known, folder, fade, sample_rate)
        listing = _clips(frame, known)
        listing["file"] = [str(path.relative_to(folder)) for path in clips]
        listing["start_time"], listing["end_time"] = 0.0, (frame["offset"] - frame["onset"]).round(6).to_numpy()
        export.paths += clips
        export.rows(folder / "clips.csv", listing, key="query")
    return [*([] if campaign.store.file is None else [campaign.store.file]), *export.paths]


def _stem(name: Any) -> str:
    return str(name).replace("/", "__").replace("\\", "__")


def _raven(part: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame({
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
        "Answer": part["answer"],
    })  # fmt: skip


def _audacity(part: pd.DataFrame) -> dict[str, str]:
    columns = ["query", "onset", "offset", "label", "answer"]
    return {
        query: f"{onset:.6f}\t{offset:.6f}\t{query} {label}? {answer}".rstrip() + "\n"
        for query, onset, offset, label, answer in part[columns].itertuples(index=False)
    }


def _clips(frame: pd.DataFrame, known: dict[str, Recording]) -> pd.DataFrame:
    paths = {name: name if one.path is None else str(one.path) for name, one in known.items()}
    return pd.DataFrame({
        "file": frame["recording"].map(paths),
        "start_time": frame["onset"].round(6),
        "end_time": frame["offset"].round(6),
        "annotation": frame["answer"],
        "comments": "",
        "label": frame["label"],
        "query": frame["query"],
    })  # fmt: skip


def _cut(
    frame: pd.DataFrame, known: dict[str, Recording], folder: Path, fade: float, sample_rate: float | None
) -> list[Path]:
    paths = []
    for row in frame.to_dict("records"):
        target, source = folder / "clips" / f"{row['query']}.wav", known[row["recording"]].path
        assert source is not None
        if not target.is_file():  # the id says what is in it, so a clip that is there is right
            write_clip(source, target, onset=row["onset"], offset=row["offset"], fade=fade, sample_rate=sample_rate)
        paths.append(target)
    return paths


def _labelstudio(
    export: Exporter, frame: pd.DataFrame, known: dict[str, Recording], clips: list[Path] | None, prefix: str
) -> None:
    export.paths += clips or []
    turns: dict[int, list[dict[str, Any]]] = {}
    for k, row in enumerate(frame.to_dict("records")):
        clip = None if clips is None else clips[k]
        turns.setdefault(int(row["round"]), []).append(_task(row, clip, known[row["recording"]].path, prefix))
    for turn, tasks in sorted(turns.items()):
        name = "tasks.json" if turn == 1 else f"tasks_{turn}.json"
        export.whole(export.folder / name, json.dumps(tasks, indent=1, ensure_ascii=False) + "\n")
    export.whole(export.folder / "labeling_config.xml", labeling_config(whole=clips is None), theirs=True)


def _task(row: dict[Any, Any], clip: Path | None, path: Path | None, prefix: str) -> dict[str, Any]:
    source = clip if clip is not None else path
    place = row["recording"] if source is None else str(source.resolve())  # the server has a folder of its own
    onset, offset = round(row["onset"], 6), round(row["offset"], 6)
    where = "" if clip is not None else f" between {onset:.2f} s and {offset:.2f} s"
    data = {
        "audio": prefix + quote(place.lstrip("/")) if prefix else place,
        **{name: row[name] for name in ("query", "recording")},
        "onset": onset,
        "offset": offset,
        "label": row["label"],
        "question": f"Is there {row['label']}{where}?",
    }
    task: dict[str, Any] = {"data": data}
    if clip is None:
        # Label Studio cannot play a part of a file, so the part is marked: a click on the region plays it.
        region = {
            "id": row["query"], "from_name": "segment", "to_name": "audio", "type": "labels", "readonly": True,
            "original_length": round(row["recording_length"], 6),
            "value": {"start": onset, "end": offset, "channel": 0, "labels": [REGION]},
        }  # fmt: skip
        task["predictions"] = [{"model_version": "weakly", "result": [region]}]
    return task


def labeling_config(*, whole: bool) -> str:
    """The labelling configuration: hear the segment, answer present, absent or unsure (keys 1, 2, 3)."""
    choices = "\n".join(
        f"    <Choice value={quoteattr(word)} hotkey={quoteattr(str(k + 1))}/>" for k, word in enumerate(CHOICES)
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
