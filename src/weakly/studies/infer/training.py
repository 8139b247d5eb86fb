"""The training kit: how noisy weak labels are as labels of frames, and a table of frames to train on.

``insertion_rate`` is P(labelled present | frame inactive), ``deletion_rate`` is P(labelled absent | frame active), both
expected under the posterior, for each class and segment length. They are what a loss needs that corrects for noise:
with p the model's chance that a frame is active, the label is present with probability
``p * (1 - deletion_rate) + (1 - p) * insertion_rate``, and the cross-entropy of that with the weak label is minimised
by the right p (forward correction). :func:`forward_corrected_loss` is the reference; two lines do it in any framework.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from ...base.errors import optional
from ...base.files import atomic_write
from ...base.results import to_json
from ...model.events import Events

if TYPE_CHECKING:
    from ...posterior.class_posterior import RecordingPosterior
    from .inference import Inference

_TINY = 1e-12


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
    """Label noise per class and segment length (``rates``), labels of frames (``frames``), painted labels (``events``).

    Painted labels carry a confidence: the share of their time that is expected to be event.

    Columns of ``frames``: recording, label, onset, offset, hard (the painted label: 1 present, 0 absent, NaN where no
    answer tells or answers that overlap are tied), posterior (P(active)), log_likelihood_ratio (of the answers, active
    against inactive) and weight (the chance that the hard label is right).
    """

    rates: pd.DataFrame
    frames: pd.DataFrame
    events: Events

    def noise_matrix(self, label: str, segment_length: float) -> NDArray[np.float64]:
        """P(given label | true label) with given labels as rows, absent first: what cleanlab calls the noise matrix."""
        rows = self.rates[(self.rates["label"] == label) & np.isclose(self.rates["segment_length"], segment_length)]
        if len(rows) != 1:
            from ...base.errors import InvalidInput

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
        """The written files: rates.csv, noise.json, frames.parquet and events.tsv (DCASE, with confidence)."""
        optional("pyarrow", extra="parquet")
        out = Path(folder)
        out.mkdir(parents=True, exist_ok=True)
        table = self.events.to_frame().rename(columns={"recording": "filename", "label": "event_label"})
        names = ["filename", "onset", "offset", "event_label", "confidence"]
        texts = {
            "rates.csv": self.rates.to_csv(index=False),
            "noise.json": to_json(self.to_dict()) + "\n",
            "events.tsv": table[names].to_csv(sep="\t", index=False),
        }
        for name, text in texts.items():
            with atomic_write(out / name) as file:
                file.write(text)
        with atomic_write(out / "frames.parquet", "wb") as file:
            self.frames.to_parquet(file, index=False)
        return [out / name for name in (*texts, "frames.parquet")]


def training(inference: Inference) -> Training:
    """The training kit of an inference."""
    sums: dict[tuple[str, float], NDArray[np.float64]] = {}
    tables = []
    for label, part in inference.parts.items():
        prior = float(np.clip(part.renewal.density, _TINY, 1 - _TINY))
        for one in part.recordings:
            edges = one.edges
            votes = np.zeros((2, len(one.active)))  # present and absent answers over each step
            for (a, b), said in zip(one.segments, one.present):
                over = np.clip(np.minimum(b, edges[1:]) - np.maximum(a, edges[:-1]), 0, None)
                active = float(over @ one.active)
                found = sums.setdefault((label, round(float(b - a), 6)), np.zeros(5))
                found += (active, active * said, over.sum() - active, (over.sum() - active) * said, 1)
                votes[0 if said == 1 else 1] += over
            tables.append(_frames(one, label, edges, votes, prior))
    rows = []
    for (label, width), (active, found_active, idle, found_idle, n) in sorted(sums.items()):
        rows.append(
            {
                "label": label,
                "segment_length": width,
                "insertion_rate": found_idle / idle if idle > 0 else np.nan,
                "deletion_rate": 1 - found_active / active if active > 0 else np.nan,
                "n_segments": int(n),
                "active_seconds": active,
            }
        )
    return Training(pd.DataFrame(rows), pd.concat(tables, ignore_index=True), _painted(inference))


def _painted(inference: Inference) -> Events:
    """The painted label as events; confidence: the share of each that is expected to be event."""
    rows, lengths = [], {}
    for label, part in inference.parts.items():
        for one in part.recordings:
            lengths[one.recording] = one.length
            edges = one.edges
            for a, b in one.painted:
                over = np.clip(np.minimum(b, edges[1:]) - np.maximum(a, edges[:-1]), 0, None)
                rows.append((one.recording, float(a), float(b), label, float(over @ one.active / over.sum())))
    frame = pd.DataFrame(rows, columns=["recording", "onset", "offset", "label", "confidence"])
    return Events.from_frame(frame, recording_length=lengths, recordings=list(lengths))


def _frames(one: RecordingPosterior, label: str, edges: Any, votes: Any, prior: float) -> pd.DataFrame:
    hard = np.where(votes[0] > votes[1], 1.0, np.where(votes[1] > votes[0], 0.0, np.nan))
    p = np.clip(one.active, _TINY, 1 - _TINY)
    ratio = np.log(p / (1 - p)) - np.log(prior / (1 - prior))
    weight = np.where(hard == 1, one.active, np.where(hard == 0, 1 - one.active, 0.0))
    return pd.DataFrame(
        {
            "recording": one.recording,
            "label": label,
            "onset": edges[:-1],
            "offset": edges[1:],
            "hard": hard,
            "posterior": one.active,
            "log_likelihood_ratio": ratio,
            "weight": weight,
        }
    )
