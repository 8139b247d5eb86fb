"""The command `weakly`: parse, call, print. One module per command; heavy imports happen inside the commands."""

from __future__ import annotations

import inspect
import os
import re
import signal
import sys
import warnings
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import typer

from .. import __version__
from ..base.errors import InvalidInput, WeaklyError
from ..base.results import inputs_kept
from . import common

_HELP: Any = {"help_option_names": ["-h", "--help"]}
app = typer.Typer(
    name="weakly",
    help="Know how good weak labels are before you pay for them.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings=_HELP,
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
        False, "--version", "-V", callback=_version, is_eager=True, help="Print the version and exit."
    ),
) -> None:
    pass


def _paragraphs(text: str) -> str:
    """The words of a help, each paragraph in one line, which a terminal folds once; examples stay as they are."""
    parts = inspect.cleandoc(text).split("\n\n")
    return "\n\n".join(part if part.startswith(" ") else _one_line(part) for part in parts)


def _one_line(message: object) -> str:
    return common.shown(" ".join(str(message).split()))


def _number_wanted(message: str) -> str:
    """The message of a wrong value, in our words where it wants a number: releases of typer say it differently."""
    wanted = re.match(r"Invalid value for '(--[\w-]+)'.*\bvalid (integer|number|float)", message)
    return f"{wanted[1]} must be a {'whole ' * (wanted[2] == 'integer')}number" if wanted else message


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
    words: list[str] = []
    for word in arguments:
        several = words[-2:-1] and words[-2] in ("--strong", "--weak", "--answers") and not word.startswith("-")
        words += [words[-2], word] if several and arguments[0] == "audit" else [word]
    return words


def _group() -> Any:
    """The command with all that it can do; in its help a flag shows no type, as it takes no value, nor an argument."""
    group: Any = typer.main.get_command(app)
    for each in (group, *group.commands.values()):
        for parameter in each.get_params(typer.Context(each, **_HELP)):
            if getattr(parameter, "is_flag", False):
                parameter.metavar = ""
            elif parameter.param_type_name == "argument":  # its name says what it is
                parameter.display_type_rich = lambda ctx: None
    return group


def _project(arguments: list[str], commands: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """By command, the options that ``weakly.toml`` of this folder sets: for all commands, or in the table of one.

    What the command line says of who answers replaces all that the file says of it.
    """
    file, common.project, defaults = Path("weakly.toml"), {}, dict[str, Any]()
    if not file.is_file() or not arguments:
        return {}
    import difflib
    import tomllib

    try:
        settings = tomllib.loads(file.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{file}: {error}") from error
    options = {
        name: {each.opts[0].lstrip("-").replace("-", "_"): each for each in command.params}
        for name, command in commands.items()
    }
    known = {each for names in options.values() for each in names} - {"json", "out", "report", "force", "quiet"}
    who = {"presence_criterion", "rule", "annotator"}
    given = {word.partition("=")[0][2:].replace("-", "_") for word in arguments if word.startswith("--")}
    tables = {key: value for key, value in settings.items() if key in options and isinstance(value, dict)}
    own = tables.get(arguments[0], {})
    shared = {key: value for key, value in settings.items() if key not in tables}
    for key, value in (shared | own).items():
        name = key.replace("-", "_")
        if name not in known or (key in own and name not in options[arguments[0]]):
            close = difflib.get_close_matches(name, known, n=1)
            guess = f"; did you mean {close[0]!r}?" if close else ""
            raise InvalidInput(f"{file}: {key!r} is no option that a project can set{guess}")
        here = options.get(arguments[0], {}).get(name)
        if here is not None and not (name in who and given & who):
            many = getattr(here, "multiple", False)
            parts = value if isinstance(value, list) else [value]
            common.project[name] = parts if many else ",".join(map(str, parts)) if value is parts else value
            defaults[here.name] = common.project[name]
    if common.project:
        common.note(f"weakly: note: {file} sets {', '.join(common.project)}")
    return {arguments[0]: defaults}


def _stdin_as_file(arguments: list[str], folder: str) -> list[str]:
    """The arguments, with a file that holds what comes from stdin in the place of ``-``; convert's OUT is stdout."""
    file, out = Path(folder) / "stdin", arguments[:1] == ["convert"]
    places = [k for k, word in enumerate(arguments) if word == "-" and not (out and k > 1)]
    if places:
        file.write_bytes(sys.stdin.buffer.read())
    common.stdin = str(file)
    return [str(file) if k in places else word for k, word in enumerate(arguments)]


def main(arguments: list[str] | None = None) -> None:
    """Run one command: exit code 0 done, 1 a check did not hold, 2 bad input (one line on stderr), 130 interrupted."""
    _mend_streams()
    arguments = sys.argv[1:] if arguments is None else arguments
    if arguments[:1] in (["-q"], ["--quiet"]):  # an option of every command, so it may stand before their names as well
        arguments = [*arguments[1:2], arguments[0], *arguments[2:]]
    common.quiet = any(word in ("-q", "--quiet") for word in arguments)
    warnings.showwarning = lambda message, *_, **__: common.note(f"weakly: note: {_one_line(message)}")
    with suppress(ValueError):  # not in the main thread
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that temporary folders are removed
    try:
        with inputs_kept(), TemporaryDirectory() as folder:
            words, group = _stdin_as_file(_repeated(arguments), folder), _group()
            own = _project(arguments, group.commands)
            code = group(args=words, prog_name="weakly", standalone_mode=False, default_map=own)
        if code == 130:  # some releases of typer turn the interruption into this code
            raise KeyboardInterrupt
    except _UsageError as error:
        if type(error).__name__ == "NoArgsIsHelpError":
            print(error.ctx.get_help(), file=sys.stderr)
        else:
            where = f" (see '{error.ctx.command_path} --help')" if getattr(error, "ctx", None) else ""
            print(f"weakly: {_one_line(_number_wanted(error.format_message()))}{where}", file=sys.stderr)
        code = 2
    except (BrokenPipeError, SystemExit) as error:  # the reader, such as head, has seen enough
        if not isinstance(error, BrokenPipeError) and not isinstance(error.__context__, BrokenPipeError):
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 141  # typer and rich would end with 1, which says that a check did not hold
    except (WeaklyError, OSError) as error:
        system = isinstance(error, OSError) and error.strerror and error.filename is not None
        reason = f"{error.filename}: {error.strerror}" if system else error  # type: ignore[union-attr]
        print(f"weakly: {_one_line(reason)}", file=sys.stderr)
        code = 2
    except (KeyboardInterrupt, typer.Abort):
        print("weakly: interrupted", file=sys.stderr)
        code = 130
    sys.exit(code if isinstance(code, int) else 0)


# Each command registers itself when it is imported.
from . import check, demo, evaluate, label, plan, queries  # noqa: E402,F401

#: The order of the list of commands: plan what to label, label it, look at what came out.
_ORDER = (
    *("plan", "evaluate", "simulate", "audit", "queries", "label", "answers", "infer"),
    *("convert", "check", "reproduce", "serve", "demo"),
)
app.registered_commands.sort(key=lambda each: _ORDER.index(each.name or ""))
for _command in app.registered_commands:
    _command.help = _paragraphs(_command.help or (_command.callback and _command.callback.__doc__) or "")
