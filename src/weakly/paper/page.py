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
    engine = picture.figure.get_layout_engine()
    if engine is not None:
        with plot.style():
            engine.execute(picture.figure)
            picture.figure.set_layout_engine("none")
    return plot.save(picture.figure, folder / picture.name)


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
        frame = claims_frame(checked)[["name", "says", "where", "printed", "measured", "verdict", "erratum"]]
        page.table(frame.rename(columns={"says": "claim"}))
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
