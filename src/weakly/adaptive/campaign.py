"""A campaign on disk: its queries, the answers so far, its labels. Plain files that survive a crash at any moment.

``queries.csv`` and ``campaign.json`` are written by ``weakly queries``, ``answers.csv`` by ``weakly answers``, each
whole or not at all. What comes next is a function of these files, so an interrupted command is simply run again.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ..errors import AssumptionWarning, InvalidInput
from ..events import Events
from ..formats import write
from ..results import to_json
from .answers import Collected, Said, collect, merged, read_returned
from .base import Recording
from .export import SETTINGS, STATE, read_state, save, table
from .queries import queries

ANSWERS = "answers.csv"
_FOLLOWING = ("bisection", "boundary")


@dataclass(frozen=True)
class Campaign:
    """The files of one campaign, read."""

    folder: Path
    queries: pd.DataFrame
    settings: dict[str, Any]

    @classmethod
    def open(cls, path: str | Path) -> Campaign:
        """The campaign of a ``queries.csv``, or of the folder that holds it."""
        path = Path(path)
        state = path / STATE if path.is_dir() else path
        frame = read_state(state)
        settings: dict[str, Any] = {}
        beside = state.parent / SETTINGS
        if beside.is_file():
            try:
                settings = json.loads(beside.read_text(encoding="utf-8"))
            except json.JSONDecodeError as error:
                raise InvalidInput(f"{beside}: line {error.lineno}: not JSON: {error.msg}") from error
        return cls(state.parent, frame, settings)

    @property
    def method(self) -> str:
        """The word of the method that asked."""
        real = self.queries[~self.queries["calibration"]]["method"]
        return str(self.settings.get("method") or (real.iloc[0] if len(real) else "fixed"))

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters of the method."""
        return dict(self.settings.get("parameters") or {})

    def recordings(self) -> dict[str, Recording]:
        """The recordings that were asked about; calibration items are not among them."""
        real = self.queries[~self.queries["calibration"]]
        paths = self.settings.get("recordings") or {}
        found = {}
        for name, length in real.groupby("recording", sort=False)["recording_length"].first().items():
            place = (paths.get(str(name)) or {}).get("path")
            found[str(name)] = Recording(str(name), float(length), path=None if place is None else Path(place))
        return found

    def everything(self) -> dict[str, Recording]:
        """All recordings of the campaign, those too that were not asked about yet."""
        known = self.settings.get("recordings") or {}
        items = set(self.queries[self.queries["calibration"]]["recording"])
        return {
            name: Recording(name, float(one["seconds"]), path=None if one["path"] is None else Path(one["path"]))
            for name, one in known.items()
            if name not in items
        }

    def stored(self) -> list[Said]:
        """The answers that were taken before."""
        path = self.folder / ANSWERS
        if not path.is_file():
            return []
        frame = pd.read_csv(path, dtype=str, keep_default_na=False)
        return [
            Said(row["query"], row["answer"], row["annotator"], float(row["seconds"] or "nan"), row["when"], str(path))
            for row in frame.to_dict("records")
        ]

    def take(self, exports: Iterable[str | Path]) -> Collected:
        """The answers so far together with those in the exports; they are kept in ``answers.csv``."""
        new = read_returned(exports)
        again = {(one.query, one.annotator, one.answer.lower(), one.when) for one in new}
        before = [one for one in self.stored() if (one.query, one.annotator, one.answer.lower(), one.when) not in again]
        found = collect(self.queries, before + new)
        rows = [
            (
                one.query,
                one.answer.lower(),
                one.annotator,
                "" if np.isnan(one.seconds) else f"{one.seconds:.3f}",
                one.when,
            )
            for one in found.said
        ]
        frame = pd.DataFrame(rows, columns=["query", "answer", "annotator", "seconds", "when"])
        save(self.folder / ANSWERS, table(frame))
        return found

    def labels(self, found: Collected) -> Events:
        """The labels that the answers make."""
        return merged(self.queries, found.answers, self.method, self.parameters, list(self.recordings().values()))

    def next_round(self, found: Collected) -> int:
        """How many queries the method would ask now, besides those that are waiting for an answer."""
        if self.method not in _FOLLOWING:
            return 0
        following = queries(self.recordings(), **self._options(), answers=found.answers)
        return int((~following.frame["query"].isin(set(self.queries["query"]))).sum())

    def _options(self) -> dict[str, Any]:
        return {"method": self.method, **self.parameters}

    def write_labels(self, events: Events, found: Collected, out: str | Path) -> list[Path]:
        """Strong labels (DCASE, Raven, Audacity, all of it as CSV), weak labels (DCASE), and the summary."""
        folder = Path(out)
        folder.mkdir(parents=True, exist_ok=True)
        paths = [folder / name for name in ("strong.tsv", "weak.tsv", "raven", "audacity", "events.csv")]
        (folder / "raven").mkdir(exist_ok=True)
        (folder / "audacity").mkdir(exist_ok=True)
        with warnings.catch_warnings():
            # events.csv beside them holds everything that a smaller format leaves out.
            warnings.simplefilter("ignore", AssumptionWarning)
            for path, kind in zip(paths, ("dcase", "dcase-weak", "raven", "audacity", "csv")):
                write(found.answers if kind == "dcase-weak" else events, path, format=kind)
        save(folder / "summary.json", to_json(found.to_dict()) + "\n")
        return [*paths, folder / "summary.json"]


def _waiting(queries: pd.DataFrame, found: Collected) -> bool:
    """Whether the newest round has no answer yet."""
    newest = queries[queries["round"].astype(int) == int(queries["round"].astype(int).max())]
    return set(newest["query"]) <= set(found.pending)


def resumed(folder: str | Path) -> tuple[dict[str, Recording], dict[str, Any], str]:
    """What continues a campaign: its recordings, its options with the answers so far, and its tool."""
    campaign = Campaign.open(folder)
    found = collect(campaign.queries, campaign.stored())
    options = {**campaign._options(), "answers": found.answers}
    if options.get("batch") is not None:
        asked = set(campaign.queries["recording"])
        answered = set(found.answers.to_frame()["recording"])
        if _waiting(campaign.queries, found):
            raise InvalidInput(f"{folder}: the last round has no answers yet; bring them with weakly answers first")
        everything = campaign.everything()
        known = {name: one for name, one in everything.items() if name in answered or name not in asked}
        return known, options, str(campaign.settings.get("to") or "csv")
    return campaign.recordings(), options, str(campaign.settings.get("to") or "csv")
