"""One HTML page of the whole reproduction: the verdicts first, then every figure and table in the paper's order."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from .. import plot
from ..report import Report
from .claims import ABOUT, FAILS, HOLDS, Checked
from .facts import attributions
from .picture import Picture
from .tables import Table

TITLE = "The Accuracy Cost of Weakness, reproduced"


class _Drawn:
    """A figure that has been drawn already: the page takes the file's bytes instead of drawing it again."""

    def __init__(self, path: Path) -> None:
        self._bytes = path.read_bytes()

    def savefig(self, buffer: Any, **_: Any) -> None:
        """Write the drawing."""
        buffer.write(self._bytes)


def claims_frame(checked: tuple[Checked, ...]) -> pd.DataFrame:
    """One row per claim: where, what is printed, what we measure, the verdict, the erratum."""
    words = ("name", "where", "says", "printed", "measured", "value", "verdict", "recorded_verdict", "erratum")
    return pd.DataFrame([row.to_dict() for row in checked], columns=list(words))


def _shown(checked: tuple[Checked, ...]) -> pd.DataFrame:
    """The claims as the page shows them: four columns, wide enough to read."""
    rows = []
    for row in checked:
        erratum = f" ({row.claim.erratum})" if row.claim.erratum else ""
        rows.append(
            {
                "verdict": f"{row.finding.verdict}{erratum}",
                "claim": f"{row.claim.says} [{row.claim.where}]",
                "printed": row.claim.printed,
                "measured": row.finding.words,
            }
        )
    return pd.DataFrame(rows)


def verdict_words(checked: tuple[Checked, ...]) -> str:
    """How the claims fare, in one sentence.

    >>> verdict_words(())
    'No claim was checked.'
    """
    if not checked:
        return "No claim was checked."
    count = {verdict: sum(row.finding.verdict == verdict for row in checked) for verdict in (HOLDS, ABOUT, FAILS)}
    return (
        f"Of {len(checked)} quantitative claims {count[HOLDS]} hold, {count[ABOUT]} hold approximately and "
        f"{count[FAILS]} do not hold."
    )


def save(picture: Picture, folder: Path) -> list[Path]:
    """The PNG and SVG files of a picture; the layout is worked out once for both."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    folder.mkdir(parents=True, exist_ok=True)
    png, svg = (folder / f"{picture.name}{end}" for end in (".png", ".svg"))
    figure = picture.figure
    with plot.style():
        # savefig would lay out and draw everything twice for each format, and text is what takes the time.
        engine = figure.get_layout_engine()
        if engine is not None:
            engine.execute(figure)
            figure.set_layout_engine("none")
        FigureCanvasAgg(figure).print_png(png, metadata={"Software": None})
        FigureCanvasSVG(figure).print_svg(svg, metadata={"Date": None, "Creator": None})
    return [png, svg]


def write(
    out: Path,
    *,
    pictures: tuple[Picture, ...],
    tables: tuple[Table, ...],
    checked: tuple[Checked, ...],
    settings: list[str],
    command: str | None,
) -> Path:
    """The page, written beside the figures that :func:`save` has put into ``out / "figures"``."""
    page = Report(TITLE)
    page.answer(verdict_words(checked))
    page.text(
        "Every figure and table of the paper, drawn anew. Simulation figures show the theory, the numerical "
        "expectation (equation 13), the paper's own simulation protocol, and the exact value, so that the "
        "difference the protocol makes can be seen. E1 to E35 refer to ERRATA.md."
    )
    changed = [row for row in checked if row.changed]
    if changed:
        page.heading("Verdicts that changed")
        page.items(
            [f"{row.claim.name}: on record {row.claim.verdict!r}, now {row.finding.verdict!r}" for row in changed]
        )
    if checked:
        page.heading("Claims")
        page.table(_shown(checked))
    if pictures:
        page.heading("Figures")
        for picture in pictures:
            label = f"{picture.number}. {picture.title}. {picture.caption} Drawn from {picture.data}."
            page.figure(_Drawn(out / "figures" / f"{picture.name}.svg"), label, name=picture.name)
    for table in tables:
        page.heading(f"{table.number}: {table.title}")
        page.text(table.caption).table(table.frame)
    page.heading("How this page was made").items(settings)
    if command:
        page.code(command)
    page.text(
        "The paper: J. Martinsson, T. Virtanen, M. Sandsten, O. Mogren, The Accuracy Cost of Weakness: A "
        "Theoretical Analysis "
        "of Fixed-Segment Weak Labeling for Events in Time, TMLR, 2025. " + " ".join(attributions()),
        small=True,
    )
    return page.write(out / "index.html")
