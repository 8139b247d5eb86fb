"""Appendix A.4 and A.5: are offsets uniform, and what can be said of the presence criterion of real annotators."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from ...base import plot
from ...base.errors import InvalidInput
from ...base.symbols import SYMBOLS
from ...model.annotator import TIE
from ...model.lengths import Lengths
from ...posterior.criterion import estimate_criterion
from ...studies.evaluate.evaluator import kuiper, kuiper_p
from ...theory.single import overlap_accuracy
from .facts import Data, LengthSample, fact_table, shipped
from .figures import Picture, panels, picture
from .simulations import OFFSET_RATIOS

AUDIOSET_LENGTH = 10.0  # seconds per clip


@dataclass(frozen=True)
class Offsets:
    """The phases of a class's onsets on a grid of segments, and their test for uniformity."""

    label: str
    ratio: float  # d_q over the median event length
    event_length: float
    phases: NDArray[np.float64]
    n: int
    kuiper: float
    p: float

    @property
    def segment_length(self) -> float:
        """d_q in seconds."""
        return self.ratio * self.event_length

    @property
    def offsets(self) -> NDArray[np.float64]:
        """b_q - a_e of every overlapping (event, segment), as a share of d_e + d_q; events have the median length."""
        last = 1 / self.ratio + 1  # d_e + d_q in segments
        first = 1 - self.phases
        steps = np.arange(int(np.ceil(last)) + 1)
        every = first[:, None] + steps
        return every[(every > 0) & (every < last)] / last


def measured_offsets(label: str, onset: ArrayLike, length: ArrayLike) -> list[Offsets]:
    """The phases of onsets for segments a tenth of, equal to and ten times the median event; onsets at 0 are cut."""
    a, d = np.asarray(onset, dtype=np.float64), np.asarray(length, dtype=np.float64)
    typical = float(np.median(d))
    inside = a[a > 0]  # an event that starts with its recording began before it
    rows = []
    for ratio in OFFSET_RATIOS.values():
        phase = np.mod(inside, ratio * typical) / (ratio * typical)
        rows.append(Offsets(label, ratio, typical, phase, len(inside), *kuiper(phase)))
    return rows


def _shipped_offsets(label: str, name: str) -> list[Offsets]:
    typical = shipped(f"{name}_onset_length").median
    rows = []
    for key, ratio in OFFSET_RATIOS.items():
        sample = shipped(f"{name}_phase_{key}")
        v = fact_table()["counts"]["uniformity"][f"{name}_phase_{key}"]
        rows.append(Offsets(label, ratio, typical, sample.spread, sample.n, v, kuiper_p(v, sample.n)))
    return rows


def all_offsets(data: Data) -> tuple[list[list[Offsets]], str]:
    """The offsets of two classes, and where they come from."""
    if data.annotations is None:
        classes = {"bark": "audioset_bark", "baby cry": "audioset_baby"}
        rows = [_shipped_offsets(f"{label} (AudioSet)", name) for label, name in classes.items()]
        words = "AudioSet strong labels (NIGENS onsets are not published beside the paper)"
        return rows, f"facts shipped with weakly: {words}"
    frame = data.annotations.to_frame()
    counts = frame["label"].value_counts()
    wanted = [name for word in ("dog", "baby") for name in counts.index if word in name.lower()]
    chosen = [*dict.fromkeys([*wanted[:2], *counts.index])][:2]
    rows = []
    for label in chosen:
        part = frame[frame["label"] == label]
        rows.append(measured_offsets(label, part["onset"], part["offset"] - part["onset"]))
    return rows, data.annotations_source


def offsets(data: Data) -> Picture:
    """Figure 19: the offsets between events and overlapping segments, with a test instead of a look."""
    rows, source = all_offsets(data)
    figure, axes = panels(len(rows), 3, size=(9.6, 2.7 * len(rows)), sharey=True, squeeze=False)
    values: dict[str, Any] = {}
    for line, cells in zip(axes, rows):
        for ax, cell in zip(line, cells):
            ax.hist(cell.offsets, bins=np.linspace(0, 1, 21), density=True, color=plot.COLOURS[0], alpha=0.7)
            ax.axhline(1.0, color="black", ls="--", lw=1)
            told = f"n = {cell.n}, V = {cell.kuiper:.3f}, " + (f"p = {cell.p:.2g}" if cell.p >= 1e-3 else "p < 0.001")
            ax.set_title(f"{cell.label}, $d_q$ = {cell.segment_length:.3g} s\n{told}", fontsize=9)
            values[f"{cell.label}, d_q = {cell.ratio:g} d_e"] = {"n": cell.n, "kuiper": cell.kuiper, "p": cell.p}
        line[0].set_ylabel("density")
    for ax in axes[-1]:
        ax.set_xlabel(r"offset $(b_q - a_e)\,/\,(d_e + d_q)$")
    axes[0][0].set_ylim(0, max(1.6, axes[0][0].get_ylim()[1]))
    return picture("offsets", figure, data=source, values=values)


