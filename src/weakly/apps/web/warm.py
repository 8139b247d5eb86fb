"""Imported by the process that others are copies of: what the first questions need is compiled and loaded."""

from . import calls, worker  # noqa: F401

calls.warm_up()
