"""Every closed form: the theorems of the paper, corrected, and what follows from them.

Floats or arrays in, floats or arrays out; everything broadcasts and is keyword-only. The rooms: :mod:`.single` (the
theorems), :mod:`.optimum` (the best segment length), :mod:`.stochastic` (samples, every criterion at once),
:mod:`.ratio` (without seconds), :mod:`.windows` (overlapping), :mod:`.boxes` (more dimensions), :mod:`.bounds`,
:mod:`.dense` and :mod:`.crowded` (events that merge), :mod:`.bisection`, :mod:`.aggregates` (the criterion from a
share).
"""

from .aggregates import present_share
from .bisection import bisection_listened, bisection_queries, optimal_start_level
from .bounds import critical_event_rate, ideal_criterion, overlap_accuracy_bound
from .boxes import box_overlap_accuracy, box_recall, box_wrong_volume, optimal_box_ratio
from .crowded import Crowded, crowded_recordings
from .dense import Dense, clump_cdf, dense_recordings, optimal_dense_segment_length
from .optimum import optimal_segment_length
from .ratio import (
    optimal_length_ratio,
    overlap_accuracy_at_ratio,
    overlap_accuracy_per_recording,
    recording_accuracy_at_ratio,
)
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
from .windows import (
    optimal_votes,
    overlapping_cell_accuracy,
    overlapping_wrong_time,
    soft_wrong_time,
    windows_per_cell,
)

__all__ = [
    "Crowded",
    "Dense",
    "best_overlap_accuracy",
    "bisection_listened",
    "bisection_queries",
    "box_overlap_accuracy",
    "box_recall",
    "box_wrong_volume",
    "clump_cdf",
    "critical_event_rate",
    "crowded_recordings",
    "dense_recordings",
    "event_recall",
    "expected_present_segments",
    "ideal_criterion",
    "optimal_box_ratio",
    "optimal_dense_segment_length",
    "optimal_length_ratio",
    "optimal_query_count",
    "optimal_segment_length",
    "optimal_start_level",
    "optimal_votes",
    "overlap_accuracy",
    "overlap_accuracy_at_ratio",
    "overlap_accuracy_bound",
    "overlap_accuracy_per_recording",
    "overlap_accuracy_profile",
    "overlapping_cell_accuracy",
    "overlapping_wrong_time",
    "precision",
    "present_share",
    "recall",
    "recording_accuracy",
    "recording_accuracy_at_ratio",
    "soft_wrong_time",
    "windows_per_cell",
    "wrong_time",
]