def audioset(data: Data) -> Picture:
    """Figure 20: the paper's recipe for the presence criterion of AudioSet's annotators."""
    sample = data.animal
    found = recipe(sample)
    criteria = np.linspace(0.005, 1.0, 200)
    setting: dict[str, Any] = {"event_length": sample.lengths, "segment_length": AUDIOSET_LENGTH, "weighting": "event"}
    curve = [overlap_accuracy(presence_criterion=g, **setting) for g in criteria]
    share = sample.mean / AUDIOSET_LENGTH
    figure, (left, right) = panels(1, 2, size=(9.4, 3.7))
    left.plot(criteria, curve, label="mean of Theorem 1, $d_q$ = 10 s")
    left.axhline(share, color=plot.COLOURS[1], ls="--", label=f"mean of $d_e / d_q$ = {share:.4f}")
    left.plot([found], [share], "o", color="black", label=f"where they meet: {found:.4f}")
    left.set(xlabel=SYMBOLS["presence_criterion"].label, ylabel=SYMBOLS["overlap_accuracy"].label)
    left.set_ylim(0, max(curve) * 1.15)
    left.legend(loc="lower right")
    weights = np.full(len(sample.spread), sample.n / len(sample.spread))
    right.hist(sample.spread, bins=np.linspace(0, AUDIOSET_LENGTH, 41), weights=weights, color=plot.EVENT)
    right.set(xlabel=SYMBOLS["event_length"].label, ylabel="events")
    values = {"presence_criterion": found, "mean_share": share, "n": sample.n}
    return picture("audioset", figure, data=sample.source, values=values, found=found, n=sample.n)


def recipe(sample: LengthSample) -> float:
    """The presence criterion that the paper's recipe gives for a sample of event lengths in 10 s clips."""
    return recipe_criterion(np.minimum(sample.spread, AUDIOSET_LENGTH), segment_length=AUDIOSET_LENGTH)


def recipe_criterion(lengths: ArrayLike, *, segment_length: float) -> float:
    r"""The number that the paper's AudioSet appendix calls the empirical presence criterion; NaN if there is none.

    It is the :math:`\gamma` at which the mean of Theorem 1 over the event lengths meets the mean of :math:`d_e / d_q`:
    the smaller root of :math:`2B\gamma^2 - 2A\gamma + U - A = 0` with
    :math:`A = \overline{d_e/(d_e+d_q)}`, :math:`B = \overline{d_e^2/(d_q(d_e+d_q))}`, :math:`U = \overline{d_e/d_q}`.
    ``lengths`` are d_e in seconds, as far as it lies in its clip.

    Notes
    -----
    Circular (E21): both sides are functions of the same event lengths, no annotator's answer enters, so it says nothing
    about annotators. For one length :math:`u = d_e/d_q` it is :math:`(1 - \sqrt{1 - 2u^2})/(2u)`, about u/2.

    Examples
    --------
    >>> round(recipe_criterion([4.5], segment_length=10), 3)
    0.254
    """
    d, q = np.ravel(np.asarray(lengths, dtype=np.float64)), segment_length
    if d.max() > q * (1 + TIE):
        raise InvalidInput(f"lengths must be at most segment_length {q:g}: the recipe takes the part inside a clip")
    terms = np.column_stack((d / (d + q), d**2 / (q * (d + q)), d / q, np.ones_like(d))).sum(axis=0)
    a, b, u = terms[:3] / terms[3]
    inside = a * a - 2 * b * (u - a)
    root = float((a - np.sqrt(inside)) / (2 * b)) if inside >= 0 else np.nan
    return root if 0 < root <= 1 else np.nan


