"""What commands share: options declared once, how files are read, lists and ranges, tables, and how a result leaves."""

from __future__ import annotations

import inspect
import json
import os
import re
import shlex
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, get_type_hints

import typer

from ..base.errors import InvalidInput
from ..base.results import Column, printable, to_json, write_file
from ..base.symbols import numbers as numbers
from ..base.symbols import pairs

if TYPE_CHECKING:
    from ..base.report import Result
    from ..model.answers import Answers
    from ..model.events import Events

    _Rows = TypeVar("_Rows", bound=Events | Answers)


def fresh(context: typer.Context, path: Path | None) -> Path | None:
    """The place to write to, if nothing is there yet; every option that names one has this as its callback."""
    if path is not None and not context.params.get("force"):
        folder = path.is_dir() and any(path.iterdir())
        if folder or path.is_file():
            words = "the folder is not empty" if folder else "the file is there already"
            raise InvalidInput(f"{path}: {words}; --force writes over what is there, or give another name")
    return path


def option(help: str, default: Any = None, *names: str, **how: Any) -> Any:
    """An option of a command; its name is that of the argument unless told."""
    return typer.Option(default, *names, help=help, **how)


#: What a help shows for the value of an option; a flag takes none.
_VALUES: dict[Any, str] = {str: "TEXT", list[str]: "TEXT", int: "N", float: "NUMBER", Path: "PATH", bool: ""}


def chosen(values: dict[str, Any], names: str) -> dict[str, Any]:
    """The values of these options, which the study that is called knows by the same names."""
    return {name: values[name] for name in names.split()}


def _shared(name: str, help: str, kind: Any = str, default: Any = None, *more: str, **how: Any) -> tuple[Any, Any]:
    panel = "Output" if name in ("--json", "--out", "--report", "--force", "--quiet") else "Reading files"
    return kind, option(help, default, name, *more, **{"rich_help_panel": panel} | how)


_COLUMNS = (
    "Which column is which: onset=start, offset=end (or length=dur), recording=site+night, label=species, joined by "
    "commas; annotator=@file where each file is an annotator's."
)
_EXAMINED = "What was annotated: a UEM file or a table of recordings, times, annotators."
_ON_ERROR = "Broken rows: raise, or skip and count; clip cuts events at the recording's end; skip,clip does both."
_OUT = "Write figures (PNG and SVG) and tables into this folder."
_SAMPLE = "Only N recordings, whole, chosen by a hash of their names."
#: The options that several commands have: their type, and how they are declared.
SHARED: dict[str, tuple[Any, Any]] = {
    "label": _shared("--label", "Only this class; or the class of files that name none."),
    "recording_length": _shared("--recording-length", "Seconds, or a file with the columns filename and duration."),
    "format": _shared("--format", "Format of the files; by default recognised by content."),
    "columns": _shared("--columns", _COLUMNS),
    "where": _shared("--where", "Only rows with this value in a column: split=train; may be repeated.", list[str]),
    "annotator": _shared(
        "--annotator",
        "Only the rows of this annotator; may be repeated. To plan, evaluate, infer: or a card.json.",
        list[str],
    ),
    "merge": _shared("--merge", "Join classes first: 'bird=robin,wren'; may be repeated.", list[str]),
    "examined": _shared("--examined", _EXAMINED, metavar="FILE"),
    "point_length": _shared("--point-length", "Points become events of this many seconds, centred on them.", float),
    "open_end": _shared("--open-end", "An event without an end: 'recording' lets it last as long as its recording."),
    "absent": _shared("--absent", "Classes that say that nothing was there: silence,SIL; none: they are classes."),
    "sheet": _shared("--sheet", "The sheet of a workbook (xlsx, ods)."),
    "tier": _shared("--tier", "The tier of TextGrid and ELAN files; '*' takes all."),
    "sample": _shared("--sample", _SAMPLE, int, min=1, metavar="N"),
    "on_error": _shared("--on-error", _ON_ERROR, default="raise"),
    "json": _shared("--json", "Print one JSON document and nothing else.", bool, False),
    "out": _shared("--out", _OUT, Path, metavar="DIR", callback=fresh),
    "report": _shared("--report", "Write one self-contained HTML file.", Path, metavar="FILE.html", callback=fresh),
    "quiet": _shared("--quiet", "No notes on stderr.", bool, False, "-q"),
    # Eager, so that it is known when the places to write to are looked at.
    "force": _shared("--force", "Overwrite existing files.", bool, False, is_eager=True),
}


