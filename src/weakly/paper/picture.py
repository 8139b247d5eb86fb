"""A picture of the reproduction: what it is called, what it shows, which data it was drawn from."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .. import plot

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COMPUTED = "formulas and simulation alone"


@dataclass(frozen=True)
class Picture:
    """One drawn figure with its caption, and the numbers that were drawn."""

    name: str
    number: str  # the figure's number in the paper, or what it adds to it
    title: str
    caption: str
    figure: Figure
    data: str = COMPUTED
    values: dict[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Everything but the drawing."""
        words = ("name", "number", "title", "caption", "data", "values")
        return {name: getattr(self, name) for name in words}


def panels(rows: int = 1, columns: int = 1, *, size: tuple[float, float], **how: Any) -> tuple[Figure, Any]:
    """A new figure in the house style and its axes, drawn without a window system."""
    from matplotlib.figure import Figure

    with plot.style():
        figure = Figure(figsize=size, dpi=150)  # the resolution of the files: text is measured once
        figure.set_layout_engine("constrained", w_pad=0.07)
        return figure, figure.subplots(rows, columns, **how)
