"""What every command shares: lists and ranges, tables, JSON, reports."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import typer

from ..errors import InvalidInput

JSON = typer.Option(False, "--json", help="Print one JSON document and nothing else.")
OUT = typer.Option(None, "--out", metavar="DIR", help="Write figures (PNG and SVG) and tables into this folder.")
REPORT = typer.Option(None, "--report", metavar="FILE.html", help="Write one self-contained HTML file.")


_MOST = 100_000  # values in a range: more is a slip, and would fill the memory


def numbers(text: str, *, name: str) -> list[float]:
    """The numbers of a list ``0.1,0.5`` or a range ``lo:hi:n`` (n values, both ends included).

    >>> numbers("1,3", name="x"), numbers("0:1:3", name="x")
    ([1.0, 3.0], [0.0, 0.5, 1.0])
    """
    values: list[float] = []
    for part in text.split(","):
        pieces = part.split(":")
        try:
            if len(pieces) == 3:
                low, high, count = float(pieces[0]), float(pieces[1]), int(pieces[2])
                if count < 1:
                    raise ValueError
                if count > _MOST:
                    break
                step = (high - low) / (count - 1) if count > 1 else 0.0
                values += [low + step * k for k in range(count - 1)] + [high if count > 1 else low]
            elif len(pieces) == 1:
                values.append(float(part))
            else:
                raise ValueError
        except ValueError as error:
            raise InvalidInput(f"{name} must be numbers like 0.1,0.5 or a range like 0.1:1:10, got {text!r}") from error
    else:
        return values
    raise InvalidInput(f"{name} must hold at most {_MOST:,} values, got {text!r}")


def print_json(result: Any) -> None:
    """The result's dictionary as one JSON document on stdout."""
    from ..results import to_json

    typer.echo(to_json(result))


def print_table(frame: Any, *, title: str | None = None) -> None:
    """The table on stdout, numbers to the right, in the house's formats; plain text, so labels cannot style it."""
    print_rows(list(frame.columns), list(frame.itertuples(index=False, name=None)), title=title)


def print_rows(names: list[str], rows: list[tuple[Any, ...]], *, title: str | None = None) -> None:
    """The same for plain rows, for commands that have no need of a data frame."""
    from numbers import Number

    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from ..results import show

    heading = Text(title) if title else None
    table = Table(title=heading, title_justify="left", box=None, pad_edge=False, padding=(0, 2, 0, 0))
    cells = [[show(name, value) for name, value in zip(names, row)] for row in rows]
    terminal = sys.stdout.isatty()
    screen = Console(width=None if terminal else 10_000, highlight=False, soft_wrap=not terminal)
    widths = [max([len(str(name)), *(len(row[k]) for row in cells)]) + 2 for k, name in enumerate(names)]
    stacked = terminal and sum(widths) > screen.width  # names below their first words, rather than broken anywhere
    for k, name in enumerate(names):
        number = all(row[k] is None or isinstance(row[k], Number) for row in rows)
        words = str(name).replace("_", "_\n") if stacked and len(str(name)) > 8 else str(name)
        table.add_column(Text(words), justify="right" if number else "left", overflow="fold")
    for row in cells:
        table.add_row(*map(Text, row))
    screen.print(table)


def command_line() -> str:
    """The command as it was typed, for reports."""
    import shlex

    return shlex.join(["weakly", *sys.argv[1:]])


def wrote(*paths: Path) -> None:
    """Tell on stderr which files were written."""
    for path in paths:
        print(f"wrote {path}", file=sys.stderr)
