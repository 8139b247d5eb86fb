"""Annotation files and events: one short file per family of formats, found by looking into the file.

``FORMATS`` lists them in the order in which they are asked; ``register`` puts your own before them.
"""

from __future__ import annotations

from . import binary, clip_tables, documents, labelstudio, plain, surveys, tool_tables, tracks
from .formats import FORMATS, Format, detect, register, write
from .lint import Check, FileFinding, check
from .reading import read, read_answers, read_examined, read_lengths

# The most particular first: the plain tables accept almost anything with a start and an end.
for _family in (
    binary.READERS, surveys.PROJECTS, documents.DOCUMENTS, labelstudio.READERS, documents.READERS, tool_tables.AUDIOSET,
    clip_tables.READERS, tool_tables.READERS, surveys.STATES, tool_tables.DETECTIONS, plain.TOOLS, tool_tables.RAVEN,
    tracks.READERS, surveys.READERS, binary.TIERS, tracks.TRACKS, surveys.BARE, plain.TABLES,
):  # fmt: skip
    register(*_family, last=True)

__all__ = [
    "FORMATS", "Check", "FileFinding", "Format", "check", "detect", "read", "read_answers", "read_examined",
    "read_lengths", "register", "write",
]  # fmt: skip