@dataclass(frozen=True)
class ReadingOptions:
    """How files of annotations or answers are read: which columns, whose rows, which classes, how long, what examined.

    The fields are arguments of :func:`weakly.read`; those at None are left to it.
    """

    label: str | None = None
    recording_length: str | float | None = None
    format: str | None = None
    columns: dict[str, str] | None = None
    where: dict[str, str] | None = None
    annotator: list[str] | None = None
    merge: dict[str, list[str]] | None = None
    examined: str | None = None
    point_length: float | None = None
    open_end: str | None = None
    absent: str | None = None
    sheet: str | None = None
    tier: str | None = None
    sample: int | str | None = None
    on_error: str = "raise"

    @classmethod
    def of(cls, **given: Any) -> ReadingOptions:
        """From the options as they were typed."""
        joined = pairs(given.get("merge"), name="--merge", example="'bird=robin,wren'")
        columns = pairs(given.get("columns"), name="--columns", example="onset=start,offset=end,label=species")
        where = pairs(given.get("where"), name="--where", example="split=train")
        tier = given.pop("tier", None)
        given |= {
            "columns": columns or None,
            "where": where | ({} if tier is None else {"tier": tier}) or None,
            "annotator": list(given.get("annotator") or ()) or None,
            "merge": {new: [each.strip() for each in old.split(",")] for new, old in joined.items()} or None,
        }
        return cls(**given)

    def arguments(self, *names: str) -> dict[str, Any]:
        """The arguments for a reader, all that were given or those of these names."""
        return {name: value for name, value in asdict(self).items() if (name in names if names else value is not None)}

    def card(self) -> tuple[Any, ReadingOptions]:
        """Who answers, if a value of ``--annotator`` is a card of somebody, and the options without it."""
        given = self.annotator or []
        cards = [value for value in given if value.lower().endswith(".json")]
        if not cards:
            return None, self
        if len(cards) > 1:
            raise InvalidInput(f"--annotator takes one card, got {', '.join(cards)}")
        from ..apps.label import AnnotatorProfile

        names = [value for value in given if value not in cards]
        return AnnotatorProfile.read(cards[0]), replace(self, annotator=names or None)

    @property
    def seconds(self) -> float | None:
        """The length of recordings, if it was given as a number and not as a file."""
        try:
            return None if self.recording_length is None else float(self.recording_length)
        except ValueError:
            return None

    def events(self, files: Sequence[str], *, quiet: bool = False) -> Events:
        """The events of files; where some was examined, each stretch is a recording of its own."""
        from ..io.reading import read

        events = tell_reading(read(files, progress=True, **self.arguments()), quiet=quiet)
        return events.within() if self.examined is not None else events

    def answers(self, files: Sequence[str], *, quiet: bool = False) -> Answers:
        """The answers of files."""
        from ..io.reading import read_answers

        return tell_reading(read_answers(files, progress=True, **self.arguments()), quiet=quiet)

    def pilot(self, files: Sequence[str]) -> tuple[Events, float | None]:
        """The events of a pilot, and the length of recordings to plan for if the option gives seconds.

        Seconds are the plan's; the pilot's own lengths are its own, but where they are unknown and events are to be
        left out or cut, the seconds count for them too.
        """
        from ..io.reading import read

        if self.seconds is None:
            return self.events(files), None
        arguments = replace(self, recording_length=None).arguments()
        events = read(files, **arguments)
        unknown = events.recordings.index[events.recordings["length"].isna()]
        if self.on_error != "raise" and (events.extents[unknown] > self.seconds).any():
            events = read(files, **arguments, recording_length=dict.fromkeys(unknown, self.seconds))
        tell_reading(events)
        return events.within() if self.examined is not None else events, self.seconds


def tell_reading(rows: _Rows, *, quiet: bool = False) -> _Rows:
    """The rows; on stderr what was taken as what, and what became of them where they did not all become events."""
    if not quiet:
        for line in rows.reading.splitlines():
            note(f"weakly: read: {line}")
        sums = rows.account
        if rows.reading and sums["rows"] != sums["events"]:
            known = ("events", "empty", "skipped", "merged")
            kinds = ", ".join(f"{sums[kind]:,} {kind}" for kind in known if sums[kind])
            kinds += f" ({sums['absent']:,} of them say absent)" if sums.get("absent") else ""
            note(f"weakly: read: {sums['rows']:,} rows = {kinds}")
    return rows


@dataclass(frozen=True)
class Outlet:
    """Where a result goes: to the terminal or as one JSON document; into a folder; into a report."""

    json: bool = False
    out: Path | None = None
    report: Path | None = None


