"""Imported by the process that others are copies of: what the first questions need is compiled and loaded."""

from . import calls

calls.warm_up()
