"""Annotation files and events: one short file per format, found by looking into the file.

``FORMATS`` lists them in the order in which they are tried.
"""

from __future__ import annotations

from . import (
    audacity,
    audioset,
    birdnet,
    clips,
    dcase,
    fewshot,
    jams,
    labelstudio,
    parquet,
    plain,
    raven,
    rttm,
    surveys,
    tiers,
)
from .durations import read_lengths
from .io import read, read_answers, write
from .lint import Check, Finding, check
from .registry import FORMATS, Format, detect, register

# The most particular first: the plain tables accept almost anything with a start and an end.
for _room in (parquet, jams, labelstudio, audioset, fewshot, dcase, birdnet, raven, rttm, surveys, clips, tiers):
    register(*_room.HERE)
for _room in (audacity, plain):
    register(*_room.HERE)

__all__ = ["FORMATS", "Check", "Finding", "Format", "check", "detect", "read", "read_answers", "read_lengths", "write"]
