"""Recordings: their lengths, their samples block by block, features over time, and synthetic soundscapes."""

from .features import Features, load_features, log_mel
from .reading import Listing, Signal, blocks, duration, durations, write_clip
from .soundscape import Soundscape, soundscape

__all__ = [
    "Features",
    "Listing",
    "Signal",
    "Soundscape",
    "blocks",
    "duration",
    "durations",
    "load_features",
    "log_mel",
    "soundscape",
    "write_clip",
]
