"""Annotation files and events: one short file per family of formats, found by looking into the file.

``FORMATS`` lists them in the order in which they are asked; ``register`` puts your own before them.
"""

from __future__ import annotations

from . import (
    audioset,
    binary,
    boris,
    clip_tables,
    dcase,
    documents,
    kaleidoscope,
    labelstudio,
    plain,
    raven,
    surveys,
    tiers,
    tracks,
    videos,
)
from .durations import read_examined, read_lengths
from .lint import Check, FileFinding, check
from .reading import read, read_answers, write
from .registry import FORMATS, Format, detect, register

# The most particular first: the plain tables accept almost anything with a start and an end.
for _family in (
    binary.READERS, boris.PROJECTS, documents.DOCUMENTS, labelstudio.READERS, videos.READERS, documents.READERS,
    audioset.READERS, clip_tables.READERS, dcase.READERS, boris.READERS, kaleidoscope.READERS,
    plain.TOOLS, raven.READERS, tracks.READERS, surveys.READERS, tiers.READERS, tracks.TRACKS, plain.TABLES,
):  # fmt: skip
    register(*_family, last=True)

__all__ = [
    "FORMATS", "Check", "FileFinding", "Format", "check", "detect", "read", "read_answers", "read_examined",
    "read_lengths", "register", "write",
]  # fmt: skip
