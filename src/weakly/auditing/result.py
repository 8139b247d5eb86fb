"""The result of an audit: tables, sentences, a picture, a page, and the checks that a build can ask for."""

from __future__ import annotations

import operator
import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ..errors import InvalidInput
from ..results import METRICS, plain
from ..symbols import choice
from .aggregation import DawidSkene, Effort
from .agreement import Agreement
from .ceiling import Ceiling
from .criterion import CriterionEstimate
from .findings import Finding, ranked
from .quality import Quality

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_TESTS = {
    "<=": operator.le,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    ">": operator.gt,
}
_CONDITION = re.compile(
    r"^(?:(?P<label>.+)[.:])?(?P<name>\w+)\s*(?P<test><=|>=|==|!=|<|>)\s*(?P<limit>[-+.\deE]+)$", re.S
)
_SHOWN = 200  # rows of missed and phantom labels on a page


@dataclass(frozen=True)
class Audit:
    """What is known about a labelled data set; parts that the input does not allow are None or empty.

    ``criteria``: one row per class, annotator ("" for all together) and method, with presence_criterion, its interval
    (_low, _high), guess and lapse rates, whether it is ``identifiable`` and, if not, the ``reason``. ``quality``,
    ``ceiling``, ``agreement`` (answers), ``annotation_agreement`` (strong annotations), ``aggregated`` (Dawid-Skene),
    ``majority``, ``effort``, ``strong`` (a summary) and ``recipe`` are the parts. ``findings`` says it in words.
    """

    settings: dict[str, Any]
    notes: tuple[str, ...]
    criteria: pd.DataFrame
    quality: Quality | None
    ceiling: Ceiling | None
    agreement: Agreement | None
    annotation_agreement: Agreement | None
    majority: pd.DataFrame | None
    aggregated: DawidSkene | None
    effort: Effort | None
    strong: pd.DataFrame | None
    recipe: dict[str, CriterionEstimate]

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        """What was found, in words, the most important first."""
        return ranked(self)

    @cached_property
    def metrics(self) -> dict[str, dict[str, float]]:
        """Every number that a check can name, by class; "all" holds the pooled ones."""
        found: dict[str, dict[str, float]] = {"all": {}}

        def put(label: str, name: str, value: Any) -> None:
            found.setdefault(label, {})[name] = float("nan") if value is None else float(value)

        if self.quality is not None:
            for row in self.quality.table.to_dict("records"):
                label = str(row.pop("label"))
                for name, value in row.items():
                    put(label, str(name), value)
        pooled = self.criteria[self.criteria["annotator"] == ""] if len(self.criteria) else self.criteria
        for row in pooled.to_dict("records"):
            if row["method"] == "threshold" and row["scale"] == "event":
                put(row["label"], "presence_criterion", row["presence_criterion"])
        if self.ceiling is not None:
            for row in self.ceiling.table.to_dict("records"):
                if row["label"] != "mean":
                    put(row["label"], f"ceiling_{row['metric']}", row["perfect"])
        if self.agreement is not None:
            for row in self.agreement.by_label.to_dict("records"):
                for name in ("alpha", "agreement", "unanimous", "unanimous_present", "split"):
                    put(row["label"], name, row[name])
        if self.annotation_agreement is not None:
            for row in self.annotation_agreement.by_label.to_dict("records"):
                put(row["label"], "time_alpha", row["alpha"])
        if self.strong is not None:
            for row in self.strong.to_dict("records"):
                for name in ("mean_length", "median_length", "length_share"):
                    put(row["label"], name, row[name])
        if self.effort is not None:
            for name in ("seconds_per_query", "query_cost_share", "idle_share"):
                put("all", name, getattr(self.effort, name))
        return found

    def holds(self, condition: str) -> bool:
        """Whether a condition such as ``event_recall<0.9`` or ``Dog.precision<=0.5`` holds.

        Without a class it is about all classes together, or about the only one there is.
        """
        match = _CONDITION.match(condition.strip())
        if match is None:
            raise InvalidInput(f"a condition looks like event_recall<0.9 or Dog.precision<0.5, got {condition!r}")
        try:
            limit = float(match["limit"])
        except ValueError as error:
            raise InvalidInput(f"{match['limit']!r} in {condition!r} is not a number") from error
        name, label = match["name"], match["label"]
        if label is None:
            others = [key for key in self.metrics if key != "all"]
            label = "all" if name in self.metrics["all"] or len(others) != 1 else others[0]
        choice("the class of a condition", label, tuple(self.metrics))
        if not self.metrics[label]:
            raise InvalidInput(f"{condition!r} needs strong annotations and weak labels, or answers, to be checked on")
        choice("the number of a condition", name, tuple(self.metrics[label]))
        value = self.metrics[label][name]
        if np.isnan(value):
            raise InvalidInput(f"{name} of {label} is not known from these labels, so {condition!r} cannot be checked")
        return bool(_TESTS[match["test"]](value, limit))

    def to_frame(self) -> pd.DataFrame:
        """One row per class: label quality and the presence criterion; agreement or counts where there are no both."""
        if self.quality is not None and len(self.quality.table):
            kept = [
                *METRICS,
                "n_events",
                "n_present",
                "n_phantom",
                "n_overlapping",
                "n_missed",
                "coverage",
                "event_seconds",
            ]
            table = self.quality.table[["label", *kept]]
            pooled = self.criteria
            if len(pooled):
                pooled = pooled[
                    (pooled["annotator"] == "") & (pooled["method"] == "threshold") & (pooled["scale"] == "event")
                ]
                names = ["label", "presence_criterion", "presence_criterion_low", "presence_criterion_high"]
                table = table.merge(pooled[names], on="label", how="left")
            return table
        if self.agreement is not None:
            return self.agreement.to_frame()
        if self.annotation_agreement is not None:
            return self.annotation_agreement.to_frame()
        return pd.DataFrame() if self.strong is None else self.strong.copy()

    def tables(self) -> dict[str, pd.DataFrame]:
        """Every table that is not empty, by name."""
        found: dict[str, pd.DataFrame | None] = {
            "audit": self.to_frame(),
            "criteria": self.criteria,
            "strong": self.strong,
        }
        if self.quality is not None:
            found |= {"missed": self.quality.missed, "phantom": self.quality.phantom}
        found["ceiling"] = None if self.ceiling is None else self.ceiling.table
        for name, result in (("agreement", self.agreement), ("annotation_agreement", self.annotation_agreement)):
            if result is not None:
                found |= {name: result.by_label, f"{name}_pairs": result.by_pair}
        found["majority"] = self.majority
        if self.aggregated is not None:
            found |= {"aggregated": self.aggregated.labels, "annotators": self.aggregated.annotators}
        return {name: table for name, table in found.items() if table is not None and len(table)}

    def to_dict(self) -> dict[str, Any]:
        """Everything in plain numbers, for JSON."""
        return {
            "settings": plain(self.settings),
            "findings": plain([{"topic": f.topic, "weight": f.weight, "text": f.text} for f in self.findings]),
            "notes": list(self.notes),
            "criteria": plain(self.criteria),
            "quality": plain(self.quality),
            "ceiling": plain(self.ceiling),
            "agreement": plain(self.agreement),
            "annotation_agreement": plain(self.annotation_agreement),
            "effort": plain(self.effort),
            "annotators": None if self.aggregated is None else plain(self.aggregated.annotators),
            "prevalence": None if self.aggregated is None else plain(self.aggregated.prevalence),
            "strong": plain(self.strong),
            "recipe": plain(self.recipe),
        }

    def plot(self, ax: Axes | None = None, *, kind: str | None = None) -> Axes:
        """Label quality per class, or the presence criterion per class with its intervals (``kind="criterion"``)."""
        from . import pictures

        return pictures.draw(self, ax=ax, kind=kind)

    def report(self, path: str | Path, *, command: str | None = None) -> Path:
        """One self-contained page with the findings, the tables and the pictures."""
        from . import pictures

        return pictures.page(self, command=command, rows=_SHOWN).write(path)
