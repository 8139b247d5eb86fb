"""What every command shares: lists and ranges, tables, JSON, reports."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import typer

from ..base.errors import InvalidInput


def fresh(context: typer.Context, path: Path | None) -> Path | None:
    """The place to write to, if nothing is there yet; every option that names one has this as its callback."""
    if path is not None and not context.params.get("force"):
        folder = path.is_dir() and any(path.iterdir())
        if folder or path.is_file():
            words = "the folder is not empty" if folder else "the file is there already"
            raise InvalidInput(f"{path}: {words}; --force writes over what is there, or give another name")
    return path


JSON = typer.Option(False, "--json", help="Print one JSON document and nothing else.")
OUT = typer.Option(
    None, "--out", metavar="DIR", callback=fresh, help="Write figures (PNG and SVG) and tables into this folder."
)
REPORT = typer.Option(None, "--report", metavar="FILE.html", callback=fresh, help="Write one self-contained HTML file.")
#: Eager, so that it is known when the places to write to are looked at.
FORCE = typer.Option(False, "--force", is_eager=True, help="Write over files that are there.")


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
    import json

    from ..base.results import to_json

    text = to_json(result)
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        text = json.dumps(json.loads(text), indent=2)  # in ASCII
    typer.echo(text)


def columns() -> int | None:
    """How many signs a line of the terminal holds; None for a pipe or a file, whose lines have no end."""
    import shutil

    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def wrapped(text: str, width: int, indent: str = "") -> str:
    """The text in lines of at most this width; a number stays with its unit.

    >>> wrapped("takes 12 s or 3 hours", 9)
    'takes\\n12 s or\\n3 hours'
    """
    import re
    import textwrap

    glued = re.sub(r"(\d) (?=\S)", "\\1\u00a0", text)  # textwrap breaks at plain spaces only
    lines = textwrap.wrap(glued, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
    return "\n".join(lines).replace("\u00a0", " ")


def say(text: str = "", *, indent: str = "") -> None:
    """A sentence on stdout: in lines that fit a terminal, in one line for a pipe."""
    from ..base.results import printable

    width, text = columns(), printable(text)
    typer.echo(text if width is None else "\n".join(wrapped(line, width, indent) for line in text.split("\n")))


def print_table(frame: Any, *, title: str | None = None) -> None:
    """The table on stdout, numbers to the right, in the house's formats; plain text, so labels cannot style it."""
    print_rows(list(frame.columns), list(frame.itertuples(index=False, name=None)), title=title)


def print_rows(names: list[str], rows: list[tuple[Any, ...]], *, title: str | None = None) -> None:
    """The same for plain rows, for commands that have no need of a data frame.

    On a terminal the heads are words below each other and nothing is broken or wider than a line: names are cut, and
    columns that do not fit are named instead. In a pipe every row is a line and every head one word of the JSON.
    """
    from numbers import Number

    from ..base.results import show
    from ..base.symbols import plain_name

    width, names = columns(), [str(name) for name in names]
    cells = [[show(name, value) for name, value in zip(names, row)] for row in rows]
    heads = [[name] for name in names]
    used = list(range(len(names)))
    if width is not None:
        used = [k for k in used if not cells or any(row[k] not in ("", "–") for row in cells)]
        heads = [_head(plain_name(name).removeprefix("n "), [row[k] for row in cells]) for k, name in enumerate(names)]
    right = {k: all(row[k] is None or isinstance(row[k], Number) for row in rows) for k in used}
    sizes = {k: max(map(len, [*heads[k], *(row[k] for row in cells)])) for k in used}
    left = used if width is None else _fitting(sizes, right, width)
    deep = max(len(heads[k]) for k in left)
    above = [[heads[k][line - deep] if line >= deep - len(heads[k]) else "" for k in left] for line in range(deep)]
    below = [[row[k] if len(row[k]) <= sizes[k] else f"{row[k][: sizes[k] - 1]}…" for k in left] for row in cells]
    lines = [
        "  ".join(f"{cell:>{sizes[k]}}" if right[k] else f"{cell:<{sizes[k]}}" for cell, k in zip(row, left)).rstrip()
        for row in [*above, *below]
    ]
    if title:
        say(title)
    typer.echo("\n".join(lines))
    if len(left) < len(used):
        missing = ", ".join(plain_name(names[k]).removeprefix("n ") for k in used if k not in left)
        say(f"More columns in --json or a wider terminal: {missing}.")


def _head(words: str, cells: list[str]) -> list[str]:
    """The lines of a column's head: as wide as its cells or its longest word, whichever is wider."""
    import textwrap

    size = max([6, *(len(word) for word in words.split()), *(min(len(cell), 16) for cell in cells)])
    return textwrap.wrap(words, size) or [""]


def _fitting(sizes: dict[int, int], right: dict[int, bool], width: int) -> list[int]:
    """The columns that fit a line, from the first on; those of words give way down to 14 signs, in ``sizes``."""
    left = list(sizes)
    while left:
        over = sum(sizes[k] + 2 for k in left) - 2 - width
        words = sorted((k for k in left if not right[k] and sizes[k] > 14), key=lambda k: -sizes[k])
        if over <= sum(sizes[k] - 14 for k in words) or len(left) == 1:
            for k in words:
                cut = min(max(over, 0), sizes[k] - 14)
                sizes[k], over = sizes[k] - cut, over - cut
            break
        left.pop()
    return left


def command_line() -> str:
    """The command as it was typed, for reports."""
    import shlex

    return shlex.join(["weakly", *sys.argv[1:]])


def wrote(*paths: Path) -> None:
    """Tell on stderr which files were written."""
    from ..base.results import printable

    for path in paths:
        print(f"wrote {printable(path)}", file=sys.stderr)


def save(out: Path, name: str, document: Any, tables: Mapping[str, Any], paths: Iterable[Path]) -> None:
    """Write the document as JSON and the tables as CSV, and tell of them and of the figures written before.

    A text that a spreadsheet would take for a formula gets an apostrophe before it, as spreadsheets themselves do.
    """
    from ..base.files import atomic_write
    from ..base.results import to_json

    out.mkdir(parents=True, exist_ok=True)
    texts = {f"{each}.csv": _no_formulas(table).to_csv(index=False) for each, table in tables.items()}
    texts[f"{name}.json"] = to_json(document) + "\n"
    for each, text in texts.items():
        with atomic_write(out / each) as file:
            file.write(text)
    wrote(*paths, *(out / each for each in texts))


def _no_formulas(table: Any) -> Any:
    """The table with an apostrophe before every text that starts like a formula; numbers stay numbers."""

    def tame(value: Any) -> Any:
        return f"'{value}" if isinstance(value, str) and value.lstrip().startswith(("=", "+", "-", "@")) else value

    texts = [name for name, kind in table.dtypes.items() if kind.kind not in "biufM"]
    return table.assign(**{name: table[name].astype(object).map(tame) for name in texts}).rename(columns=tame)
