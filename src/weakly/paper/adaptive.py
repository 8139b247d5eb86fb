"""Where the paper ends: methods that follow the signal or the answers, on the same frontier as FIX and ORC."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ..adaptive.study import Study, study
from .picture import Picture


def pictures(*, quick: bool, seed: int, folders: Sequence[str | Path] = ()) -> Iterator[Picture]:
    """The frontier of every method over queries and over cost; soundscapes of our own, and recordings where given."""
    found = study(quick=quick, seed=seed, folders=tuple(folders))
    source = "synthetic soundscapes"
    if folders:
        source += " and the recordings in " + ", ".join(Path(folder).name for folder in folders)
    for x, words in (("n_queries", "the number of queries"), ("cost", "the cost, with r = 0.5")):
        caption = (
            f"Wrong time, event recall and accuracy given overlap over {words}: fixed and overlapping segments, change "
            "points with and without learning from the answers, bisection, and ORC, which knows the events. "
            f"{_verdict(found)}"
        )
        figure = found.figure(x=x)
        width, height = figure.get_size_inches()
        figure.set_size_inches(max(10.5, width), height)  # the legend needs room even with one column
        title = f"Adaptive labeling over {words.partition(',')[0]}"
        yield Picture(f"adaptive_{x}", "beyond the paper", title, caption, figure, source, _values(found))


def _values(found: Study) -> dict[str, Any]:
    return {"rows": found.to_frame().to_dict(orient="records")}


def _verdict(found: Study) -> str:
    table = found.compare()
    parts = []
    for method, part in table.groupby("method", sort=False):
        ratio = part["ratio"].dropna()
        if len(ratio):
            wins = int((ratio < 1).sum())
            parts.append(f"{method} has less wrong time than fixed segments in {wins} of {len(ratio)} settings")
    return "At the same number of queries " + "; ".join(parts) + "." if parts else ""
