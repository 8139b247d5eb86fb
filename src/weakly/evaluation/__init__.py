"""Strong annotations -> what weak labels make of them: whole data sets, file by file, clip by clip, rule by rule."""

from __future__ import annotations

from .evaluator import evaluate
from .result import Evaluation

__all__ = ["Evaluation", "evaluate"]
