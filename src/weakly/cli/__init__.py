"""The command `weakly`: parse, call, print. One module per command; heavy imports happen inside the commands."""

from __future__ import annotations

import inspect
import os
import signal
import sys
import warnings
from contextlib import suppress
from typing import Any

import typer

from .. import __version__
from ..base.errors import WeaklyError
from ..base.files import inputs_kept

app = typer.Typer(
    name="weakly",
    help="Know how good weak labels are before you pay for them.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


# Some releases of typer carry their own click, so the error is named through typer.
_UsageError: Any = next(kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException")


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"weakly {__version__}")
        raise typer.Exit()


@app.callback()
def _main(
    version: bool = typer.Option(
        False, "--version", callback=_version, is_eager=True, help="Print the version and exit."
    ),
) -> None:
    pass


def _paragraphs(text: str) -> str:
    """The words of a help, each paragraph in one line, which a terminal folds once; examples stay as they are."""
    parts = inspect.cleandoc(text).split("\n\n")
    return "\n\n".join(part if part.startswith(" ") else _one_line(part) for part in parts)


def _one_line(message: object) -> str:
    from ..base.results import printable

    return printable(" ".join(str(message).split()))


def _say_warning(message: Warning | str, category: type[Warning], *_: object, **__: object) -> None:
    print(f"weakly: note: {_one_line(message)}", file=sys.stderr)


def _mend_streams() -> None:
    """Give every standard stream a place to go: what is closed goes nowhere, and no letter stops a command."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            # In this order each takes its own number, which else the next file that is opened would get.
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), mode))
        elif mode == "w" and hasattr(getattr(sys, name), "reconfigure"):
            getattr(sys, name).reconfigure(errors="backslashreplace")


def _repeated(arguments: list[str]) -> list[str]:
    """The files that a shell has made of a pattern behind --strong, --weak or --answers of audit, each with its option.

    >>> _repeated(["audit", "--strong", "a.txt", "b.txt", "--label", "owl"])
    ['audit', '--strong', 'a.txt', '--strong', 'b.txt', '--label', 'owl']
    """
    found: list[str] = []
    for word in arguments:
        several = found[-2:-1] and found[-2] in ("--strong", "--weak", "--answers") and not word.startswith("-")
        found += [found[-2], word] if several and arguments[0] == "audit" else [word]
    return found


def main(arguments: list[str] | None = None) -> None:
    """Run one command: exit code 0 done, 1 a check did not hold, 2 bad input (one line on stderr), 130 interrupted."""
    _mend_streams()
    warnings.showwarning = _say_warning
    with suppress(ValueError):  # not in the main thread
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that temporary folders are removed
    try:
        with inputs_kept():
            code = app(
                args=_repeated(sys.argv[1:] if arguments is None else arguments),
                prog_name="weakly",
                standalone_mode=False,
            )
        if code == 130:  # some releases of typer turn the interruption into this code
            raise KeyboardInterrupt
    except _UsageError as error:
        if type(error).__name__ == "NoArgsIsHelpError":
            print(error.ctx.get_help(), file=sys.stderr)
        else:
            where = f" (see '{error.ctx.command_path} --help')" if getattr(error, "ctx", None) else ""
            print(f"weakly: {_one_line(error.format_message())}{where}", file=sys.stderr)
        code = 2
    except (BrokenPipeError, SystemExit) as error:  # the reader, such as head, has seen enough
        if not isinstance(error, BrokenPipeError) and not isinstance(error.__context__, BrokenPipeError):
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 141  # typer and rich would end with 1, which says that a check did not hold
    except (WeaklyError, OSError) as error:
        system = isinstance(error, OSError) and error.strerror and error.filename is not None
        words = f"{error.filename}: {error.strerror}" if system else error  # type: ignore[union-attr]
        print(f"weakly: {_one_line(words)}", file=sys.stderr)
        code = 2
    except (KeyboardInterrupt, typer.Abort):
        print("weakly: interrupted", file=sys.stderr)
        code = 130
    sys.exit(code if isinstance(code, int) else 0)


# Each command registers itself when it is imported.
from . import audit, check, demo, evaluate, infer, label, plan, queries  # noqa: E402,F401

for _command in app.registered_commands:
    _command.help = _paragraphs(_command.help or (_command.callback and _command.callback.__doc__) or "")
