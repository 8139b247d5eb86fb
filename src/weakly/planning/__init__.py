"""Lengths or pilot annotations, a criterion and a price -> how to label, how good it will be, what it costs."""

from .planner import plan
from .result import Plan
from .rows import Row

__all__ = ["Plan", "Row", "plan"]
