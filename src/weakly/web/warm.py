"""Imported by the process that others are copies of: what the first questions need is compiled and loaded."""

from . import answers, worker  # noqa: F401

answers.warm_up()
