"""The paper's configurations, declared once: laws of event lengths, the simulation protocol, the cost settings.

Where the paper's text and its authors' code differ, both are here, and their labels are made from their values.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...base.symbols import choice
from ...model.lengths import Lengths
from .facts import Data, LengthSample

RECORDING_LENGTH = 100.0
OVERESTIMATION = (1, 2, 4, 8)
COST_DEFAULTS: dict[str, Any] = {
    "recording_length": RECORDING_LENGTH,
    "query_cost_share": 0.5,
    "n_events": 1,
    "presence_criterion": 0.5,
}
#: How much longer than an event the segments of the offset figure are (appendix A.4).
OFFSET_RATIOS = {"tenth": 0.1, "equal": 1.0, "tenfold": 10.0}


@dataclass(frozen=True)
class Protocol:
    """How the paper simulates: for every segment length fresh recordings, the mean of their means, then the maximum."""

    n_recordings: int = 1000
    n_criteria: int = 11
    n_segment_lengths: int = 200
    n_drawn: int = 10_000  # event lengths drawn to find the shortest and the longest

    @property
    def criteria(self) -> NDArray[np.float64]:
        """The presence criteria."""
        return np.linspace(0.01, 0.99, self.n_criteria)

    def segment_lengths(self, *, shortest: float, longest: float) -> NDArray[np.float64]:
        """The nominal segment lengths: from a 500th of the shortest event to five times the longest."""
        return np.linspace(shortest / 500, 5 * longest, self.n_segment_lengths)

    def cut(self, segment_length: NDArray[np.float64]) -> NDArray[np.float64]:
        """The segment lengths that the authors' code really uses: whole numbers of segments per recording (E11)."""
        return RECORDING_LENGTH / np.floor(RECORDING_LENGTH / segment_length)


PAPER = Protocol()
QUICK = Protocol(n_recordings=200, n_criteria=5, n_segment_lengths=40, n_drawn=2000)


@dataclass(frozen=True)
class Case:
    """One law of event lengths in a figure: ``origin`` says whether the text, the scripts or both use it."""

    label: str
    lengths: Lengths
    origin: str = "text and code"
    data: str = ""


@dataclass(frozen=True)
class Scenario:
    """One simulation figure: its laws and how many events a recording holds."""

    name: str
    cases: tuple[Case, ...]
    n_events: int = 1


def normal(mean: float, deviation: float) -> Lengths:
    """A normal law of lengths, given that the length is positive."""
    from scipy import stats

    name = f"normal({mean:g}, {deviation:g})"
    plain = stats.norm(mean, deviation)
    if plain.cdf(0.0) < 1e-6:
        return Lengths.law(plain, name=name)
    return Lengths.law(stats.truncnorm(-mean / deviation, np.inf, loc=mean, scale=deviation), name=name)


def _normal(mean: float, deviation: float, origin: str = "text and code") -> Case:
    law = normal(mean, deviation)
    return Case(law.name, law, origin)


def _gamma(shape: float) -> Case:
    from scipy import stats

    name = f"0.5 + gamma({shape:g}, 1)"
    return Case(name, Lengths.law(stats.gamma(shape, loc=0.5), name=name))


def _observed(label: str, sample: LengthSample) -> Case:
    return Case(f"{label}, n = {sample.n}", sample.lengths, data=sample.source)


def _fixed(data: Data) -> tuple[Case, ...]:
    return (Case("1 s", Lengths.fixed(1.0)),)


#: Name -> events per recording, and the laws of their lengths.
SCENARIOS: dict[str, tuple[int, Callable[[Data], tuple[Case, ...]]]] = {
    "single_event": (1, _fixed),
    "normal_mean": (1, lambda _: (_normal(0.5, 0.1), _normal(5.0, 0.1, "text"), _normal(4.0, 0.1, "scripts"))),
    "normal_variance": (1, lambda _: (_normal(3.0, 0.1), _normal(3.0, 1.0, "text"), _normal(3.0, 0.5, "scripts"))),
    "gamma": (1, lambda _: (_gamma(0.8), _gamma(0.2))),
    "nigens": (1, lambda data: (_observed("dog", data.dog), _observed("baby", data.baby))),
    "uniform_10": (10, _fixed),
    "uniform_30": (30, _fixed),
    "uniform_50": (50, _fixed),
}


def scenario(name: str, data: Data) -> Scenario:
    """The scenario of a figure, with the data at hand."""
    n_events, cases = SCENARIOS[choice("scenario", name, tuple(SCENARIOS))]
    return Scenario(name, cases(data), n_events)


#: Table 1 of the paper: data sets with fixed segments. (name, reference, task, segment length in seconds)
DATASETS = (
    ("CHIME", "Foster et al. 2015", "one pass, all classes", 4.0),
    ("AudioSet", "Gemmeke et al. 2017", "one pass, all classes", 10.0),
    ("MAESTRO Real", "Martín-Morató and Mesaros 2023", "one pass, all classes", 10.0),
    ("OpenMIC-2018", "Humphrey et al. 2018", "one pass per class", 10.0),
)
