"""The two tables of the paper, with the column that each lacked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pandas as pd

from ..annotator import segment_accuracy
from ..theory import optimal_segment_length
from .proofs import CASES, states
from .scenarios import DATASETS


@dataclass(frozen=True)
class Table:
    """One table with its caption."""

    name: str
    number: str
    title: str
    caption: str
    frame: pd.DataFrame

    def to_dict(self) -> dict[str, Any]:
        """The table's rows with its caption."""
        words = ("name", "number", "title", "caption")
        return {name: getattr(self, name) for name in words} | {"rows": self.frame.to_dict(orient="records")}


def datasets() -> Table:
    """Table 1: data sets with fixed segments, and the events that their segments suit best."""
    ratio = float(optimal_segment_length(event_length=1.0, presence_criterion=0.5))
    rows = [
        {
            "data_set": name,
            "reference": reference,
            "task": task,
            "segment_length (s)": length,
            "best for events of (s)": length / ratio,
        }
        for name, reference, task, length in DATASETS
    ]
    caption = (
        "Large audio data sets that are labelled in fixed segments. Last column, ours: the event length for which that "
        "segment length is the best one if annotators notice half an event (Theorem 2 with gamma = 0.5)."
    )
    return Table("datasets", "Table 1", "Data sets with fixed segments", caption, pd.DataFrame(rows))


_TIMES = {"i": ("0", "γ d_e", "d_q", "d_e"), "ii": ("0", "γ d_e", "d_e", "d_q")}
_VALUES = {
    "i": ("1", "(d_q - γ d_e)/d_q, then γ d_e/d_q", "1", "1"),
    "ii": ("1", "(d_q - γ d_e)/d_q, then γ d_e/d_q", "d_e/d_q", "d_e/d_q"),
}


def expressions() -> Table:
    """Table 2: the states of the accuracy function, with their values in an example and from the definition."""
    rows = []
    for case, (d, q, g) in CASES.items():
        for k, (t, before, after) in enumerate(states(event_length=d, segment_length=q, presence_criterion=g)[:4]):
            direct = [
                float(segment_accuracy(event=(x - d, x), segment=(0.0, q), presence_criterion=g))
                for x in ((t - 1e-7, t + 1e-7) if k == 1 else (t + 1e-7,))
            ]
            formula = (before, after) if k == 1 else (after,)
            rows.append(
                {
                    "case": f"({case})",
                    "state": f"t_{k}",
                    "t": _TIMES[case][k],
                    "F": _VALUES[case][k],
                    "t (s), example": t,
                    "F, example": ", ".join(f"{value:.4f}" for value in formula),
                    "F from the definition": ", ".join(f"{value:.4f}" for value in direct),
                }
            )
    caption = (
        "The states at which the accuracy function bends or jumps, for events at least as long as the segment (i) and "
        "shorter ones (ii), with the examples of Figure 15. At t_1 the label turns from absent to present: F "
        "just before, then just after."
    )
    return Table("expressions", "Table 2", "The states of the accuracy function", caption, pd.DataFrame(rows))


TABLES = {"datasets": datasets, "expressions": expressions}
