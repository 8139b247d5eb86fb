"""The four cost figures: what FIX costs against ORC over the criterion, the price of a query, events and time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import plot
from ..cost import break_even_events, break_even_recording_length, cost_ratio
from ..symbols import SYMBOLS
from ..theory import optimal_segment_length
from .picture import Picture, panels
from .scenarios import COST_DEFAULTS, OVERESTIMATION

AXES = {
    "presence_criterion": SYMBOLS["presence_criterion"].label,
    "query_cost_share": "share $r$ of the price that goes to a query",
    "n_events": "number of events $M$",
    "recording_length": SYMBOLS["recording_length"].label,
}
AsText = "as in the text, $B = s(2M+1)$"
AsCode = "as in the authors' code, $B = 2sM+1$"


def ratio(*, as_code: bool, overestimation: float, **changed: Any) -> Any:
    """The cost of FIX over the cost of ORC; the authors' code overestimates M, the text the number of queries (E16)."""
    setting = {**COST_DEFAULTS, **changed}
    if as_code:
        setting["n_events"] = overestimation * np.asarray(setting["n_events"])
        overestimation = 1.0
    return cost_ratio(event_length=1.0, overestimation=overestimation, **setting)


def _draw(name: str, x: str, values: NDArray[np.float64], title: str, words: str, **more: Any) -> Picture:
    figure, ax = panels(size=(6.8, 4.3))
    crossing: dict[str, float] = more.get("crossing", {})
    with plot.style():
        for colour, s in zip(plot.COLOURS, OVERESTIMATION):
            ax.plot(values, ratio(as_code=False, overestimation=s, **{x: values}), color=colour, label=f"$s$ = {s}")
            ax.plot(values, ratio(as_code=True, overestimation=s, **{x: values}), color=colour, ls=(0, (2, 2)), lw=1)
        ax.axhline(1.0, color="black", ls="--", lw=1)
        for colour, at in zip(plot.COLOURS, crossing.values() if crossing else ()):
            ax.plot([at], [1.0], "o", color=colour, ms=5)
        ax.plot([], [], color="grey", label=AsText)
        ax.plot([], [], color="grey", ls=(0, (2, 2)), lw=1, label=AsCode)
        ax.set(xlabel=AXES[x], ylabel=r"relative cost $C_{FIX}\,/\,C_{ORC}$", yscale=more.get("scale", "linear"))
        if more.get("scale") == "log":
            ax.set_yticks([1, 2, 5, 10, 20, 40], ["1", "2", "5", "10", "20", "40"], minor=False)
            ax.minorticks_off()
        ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.17), ncols=3, fontsize=8.5)
    settings = ", ".join(f"{SYMBOLS[key].latex} = {value:g}" for key, value in COST_DEFAULTS.items() if key != x)
    settings = settings.replace("\\gamma", "gamma")
    caption = (
        f"{words} Above the dashed line FIX costs more than ORC. Solid: ORC asks s times the queries it needs, as the "
        "text has it; dotted: it asks for s times the events, as the authors' code has it (E16). Elsewhere "
        f"{settings}, d_e = 1 s."
    )
    return Picture(
        name, "Figure 13" if x in ("presence_criterion", "query_cost_share") else "Figure 14", title, caption, figure
    )


def cost_criterion() -> Picture:
    """Figure 13, left: over the presence criterion."""
    words = (
        "FIX at its best segment length against ORC, over the presence criterion. A sensitive annotator (small gamma) "
        "is best served by short segments, which cost many queries: 681 at gamma = 0.1, not infinitely many (E19)."
    )
    return _draw(
        "cost_criterion", "presence_criterion", np.linspace(0.1, 1.0, 181), "Cost over the presence criterion", words
    )


def cost_share() -> Picture:
    """Figure 13, right: over the price of a query."""
    words = (
        "FIX against ORC over the share r of the price that goes to queries. Both hear the whole recording, so the "
        "side of the line on which a curve lies cannot depend on r (E18); at r = 0 every ratio is 1."
    )
    return _draw(
        "cost_share",
        "query_cost_share",
        np.linspace(0.0, 1.0, 201),
        "Cost over the price of a query",
        words,
        scale="log",
    )


def _crossings(find: Callable[[float], float]) -> dict[str, float]:
    return {f"s = {s}": float(find(s)) for s in OVERESTIMATION}


def cost_events() -> Picture:
    """Figure 14, left: over the number of events."""
    width = optimal_segment_length(event_length=1.0, presence_criterion=COST_DEFAULTS["presence_criterion"])
    total = COST_DEFAULTS["recording_length"]
    crossing = _crossings(lambda s: break_even_events(recording_length=total, segment_length=width, overestimation=s))
    shown = ", ".join(f"{value:.4g} ({key})" for key, value in crossing.items())
    words = (
        f"FIX against ORC over the number of events. The curves cross 1 at {shown}: ORC is cheaper for fewer events, "
        "so that with s = 8 FIX is cheaper from 8 events on, not for at most 10 (E17)."
    )
    picture = _draw(
        "cost_events", "n_events", np.linspace(1, 100, 397), "Cost over the number of events", words, crossing=crossing
    )
    picture.values["break_even_events"] = crossing
    return picture


def cost_length() -> Picture:
    """Figure 14, right: over the recording length."""
    width = optimal_segment_length(event_length=1.0, presence_criterion=COST_DEFAULTS["presence_criterion"])
    crossing = _crossings(
        lambda s: break_even_recording_length(
            segment_length=width, n_events=COST_DEFAULTS["n_events"], overestimation=s
        )
    )
    shown = ", ".join(f"{value:.4g} s ({key})" for key, value in crossing.items())
    words = f"FIX against ORC over the length of the recording, with one event. The curves cross 1 at {shown}."
    picture = _draw(
        "cost_length",
        "recording_length",
        np.linspace(2, 100, 491),
        "Cost over the recording length",
        words,
        crossing=crossing,
    )
    picture.values["break_even_recording_length"] = crossing
    return picture
