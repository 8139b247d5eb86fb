"""What can go wrong, by name: two exceptions, one warning, and the door to optional packages."""

from __future__ import annotations

import importlib
from types import ModuleType


class WeaklyError(Exception):
    """The base of every error that weakly raises on purpose."""


class InvalidInput(WeaklyError, ValueError):
    """Input that weakly refuses; the message names the argument, its value and what is allowed."""


class MissingExtra(WeaklyError, ImportError):
    """An optional package is not installed; the message is the line that installs it."""


class AssumptionWarning(UserWarning):
    """The data break an assumption of the formula that was asked for; the result may still be useful."""


def optional(module: str, *, extra: str) -> ModuleType:
    """The imported optional module, or a MissingExtra that says how to install it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        name = module.partition(".")[0]
        raise MissingExtra(f"this needs the package {name}: pip install 'weakly[{extra}]'") from error
