"""Recordings: their lengths, their samples block by block, features over time, and synthetic soundscapes."""

from .features import Features, load_features, log_mel
from .reading import Listing, Signal, blocks, duration, durations, header, read_clip, write_clip
from .soundscape import Soundscape, soundscape

__all__ = [
    "Features",
    "Listing",
    "Signal",
    "Soundscape",
    "blocks",
    "duration",
    "durations",
    "header",
    "load_features",
    "log_mel",
    "read_clip",
    "soundscape",
    "write_clip",
]