def recovery(*, criteria: ArrayLike, n: int, rng: Any) -> dict[str, NDArray[np.float64]]:
    """What the recipe and a consistent estimate return when the true criterion is known.

    Lognormal events are heard in 10 s clips that start anywhere; clips that meet an event are labelled by an annotator
    with the given criterion. The recipe sees the parts of events inside clips labelled present, as in AudioSet; the
    consistent estimate sees event fractions and answers.
    """
    rng = np.random.default_rng(rng)
    q = AUDIOSET_LENGTH
    law = Lengths.law(stats.lognorm(1.0, scale=2.0))
    d = law.draw(4 * n, rng)
    d = rng.choice(d, size=n, p=(d + q) / (d + q).sum())  # a longer event meets more clips
    t = rng.uniform(0.0, d + q)
    overlap = np.minimum.reduce([t, d, np.full_like(d, q), d + q - t])
    fraction = np.minimum(overlap / d, 1.0)
    rows = []
    for criterion in np.asarray(criteria, dtype=np.float64):
        present = fraction >= criterion
        found = estimate_criterion(fraction, present=present, method="threshold")
        recipe = recipe_criterion(overlap[present], segment_length=q)
        rows.append((criterion, recipe, found.presence_criterion, *found.presence_criterion_ci))
    names = ("true", "recipe", "consistent", "low", "high")
    return {name: np.asarray(column) for name, column in zip(names, zip(*rows))}


#: Name of counts in the facts -> whose weak labels they are.
_ANSWERED = {
    "dcase2017_testing": "DCASE 2017 task 4, testing set",
    "dcase2017_evaluation": "DCASE 2017 task 4, evaluation set",
    "audioset_animal": "AudioSet evaluation set, class Animal",
}


def answers() -> list[dict[str, Any]]:
    """What real weak labels say about the criterion: counts of clips that hold an event, and of present labels."""
    rows = []
    for name, data in _ANSWERED.items():
        counts = fact_table()["counts"][name]
        n, k = counts["overlapping_pairs"], counts["overlapping_present"]
        # Events inside their clip are heard whole: h = 1. That is all these files can say.
        estimate = estimate_criterion(np.ones(n), present=np.r_[np.ones(k), np.zeros(n - k)])
        rows.append({"data": data, **counts, "estimate": str(estimate), "identifiable": estimate.identifiable})
    return rows


def criterion(*, n: int, rng: Any) -> Picture:
    """A.5 again: the recipe cannot tell criteria apart, answers can, and what real answers say."""
    truth = np.array([0.02, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.99])
    found = recovery(criteria=truth, n=n, rng=rng)
    rows = answers()
    figure, (left, right) = panels(1, 2, size=(9.8, 4.0), width_ratios=(1.1, 1))
    left.plot([0, 1], [0, 1], color="black", lw=1, label="truth")
    left.plot(truth, found["recipe"], "s--", color=plot.COLOURS[1], label="the paper's recipe")
    bars = np.maximum([found["consistent"] - found["low"], found["high"] - found["consistent"]], 0)
    name = "from answers, with 95 % interval"
    left.errorbar(truth, found["consistent"], yerr=bars, fmt="o", color=plot.COLOURS[0], label=name)
    left.set(xlabel=r"true presence criterion $\gamma$", ylabel=r"estimated $\gamma$")
    left.set(xlim=(0, 1.02), ylim=(0, 1.02))
    left.legend(loc="upper left")
    names = [row["data"].replace(", ", "\n", 1) for row in rows]
    y = np.arange(len(rows))[::-1]
    held, said = ([row[key] for row in rows] for key in ("overlapping_pairs", "overlapping_present"))
    edge = {"edgecolor": "#444444", "lw": 0.6}
    right.barh(y, held, height=0.6, color=plot.ABSENT, label="clips that hold an event", **edge)
    right.barh(y, said, height=0.6, color=plot.PRESENT, label="of these, labelled present")
    for at, whole, part in zip(y, held, said):
        right.text(whole + max(held) * 0.02, at, f"{part} of {whole}", va="center", fontsize=9)
    right.set_yticks(y, names, fontsize=9)
    right.set(xlabel="(clip, class) pairs", xlim=(0, max(held) * 1.35))
    right.grid(visible=False, axis="y")
    right.legend(loc="upper center", bbox_to_anchor=(0.4, -0.15), fontsize=9)
    values = {"recovery": {key: value.tolist() for key, value in found.items()}, "answers": rows}
    source = "; ".join(f"facts shipped with weakly: {row['data']}" for row in rows)
    return picture("criterion", figure, data=source, values=values, n=n)
