"""Every closed form: the theorems of the paper, corrected, and what follows from them. Public as ``wk.theory``.

Floats or arrays in, floats or arrays out; everything broadcasts and is keyword-only. The rooms: :mod:`.single` (the
theorems, random lengths), :mod:`.optimum` (the best segment length, bounds), :mod:`.dense` (events that merge, in long
recordings and in finite ones), :mod:`.extensions` (overlapping windows, more dimensions), :mod:`.costs` (targets,
budgets, break-even, bisection).

>>> import weakly as wk
>>> round(wk.theory.best_overlap_accuracy(presence_criterion=0.5), 4)
0.7639
"""

from ..model.intervals import windows_per_cell
from .costs import (
    affordable_accuracy,
    affordable_segment_length,
    bisection_listened,
    bisection_queries,
    break_even_events,
    break_even_overestimation,
    break_even_recording_length,
    cost_ratio,
    longest_segment_length,
    minimal_cost,
    optimal_start_level,
)
from .dense import Crowded, Dense, clump_cdf, crowded_recordings, dense_recordings, optimal_dense_segment_length
from .extensions import (
    box_overlap_accuracy,
    box_recall,
    box_wrong_volume,
    optimal_box_ratio,
    optimal_votes,
    overlap_accuracy_per_recording,
    overlap_accuracy_profile,
    overlapping_cell_accuracy,
    overlapping_wrong_time,
    present_share,
    soft_wrong_time,
)
from .optimum import critical_event_rate, ideal_criterion, optimal_segment_length, overlap_accuracy_bound
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

__all__ = [
    "Crowded",
    "Dense",
    "affordable_accuracy",
    "affordable_segment_length",
    "best_overlap_accuracy",
    "bisection_listened",
    "bisection_queries",
    "box_overlap_accuracy",
    "box_recall",
    "box_wrong_volume",
    "break_even_events",
    "break_even_overestimation",
    "break_even_recording_length",
    "clump_cdf",
    "cost_ratio",
    "critical_event_rate",
    "crowded_recordings",
    "dense_recordings",
    "event_recall",
    "expected_present_segments",
    "ideal_criterion",
    "longest_segment_length",
    "minimal_cost",
    "optimal_box_ratio",
    "optimal_dense_segment_length",
    "optimal_query_count",
    "optimal_segment_length",
    "optimal_start_level",
    "optimal_votes",
    "overlap_accuracy",
    "overlap_accuracy_bound",
    "overlap_accuracy_per_recording",
    "overlap_accuracy_profile",
    "overlapping_cell_accuracy",
    "overlapping_wrong_time",
    "precision",
    "present_share",
    "recall",
    "recording_accuracy",
    "soft_wrong_time",
    "windows_per_cell",
    "wrong_time",
]
