"""Every closed form: the theorems of the paper, corrected, and what follows from them. Public as ``wk.theory``.

Floats or arrays in, floats or arrays out; everything broadcasts and is keyword-only. The rooms: :mod:`.single` (the
theorems, random lengths), :mod:`.optimum` (the best segment length, bounds), :mod:`.dense` (events that merge, in long
recordings and in finite ones), :mod:`.extensions` (overlapping windows, more dimensions), :mod:`.costs` (targets,
budgets, break-even, bisection).

>>> import weakly as wk
>>> round(wk.theory.best_overlap_accuracy(presence_criterion=0.5), 4)
0.7639
"""

from ..model.intervals import windows_per_cell as windows_per_cell
from .costs import affordable_accuracy as affordable_accuracy
from .costs import affordable_segment_length as affordable_segment_length
from .costs import bisection_listened as bisection_listened
from .costs import bisection_queries as bisection_queries
from .costs import break_even_events as break_even_events
from .costs import break_even_overestimation as break_even_overestimation
from .costs import break_even_recording_length as break_even_recording_length
from .costs import cost_ratio as cost_ratio
from .costs import longest_segment_length as longest_segment_length
from .costs import minimal_cost as minimal_cost
from .costs import optimal_start_level as optimal_start_level
from .dense import Crowded as Crowded
from .dense import Dense as Dense
from .dense import clump_cdf as clump_cdf
from .dense import crowded_recordings as crowded_recordings
from .dense import dense_recordings as dense_recordings
from .dense import optimal_dense_segment_length as optimal_dense_segment_length
from .extensions import box_overlap_accuracy as box_overlap_accuracy
from .extensions import box_recall as box_recall
from .extensions import box_wrong_volume as box_wrong_volume
from .extensions import optimal_box_ratio as optimal_box_ratio
from .extensions import optimal_votes as optimal_votes
from .extensions import overlap_accuracy_per_recording as overlap_accuracy_per_recording
from .extensions import overlap_accuracy_profile as overlap_accuracy_profile
from .extensions import overlapping_cell_accuracy as overlapping_cell_accuracy
from .extensions import overlapping_wrong_time as overlapping_wrong_time
from .extensions import present_share as present_share
from .extensions import soft_wrong_time as soft_wrong_time
from .optimum import critical_event_rate as critical_event_rate
from .optimum import ideal_criterion as ideal_criterion
from .optimum import optimal_segment_length as optimal_segment_length
from .optimum import overlap_accuracy_bound as overlap_accuracy_bound
from .single import best_overlap_accuracy as best_overlap_accuracy
from .single import event_recall as event_recall
from .single import expected_present_segments as expected_present_segments
from .single import optimal_query_count as optimal_query_count
from .single import overlap_accuracy as overlap_accuracy
from .single import precision as precision
from .single import recall as recall
from .single import recording_accuracy as recording_accuracy
from .single import wrong_time as wrong_time

#: Every name above.
__all__ = [name for name, value in globals().items() if callable(value) and not name.startswith("_")]
