"""How a team goes on: how much each has answered, and how far they agree."""

from __future__ import annotations

import statistics
from itertools import combinations
from typing import Any

import numpy as np

from ..auditing.agreement import krippendorff_alpha
from .session import Session


def summary(session: Session) -> dict[str, Any]:
    """Answers and median seconds of each person; how often two of them agree, and Krippendorff's alpha.

    Only sure answers are compared; alpha is None where no two people answered the same query, or all said the same.
    """
    people: dict[str, list[float]] = {name: [] for name in session.annotators}
    counts: dict[str, dict[str, int]] = {}
    for one in session.all_answers():
        people.setdefault(one.annotator, []).append(one.seconds)
        word = "unsure" if np.isnan(one.present) else "present" if one.present else "absent"
        mine = counts.setdefault(one.annotator, {"present": 0, "absent": 0, "unsure": 0})
        mine[word] += 1
    asked = list(session.items)
    by_query = [[one.present for one in session.answers(query) if not np.isnan(one.present)] for query in asked]
    pairs = [a == b for given in by_query for a, b in combinations(given, 2)]
    sums = np.array([(sum(given), len(given)) for given in by_query], dtype=float).reshape(-1, 2)
    alpha = krippendorff_alpha(sums[:, 0], sums[:, 1])
    rows = [
        {"annotator": name, "answers": len(seconds), **counts.get(name, {"present": 0, "absent": 0, "unsure": 0}),
         "seconds_per_query": statistics.median(known) if (known := [s for s in seconds if s >= 0]) else None}
        for name, seconds in people.items()
    ]  # fmt: skip
    return {
        "annotators": rows, "queries": len(asked), "settled": sum(map(session.is_settled, asked)),
        "answers": sum(row["answers"] for row in rows), "agreement": float(np.mean(pairs)) if pairs else None,
        "compared": len(pairs), "alpha": alpha if np.isfinite(alpha) else None, "bookmarks": session.bookmarks(),
    }  # fmt: skip
