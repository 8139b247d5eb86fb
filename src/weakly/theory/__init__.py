"""Every closed form: the theorems of the paper, corrected, and what follows from them.

Floats or arrays in, floats or arrays out; everything broadcasts and is keyword-only.
"""

from .optimum import optimal_segment_length
from .single import (
    best_overlap_accuracy,
    event_recall,
    expected_present_segments,
    optimal_query_count,
    overlap_accuracy,
    precision,
    recall,
    recording_accuracy,
    wrong_time,
)
from .stochastic import overlap_accuracy_profile

__all__ = [
    "best_overlap_accuracy",
    "event_recall",
    "expected_present_segments",
    "optimal_query_count",
    "optimal_segment_length",
    "overlap_accuracy",
    "overlap_accuracy_profile",
    "precision",
    "recall",
    "recording_accuracy",
    "wrong_time",
]
