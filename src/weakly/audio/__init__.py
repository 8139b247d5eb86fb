"""Recordings: their lengths, their samples block by block, features over time, and synthetic soundscapes."""

from .features import Features, load_features, log_mel
from .reading import (
    RECORDINGS,
    SIGNALS,
    Listing,
    Signal,
    blocks,
    channel_names,
    duration,
    durations,
    header,
    read_clip,
    write_clip,
)
from .soundscape import Soundscape, soundscape
from .video import VIDEOS

__all__ = [
    "RECORDINGS",
    "SIGNALS",
    "VIDEOS",
    "Features",
    "Listing",
    "Signal",
    "Soundscape",
    "blocks",
    "channel_names",
    "duration",
    "durations",
    "header",
    "load_features",
    "log_mel",
    "read_clip",
    "soundscape",
    "write_clip",
]
