"""The look of every picture: colours that a colour-blind reader can tell apart, axes with symbols and units."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .results import atomic_write, percent
from .symbols import SYMBOLS, plain_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Okabe and Ito's palette, in the order in which curves take it.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
EVENT, PRESENT, ABSENT, WRONG = "#009E73", "#D55E00", "#F2F2F2", "#CC79A7"

_STYLE: Any = {
    "axes.grid": True,
    "axes.prop_cycle": f"cycler('color', {list(COLOURS)})",
    "axes.spines.right": False,
    "axes.spines.top": False,
    "figure.constrained_layout.use": True,
    "figure.dpi": 150,  # that of the files: text is measured once
    "font.size": 10,
    "grid.alpha": 0.3,
    "legend.frameon": False,
    "svg.fonttype": "none",  # text stays text: it can be searched, read aloud and copied
    "svg.hashsalt": "weakly",
}


@contextmanager
def style() -> Iterator[None]:
    """Within this block, matplotlib draws in the house style."""
    import matplotlib as mpl

    with mpl.rc_context(_STYLE):
        yield


def axes(ax: Axes | None = None, *, size: tuple[float, float] = (6.4, 4.0)) -> Axes:
    """The given axes, or new ones in the house style, drawn without a window system."""
    if ax is not None:
        return ax
    from matplotlib.figure import Figure

    with style():
        return Figure(figsize=size).subplots()


def label(name: str) -> str:
    """The axis label of a word of the house: its name, symbol and unit."""
    return SYMBOLS[name].label if name in SYMBOLS else name.replace("_", " ")


def shares(axis: Any) -> None:
    """Ticks of an axis of shares in percent, as everywhere people read."""
    axis.set_major_formatter(lambda value, _: percent(float(f"{value:.6g}"), exact=True))


def lines(frame: Any, *, x: str, y: str, by: str | None = None, ax: Axes | None = None, **how: Any) -> Axes:
    """One line of y over x for each value of ``by``, with labelled axes."""
    ax = axes(ax)
    groups = frame.groupby(by, sort=False) if by else [(None, frame)]
    for value, part in groups:
        one = value is None or frame[by].nunique() == 1
        name = plain_name(y) if one else f"{plain_name(by)} {value}" if by in SYMBOLS else str(value)
        ax.plot(part[x], part[y], label=name, **how)
        if f"{y}_se" in part:
            low, high = (part[y] + k * part[f"{y}_se"] for k in (-2, 2))
            ax.fill_between(part[x], low, high, alpha=0.2, linewidth=0)
    ax.set(xlabel=label(x), ylabel=label(y))
    if y in SYMBOLS and SYMBOLS[y].high == 1:
        shares(ax.yaxis)
    if by:
        ax.legend(frameon=False)
    return ax


def tick(value: float, _: float = 0.0) -> str:
    """The number at a tick, as people write it.

    >>> tick(0.5), tick(2_000_000.0)
    ('0.5', '2,000,000')
    """
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:g}"


def log_lengths(ax: Axes) -> None:
    """A log axis of lengths with ticks at 1, 2 and 5."""
    from matplotlib.ticker import LogLocator, NullFormatter

    ax.set_xscale("log")
    ax.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    ax.xaxis.set_major_formatter(tick)
    ax.xaxis.set_minor_formatter(NullFormatter())


def timeline(rows: dict[str, Any], *, recording_length: float, ax: Axes | None = None) -> Axes:
    """Rows of (start, end) intervals over time; a row is (intervals, colour) or (intervals, colours per interval)."""
    ax = axes(ax, size=(8.0, 0.6 + 0.5 * len(rows)))
    for k, (_name, (intervals, colours)) in enumerate(reversed(rows.items())):
        bars = [(float(a), float(b - a)) for a, b in intervals]
        ax.broken_barh(bars, (k - 0.35, 0.7), facecolors=colours, edgecolor="#444444", linewidth=0.4)
    ax.set(xlim=(0, recording_length), ylim=(-0.6, len(rows) - 0.4), xlabel="time (s)")
    ax.set_yticks(range(len(rows)), list(reversed(rows)))
    ax.grid(visible=False, axis="y")
    return ax


def save(figure: Figure, stem: str | Path) -> list[Path]:
    """The PNG and SVG files of a figure, laid out once for both; the same figure gives the same bytes."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    stem = Path(stem)
    stem.parent.mkdir(parents=True, exist_ok=True)
    png, svg = (stem.with_name(stem.name + end) for end in (".png", ".svg"))
    with style():
        # savefig would lay out and draw everything twice for each format, and text is what takes the time.
        engine = figure.get_layout_engine()
        if engine is not None:
            engine.execute(figure)
            figure.set_layout_engine("none")
        with atomic_write(png, "wb") as file:
            FigureCanvasAgg(figure).print_png(file, metadata={"Software": None})  # type: ignore[no-untyped-call]
        with atomic_write(svg, "wb") as file:
            FigureCanvasSVG(figure).print_svg(file, metadata={"Date": None, "Creator": None})  # type: ignore[no-untyped-call]
    return [png, svg]