def command(
    name: str,
    help: str,
    *,
    reading: str = "",
    leaving: str = "json out report force",
    panels: dict[str, str] | None = None,
    **own: Any,
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Register a function as a command that has shared options as well, by their names in :data:`SHARED`.

    Those of ``reading`` come to the function as one :class:`ReadingOptions`, those of ``leaving`` as an
    :class:`Outlet`; ``own`` declares some of them otherwise. ``panels`` groups the options of a long help: title of a
    panel -> names.
    """
    from . import app

    more = "point_length open_end absent sheet tier" if "columns" in reading.split() else ""
    names = (*reading.split(), *more.split(), *leaving.split(), "quiet")

    def register(function: Callable[..., None]) -> Callable[..., None]:
        hints = get_type_hints(function)

        def run(**given: Any) -> None:
            shared = {each: given.pop(each) for each in names}
            shared = {each: value for each, value in shared.items() if each not in ("force", "quiet")}
            if leaving:
                given["outlet"] = Outlet(**{each: shared.pop(each) for each in leaving.split() if each in shared})
            if reading:
                given["reading"] = ReadingOptions.of(**shared)
            function(**given)

        parameters = [
            each.replace(kind=each.KEYWORD_ONLY, annotation=hints[each.name])
            for each in inspect.signature(function).parameters.values()
            if each.name not in ("reading", "outlet")
        ]
        parameters += [
            inspect.Parameter(each, inspect.Parameter.KEYWORD_ONLY, default=own.get(each, SHARED[each][1]),
                              annotation=SHARED[each][0])
            for each in names
        ]  # fmt: skip
        panel = {each: title for title, grouped in (panels or {}).items() for each in grouped.split()}
        panel |= {each: SHARED[each][1].rich_help_panel for each in names}
        for each in parameters:
            if isinstance(each.default, typer.models.OptionInfo):
                each.default.rich_help_panel = panel.get(each.name)
                if each.default.metavar is None:
                    each.default.metavar = _VALUES.get(each.annotation)
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {each.name: each.annotation for each in parameters}
        run.__name__ = function.__name__
        app.command(name, help=help)(run)
        return function

    return register


def deliver(
    result: Result,
    outlet: Outlet,
    *,
    name: str,
    show: Callable[[Any], None] | None = None,
    most: int = 40,
    command: str | None = None,
) -> None:
    """Print a result or its JSON, and write what was asked for: figures, tables and JSON, the report.

    ``name`` is that of the JSON in the folder, ``most`` the rows of a table on a terminal; ``show`` replaces these.
    """
    if outlet.json:
        print_json(result)
    elif show is not None:
        show(result)
    else:
        for sentence in result.sentences():
            say(sentence, indent="  " if sentence.startswith("- ") else "")
        for title, table in result.shown().items():
            say()
            print_table(table.head(most), title=title or None)
            if len(table) > most:
                say(f"... {len(table) - most:,} more rows: --json, --out or --report hold them all")
    if outlet.out is not None:
        from ..base import plot

        paths = [path for stem, figure in result.figures().items() for path in plot.save(figure, outlet.out / stem)]
        texts = {outlet.out / f"{stem}.csv": _csv(table) for stem, table in result.tables().items()}
        texts[outlet.out / f"{name}.json"] = to_json(result) + "\n"
        wrote(*paths, *[write_file(path, text) for path, text in texts.items()])
    if outlet.report is not None:
        wrote(result.report(outlet.report, command=command or command_line()))


@contextmanager
def failing_if(result: Any, conditions: Sequence[str] | None) -> Iterator[None]:
    """Ends with exit code 1, after what stands inside, if one of the conditions holds of the result."""
    failed = [condition for condition in conditions or () if result.holds(condition)]
    yield
    for condition in failed:
        typer.echo(f"weakly: {condition} holds", err=True)
    if failed:
        raise typer.Exit(1)


def print_json(result: Any) -> None:
    """The result's dictionary as one JSON document on stdout."""
    text = to_json(result)
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        text = json.dumps(json.loads(text), indent=2)  # in ASCII
    typer.echo(text)


def columns(stream: Any = None) -> int | None:
    """How many characters a line of stdout holds, or of another stream: those of its terminal, or as COLUMNS says; None
    for another pipe or file."""
    if os.environ.get("COLUMNS", "").isdigit():
        return int(os.environ["COLUMNS"]) or None
    return shutil.get_terminal_size().columns if (stream or sys.stdout).isatty() else None


def wrapped(text: str, width: int, indent: str = "") -> str:
    """The text in lines of at most this width; a number stays with its unit.

    >>> wrapped("takes 12 s or 3 hours", 9)
    'takes\\n12 s or\\n3 hours'
    """
    glued = re.sub(r"(\d) (?=\S)", "\\1\u00a0", text)  # textwrap breaks at plain spaces only
    lines = textwrap.wrap(glued, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
    return "\n".join(lines).replace("\u00a0", " ")


def shown(text: str) -> str:
    """The text as a terminal may show it: options without their names in Python; what came from stdin is called so."""
    text = re.sub(r"(?<!\w)(?:\w+=)?'?([\w.-]+)'? \((--[a-z-]+ \1|--\1 [^)]*)\)", r"\2", text)
    return printable(text.replace(stdin, "stdin"))


def say(text: str = "", *, indent: str = "") -> None:
    """A sentence on stdout: in lines that fit a terminal, in one line for a pipe."""
    width, text = columns(), shown(text)
    typer.echo(text if width is None else "\n".join(wrapped(line, width, indent) for line in text.split("\n")))


quiet = False  # whether --quiet was given to the command that runs
stdin = "stdin"  # the file in which this command reads what came from stdin
project: dict[str, Any] = {}  # the options that weakly.toml gave it


def note(text: str, *, fold: bool = True) -> None:
    """A line on stderr beside the answer, folded as stdout is; --quiet leaves it out."""
    if not quiet:
        width, text = columns(sys.stderr) if fold else None, shown(text)
        print(text if width is None else wrapped(text, width, "  "), file=sys.stderr)


def print_table(frame: Any, *, title: str | None = None) -> None:
    """The table on stdout, numbers to the right, in the house's formats; plain text, so labels cannot style it.

    On a terminal, or where COLUMNS is set, heads are words below each other and nothing is wider than a line: names are
    cut, and columns that do not fit are named instead. In another pipe every row is a line, and so are the heads.
    """
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    width, every = columns(), Column.of(frame)
    if width is not None and width < 100:  # what all rows share is the first to go
        every.sort(key=lambda each: each.name in ("rule", "presence_criterion") and len(set(each.cells)) == 1)
    heads, least = [each.head for each in every], []
    for k, each in enumerate(every):
        widest = max(map(len, each.cells), default=0)
        if width is not None:  # as wide as the cells or the longest word, whichever is wider
            heads[k] = "\n".join(textwrap.wrap(each.head, max([6, min(widest, 16), *map(len, each.head.split())])))
        least.append(max([min(widest, 14 if each.is_words else widest), *map(len, heads[k].split("\n"))]))
    n = len(every)
    while n > 1 and width is not None and sum(least[:n]) + 2 * (n - 1) > width:
        n -= 1
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="")
    left = max(0, (width or 100_000) - sum(least[:n]) - 2 * (n - 1))  # for names that are longer
    for each, head, size in zip(every[:n], heads, least):
        side: Any = "left" if each.is_words else "right"
        more = min(left, max(0, *map(len, each.cells)) - size) if each.is_words and each.cells else 0
        left, size = left - max(0, more), size + max(0, more)
        table.add_column(Text(head), justify=side, vertical="bottom", no_wrap=True, overflow="ellipsis", width=size)
    for k in range(len(frame)):
        table.add_row(*(Text(each.cells[k]) for each in every[:n]))
    if title:
        say(title)
    Console(highlight=False, width=width or 100_000).print(table)
    if n < len(every):
        say(f"More columns in --json or a wider terminal: {', '.join(each.head for each in every[n:])}.")


def command_line() -> str:
    """The command as it was typed, for reports."""
    settings = ", ".join(f"{name} = {value!r}" for name, value in project.items())
    return shlex.join(["weakly", *sys.argv[1:]]) + (f"  # weakly.toml: {settings}" if settings else "")


def wrote(*paths: Path) -> None:
    """Tell on stderr which files were written."""
    for path in paths:
        note(f"wrote {path}", fold=False)


def _csv(table: Any) -> str:
    """The table as CSV; text that a spreadsheet would take for a formula gets an apostrophe before it, as there."""

    def tame(value: Any) -> Any:
        return f"'{value}" if isinstance(value, str) and value.lstrip().startswith(("=", "+", "-", "@")) else value

    texts = [name for name, kind in table.dtypes.items() if kind.kind not in "biufM"]
    tamed = table.assign(**{name: table[name].astype(object).map(tame) for name in texts}).rename(columns=tame)
    return str(tamed.to_csv(index=False))
