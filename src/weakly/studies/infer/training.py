"""The training kit: the clips to train on, how noisy weak labels are as labels of frames, and a table of frames.

``clips`` are for losses that pool a model's frames over each clip (linear softmax, noisy-or; see the how-to): first and
last frame, the answer, and its weight. Train on them.

``insertion_rate`` is P(labelled present | frame inactive), ``deletion_rate`` is P(labelled absent | frame active), both
expected under the posterior, for each class and segment length. They are what a loss needs that corrects for noise:
with p the model's chance that a frame is active, the label is present with probability
``p * (1 - deletion_rate) + (1 - p) * insertion_rate``, and the cross-entropy of that with the weak label is minimised
by the right p (forward correction). :func:`forward_corrected_loss` is the reference; two lines do it in any framework.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from ...base.errors import AssumptionWarning, InvalidInput, optional
from ...base.results import atomic_write, percent, to_json, write_file
from ...model.events import Events
from ...posterior.detector import FrameScores

if TYPE_CHECKING:
    from ...posterior.class_posterior import RecordingPosterior
    from .inference import Inference

_TINY = 1e-12
_MOST_PRESENT = 0.9  # of clips: more teach hardly anything


def forward_corrected_loss(
    probability: ArrayLike, labels: ArrayLike, *, insertion_rate: ArrayLike, deletion_rate: ArrayLike
) -> NDArray[np.float64]:
    """The cross-entropy of noisy labels with the chance that the model gives them, per frame.

    Examples
    --------
    >>> forward_corrected_loss([0.5, 0.0], [1, 1], insertion_rate=0.2, deletion_rate=0.1).round(4).tolist()
    [0.5978, 1.6094]
    """
    p, y = np.asarray(probability, dtype=np.float64), np.asarray(labels, dtype=np.float64)
    present = np.clip(p * (1 - np.asarray(deletion_rate)) + (1 - p) * np.asarray(insertion_rate), _TINY, 1 - _TINY)
    return np.asarray(-(y * np.log(present) + (1 - y) * np.log(1 - present)), dtype=np.float64)


@dataclass(frozen=True)
class Training:
    """Clips (``clips``), label noise per class and segment length (``rates``), labels of frames (``frames``), painted
    labels (``events``).

    Columns of ``clips``: recording, label, onset, offset, first and last (frames of the recording, in the order of
    ``frames``; the last is not part of it), present (what most answers say) and weight (the share of its answers by
    which they are ahead: 1 for one answer, 0 for a tie).

    Painted labels carry a confidence: the share of their time that is expected to be event.

    Columns of ``frames``: recording, label, onset, offset, hard (the painted label: 1 present, 0 absent, NaN where no
    answer tells or answers that overlap are tied), posterior (P(active)), log_likelihood_ratio (of the answers, active
    against inactive) and weight (the chance that the hard label is right).
    """

    rates: pd.DataFrame
    frames: pd.DataFrame
    events: Events
    clips: pd.DataFrame

    def noise_matrix(self, label: str, segment_length: float) -> NDArray[np.float64]:
        """P(given label | true label) with given labels as rows, absent first: what cleanlab calls the noise matrix."""
        rows = self.rates[(self.rates["label"] == label) & np.isclose(self.rates["segment_length"], segment_length)]
        if len(rows) != 1:
            raise InvalidInput(f"there is no segment length {segment_length:g} s of {label!r}")
        inserted, deleted = float(rows["insertion_rate"].iloc[0]), float(rows["deletion_rate"].iloc[0])
        return np.array([[1 - inserted, deleted], [inserted, 1 - deleted]])

    def to_dict(self) -> dict[str, Any]:
        """The rates with their noise matrices, in plain numbers."""
        rows = self.rates.to_dict("records")
        for row in rows:
            row["noise_matrix"] = self.noise_matrix(row["label"], row["segment_length"]).tolist()
        return {"rates": rows}

    def write(self, folder: str | Path) -> list[Path]:
        """The written files: clips.csv, rates.csv, noise.json, frames.parquet and events.tsv (DCASE)."""
        optional("pyarrow", extra="parquet")
        out = Path(folder)
        table = self.events.to_frame().rename(columns={"recording": "filename", "label": "event_label"})
        names = ["filename", "onset", "offset", "event_label", "confidence"]
        texts = {
            "clips.csv": self.clips.to_csv(index=False),
            "rates.csv": self.rates.to_csv(index=False),
            "noise.json": to_json(self.to_dict()) + "\n",
            "events.tsv": table[names].to_csv(sep="\t", index=False),
        }
        paths = [write_file(out / name, text) for name, text in texts.items()]
        with atomic_write(out / "frames.parquet", "wb") as file:
            self.frames.to_parquet(file, index=False)
        return [*paths, out / "frames.parquet"]


def training(inference: Inference) -> Training:
    """The training kit of an inference."""
    tables, clips, asked = [], [], []
    for label, part in inference.parts.items():
        prior = float(np.clip(part.renewal.density, _TINY, 1 - _TINY))
        for one in part.recordings:
            active, widths = _seconds(one, one.segments), np.diff(one.segments, axis=1).ravel()
            idle = widths - active
            asked.append(pd.DataFrame({"label": label, "segment_length": widths.round(6), "active": active,
                                       "idle": idle, "found": active * one.present,
                                       "inserted": idle * one.present, "n_segments": 1}))  # fmt: skip
            tables.append(_frames(one, label, prior))
            clips.append(_clips(one, label))
    sums = pd.concat(asked, ignore_index=True).groupby(["label", "segment_length"], as_index=False).sum()
    rates = sums[["label", "segment_length"]].assign(
        insertion_rate=sums["inserted"] / sums["idle"].where(sums["idle"] > 0),
        deletion_rate=1 - sums["found"] / sums["active"].where(sums["active"] > 0),
        n_segments=sums["n_segments"],
        active_seconds=sums["active"],
    )
    table = pd.concat(clips, ignore_index=True)
    for name, share in table.groupby("label", sort=False)["present"].mean().items():
        if share > _MOST_PRESENT:
            text = f"{name}: {percent(share)} of the clips are present: they teach hardly anything; ask shorter ones"
            warnings.warn(text, AssumptionWarning, stacklevel=3)
    return Training(rates, pd.concat(tables, ignore_index=True), _painted(inference), table)


def _seconds(one: RecordingPosterior, spans: Any) -> NDArray[np.float64]:
    """Expected seconds of event in each of some spans."""
    edges = one.edges
    upto = np.concatenate(([0.0], np.cumsum(np.diff(edges) * one.active)))
    return np.asarray(np.interp(spans[:, 1], edges, upto) - np.interp(spans[:, 0], edges, upto))


def _clips(one: RecordingPosterior, label: str) -> pd.DataFrame:
    middles = (one.edges[1:] + one.edges[:-1]) / 2
    spans, which = np.unique(one.segments, axis=0, return_inverse=True)
    ahead = np.bincount(which.ravel(), weights=2 * one.present - 1, minlength=len(spans))
    weight = np.abs(ahead) / np.bincount(which.ravel(), minlength=len(spans))
    first, last = (np.searchsorted(middles, spans[:, k]) for k in (0, 1))
    return pd.DataFrame({"recording": one.recording, "label": label, "onset": spans[:, 0], "offset": spans[:, 1],
                         "first": first, "last": last, "present": (ahead > 0).astype(int),
                         "weight": weight})  # fmt: skip


def _painted(inference: Inference) -> Events:
    """The painted label as events; confidence: the share of each that is expected to be event."""
    rows, lengths = [], {}
    for label, part in inference.parts.items():
        for one in part.recordings:
            lengths[one.recording] = one.length
            shares = _seconds(one, one.painted) / np.diff(one.painted, axis=1).ravel()
            rows += [(one.recording, float(a), float(b), label, float(p)) for (a, b), p in zip(one.painted, shares)]
    frame = pd.DataFrame(rows, columns=["recording", "onset", "offset", "label", "confidence"])
    return Events.from_frame(frame, recording_length=lengths, recordings=list(lengths))


def _frames(one: RecordingPosterior, label: str, prior: float) -> pd.DataFrame:
    widths = np.diff(one.segments, axis=1).ravel()
    present, absent = (
        FrameScores(one.segments[mine], widths[mine]).per_step(one.step, len(one.active))[0]
        for mine in (one.present == 1, one.present != 1)
    )  # seconds of answers over each step
    hard = np.where(present > absent, 1.0, np.where(absent > present, 0.0, np.nan))
    p = np.clip(one.active, _TINY, 1 - _TINY)
    ratio = np.log(p / (1 - p)) - np.log(prior / (1 - prior))
    weight = np.where(hard == 1, one.active, np.where(hard == 0, 1 - one.active, 0.0))
    spans = {"recording": one.recording, "label": label, "onset": one.edges[:-1], "offset": one.edges[1:]}
    numbers = {"posterior": one.active, "log_likelihood_ratio": ratio, "weight": weight}
    return pd.DataFrame({**spans, "hard": hard, **numbers})
