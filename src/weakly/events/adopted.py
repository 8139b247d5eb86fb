"""Events from the objects of other libraries: MNE, pyannote, crowsetta."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from .table import Reading

if TYPE_CHECKING:
    from .events import Events


class Adopted:
    """The ways of making events from what other libraries hold; ``Events`` has them."""

    @classmethod
    def from_mne(cls, annotations: Any, *, recording: str = "recording") -> Events:
        """The events of an ``mne.Annotations``, or of a ``Raw`` with them, whose length is then the recording's.

        Annotations without a duration are points and left out, with a note.
        """
        length, start = None, 0.0
        if hasattr(annotations, "annotations"):
            raw, annotations = annotations, annotations.annotations
            length = raw.n_times / raw.info["sfreq"]
            start = float(raw.first_time) if annotations.orig_time is not None else 0.0
        onset = np.asarray(annotations.onset, np.float64) - start
        texts = [str(text) for text in annotations.description]
        offset = onset + np.asarray(annotations.duration)
        table = pd.DataFrame({"recording": recording, "onset": onset, "offset": offset, "label": texts})
        return _without_points(table, {recording: length} if length else None, [recording])

    @classmethod
    def from_pyannote(cls, annotations: Any) -> Events:
        """The events of a ``pyannote.core.Annotation``, or of several by recording (a dictionary or a list)."""
        if isinstance(annotations, Mapping):
            items = [(str(name), one) for name, one in annotations.items()]
        else:
            many = [annotations] if hasattr(annotations, "itertracks") else list(annotations)
            items = [(str(one.uri or f"recording {k + 1}" if len(many) > 1 else one.uri or "recording"), one)
                     for k, one in enumerate(many)]  # fmt: skip
        rows = [(name, part.start, part.end, str(label)) for name, one in items
                for part, _, label in one.itertracks(yield_label=True)]  # fmt: skip
        table = pd.DataFrame(rows, columns=["recording", "onset", "offset", "label"])
        return _events(table, recordings=[name for name, _ in items], source="pyannote")

    @classmethod
    def from_crowsetta(cls, annotations: Any) -> Events:
        """The events of ``crowsetta.Annotation`` objects: their sequences or bounding boxes, by the notated path."""
        many = [annotations] if hasattr(annotations, "annot_path") else list(annotations)
        rows, names = [], []
        for one in many:
            name = str(one.notated_path if one.notated_path is not None else one.annot_path)
            names.append(name)
            boxes = getattr(one, "bboxes", None)
            if boxes:
                rows += [(name, float(box.onset), float(box.offset), str(box.label)) for box in boxes]
                continue
            for part in one.seq if isinstance(one.seq, list) else [one.seq]:
                rows += [
                    (name, float(a), float(b), str(c)) for a, b, c in zip(part.onsets_s, part.offsets_s, part.labels)
                ]
        table = pd.DataFrame(rows, columns=["recording", "onset", "offset", "label"])
        return _events(table, recordings=names, source="crowsetta")


def _events(table: pd.DataFrame, **more: Any) -> Events:
    from .events import Events

    return Events.from_frame(table, **more)


def _without_points(table: pd.DataFrame, length: Any, names: list[str]) -> Events:
    points = int((table["offset"] == table["onset"]).sum())
    made = _events(table[table["offset"] != table["onset"]], recording_length=length, recordings=names)
    if points:
        account = {"rows": len(table), "events": len(made), "skipped": points}
        made.source = Reading(
            notes=(f"{points} annotations without a length are left out",), skipped=points, account=account
        )
    return made
