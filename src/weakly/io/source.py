"""One file as text: decoded, looked at, and split into rows that remember their lines."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import repeat
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from ..base.errors import InvalidInput
from ..base.files import is_input

#: The first bytes of files that people keep beside their annotations, and what they are.
KINDS = (
    (b"RIFF", "sound or video (RIFF), not annotations"),
    (b"fLaC", "sound (FLAC), not annotations"),
    (b"OggS", "sound (Ogg), not annotations"),
    (b"ID3", "sound (MP3), not annotations"),
    (b"\xff\xfb", "sound (MP3), not annotations"),
    (b"caff", "sound (CAF), not annotations"),
    (
        b"\x93NUMPY",
        "a numpy array: numbers without onsets; if they are event lengths, use Lengths.sample(np.load(path))",
    ),
    (b"\x89PNG", "a picture, not annotations"),
    (b"%PDF", "a PDF document, not annotations"),
    (b"\x89HDF", "an HDF5 container; save its annotations as a table"),
    (b"\x1f\x8b", "compressed (gzip); unpack it first"),
    (b"BZh", "compressed (bzip2); unpack it first"),
    (b"PK\x03\x04", "a zip archive or a spreadsheet (xlsx); unpack it or save the sheet as CSV"),
    (b"\xd0\xcf\x11\xe0", "an old spreadsheet (xls); save the sheet as CSV"),
    (b"SQLite format 3", "a database; export its annotations as a table"),
)
PARQUET = b"PAR1"
_NEWLINE = re.compile(r"\r\n|\r|\n")
_DOCUMENT = re.compile(r"\s*([\[{<]|File type)")  # JSON, XML, TextGrid: these tell themselves where they end
_HEAD = 1 << 16  # characters that detection may look at
_CHUNK = 20_000  # rows between two steps of a progress bar


def quoted(value: object, *, most: int = 40) -> str:
    """The value as a message may show it: in quotes, on one line, not too long."""
    text = str(value)
    return repr(text if len(text) <= most else text[: most - 1] + "…")


class Source:
    """A file that is read once: its bytes, its text, its first lines.

    ``on_error`` says what becomes of a broken row: "raise" (and "clip", which cuts late events), "skip", or "collect"
    (the linter's).
    """

    def __init__(
        self,
        path: Path,
        *,
        on_error: str = "raise",
        columns: dict[str, str] | None = None,
        label: str | None = None,
        advance: Callable[[int], None] | None = None,
        called: str | None = None,
    ) -> None:
        self.path = path
        self.called = called  # the address of which this is a copy
        self.on_error = on_error
        self.columns = columns or {}
        self.label = label  # the class of files that do not name one
        self.advance = advance or (lambda _: None)
        self.problems: list[tuple[int | str, str, str]] = []  # (line, column, words)
        self.notes: list[str] = []
        self.n_rows: int | None = None  # rows that hold something, without the line of names
        self.clocks: set[str] = set()  # columns that were read as hh:mm:ss
        self.own = ""  # the recording that the file's own name stands for, where it was asked for
        self.signs: list[tuple[str, str]] = []  # notes that the linter counts as findings: (kind, words)

    @property
    def name(self) -> str:
        """The file as messages call it."""
        return (self.called or str(self.path)).encode("utf-8", "backslashreplace").decode("utf-8")

    @property
    def partitions(self) -> dict[str, str]:
        """What the names of its folders say of all rows of a table: ``label=owl/site=a/part0.parquet``."""
        pairs = [part.partition("=") for part in self.path.absolute().parts[:-1]]
        return {name: unquote(value) for name, sign, value in pairs if sign and name and value}

    @cached_property
    def data(self) -> bytes:
        """The bytes of the file."""
        is_input(self.path)
        try:
            return self.path.read_bytes()
        except OSError as error:
            raise InvalidInput(f"{self.name}: cannot be read: {error.strerror or error}") from error

    @cached_property
    def text(self) -> str:
        """The text of the file; UTF-8 and UTF-16 with or without a mark, else Windows-1252, said in a note."""
        data = self.data
        if data.startswith((b"\xff\xfe", b"\xfe\xff")):
            try:
                return self._clean(data.decode("utf-16"))
            except UnicodeDecodeError as error:
                raise InvalidInput(f"{self.name}: begins like UTF-16 text and is not: {error.reason}") from error
        try:
            return self._clean(data.decode("utf-8-sig"))
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, error.start) + 1
            where = f"{self.name}, line {line}: byte 0x{data[error.start]:02x} is not UTF-8 text"
        try:
            text = data.decode("cp1252")
        except UnicodeDecodeError:
            text = "\0"
        if re.search(r"[\x00-\x08\x0e-\x1f\x7f]", text):
            raise InvalidInput(f"{where}; is this a text file?")
        self.note(f"{where}; read as Windows-1252, so look at the letters of its names", kind="encoding")
        return text

    def _clean(self, text: str) -> str:
        if "\0" in text:
            line = text.count("\n", 0, text.index("\0")) + 1
            raise InvalidInput(f"{self.name}, line {line}: holds NUL characters; is this a text file?")
        if "\ufeff" in text:
            line = text.count("\n", 0, text.index("\ufeff")) + 1
            words = "a byte order mark inside the text is passed over; were two files joined here?"
            self.note(f"{self.name}, line {line}: {words}", kind="encoding")
            text = text.replace("\ufeff", "")
        return text

    def uncomment(self) -> bool:
        """Blank the lines of ``#`` before the first other one, which keep their numbers; whether there were any."""
        lines = self.text.splitlines(keepends=True)
        n = next((i for i, line in enumerate(lines) if line.strip() and not line.lstrip().startswith("#")), 0)
        if not any(line.strip() for line in lines[:n]):
            return False
        self.text = "\n" * n + "".join(lines[n:])
        for name in ("head", "delimiter", "header", "names", "is_json"):
            self.__dict__.pop(name, None)
        self.note(f"{self.name}: {n} lines of comments (#) before the first row are passed over")
        return True

    @cached_property
    def head(self) -> list[str]:
        """The first lines that hold something, without their line ends."""
        first = len(self.text) - len(self.text.lstrip())
        start = max(self.text.rfind(end, 0, first) for end in "\r\n") + 1
        start = start if first - start < _HEAD // 2 else first  # blanks alone shall not fill the head
        lines = _NEWLINE.split(self.text[start : start + _HEAD])
        if len(self.text) - start > _HEAD and len(lines) > 1:
            lines.pop()  # it may be cut
        return [line for line in lines if line.strip()][:60]

    @cached_property
    def delimiter(self) -> str:
        """What stands between the fields of the first line: a tab, a comma or a semicolon."""
        first = re.sub(r'"[^"\t]*("|$)', "", self.head[0]) if self.head else ""
        if "\t" in first:
            return "\t"
        return ";" if first.count(";") > first.count(",") else ","

    def first_row(self, delimiter: str) -> list[str]:
        """The fields of the first row that holds something."""
        for rows, _ in self.chunks(delimiter):
            return rows[0] if rows else []
        return []

    @cached_property
    def header(self) -> list[str]:
        """The fields of the first line, as they are."""
        if not self.head:
            return []
        try:
            return [field.strip() for field in next(csv.reader([self.head[0]], delimiter=self.delimiter))]
        except csv.Error:
            return []

    @cached_property
    def names(self) -> frozenset[str]:
        """The fields of the first line in lower case."""
        return frozenset(field.lower() for field in self.header)

    @cached_property
    def is_json(self) -> bool:
        """Whether the text begins like a JSON object or list."""
        return bool(self.head) and self.head[0].lstrip().startswith(("[", "{"))

    def json(self) -> Any:
        """The JSON document of the file."""
        try:
            return json.loads(self.text)
        except json.JSONDecodeError as error:
            raise InvalidInput(
                f"{self.name}, line {error.lineno}, column {error.colno}: is not JSON: {error.msg}"
            ) from error
        except (RecursionError, ValueError) as error:
            raise InvalidInput(f"{self.name}: is not usable JSON: {error}") from error

    def lines(self) -> Iterator[tuple[int, str]]:
        """Every line that holds something, with its number."""
        for number, line in enumerate(_NEWLINE.split(self.text), 1):
            if line.strip():
                yield number, line

    def columns_at_once(self, delimiter: str, *, named: bool = True) -> list[list[str]] | None:
        """The columns of a file without quotes or blank lines in which all lines have as many fields; else None.

        Most big files are like this, and splitting all of the text at once is several times faster than by rows.
        """
        text = self.text.replace("\r\n", "\n") if "\r\n" in self.text else self.text
        if not text or '"' in text or "\r" in text:
            return None
        text = text[:-1] if text.endswith("\n") else text
        lines = text.split("\n")
        width = lines[0].count(delimiter) + 1
        if width < 2 or set(map(str.count, lines, repeat(delimiter))) != {width - 1}:
            return None
        if delimiter * (width - 1) in lines or (named and not lines[0].strip(delimiter + " ")):
            return None
        self.advance(len(self.text))
        fields = text.replace("\n", delimiter).split(delimiter)
        return [fields[k::width] for k in range(width)]

    def chunks(
        self, delimiter: str, *, quotes: bool = True, skipspace: bool = False
    ) -> Iterator[tuple[list[list[str]], list[int]]]:
        """Rows that hold something as lists of fields, with the line on which each ends, some thousands at a time."""
        text = io.StringIO(self.text, newline="")
        quoting: Any = csv.QUOTE_MINIMAL if quotes else csv.QUOTE_NONE
        reader = csv.reader(text, delimiter=delimiter, quoting=quoting, strict=True, skipinitialspace=skipspace)
        found: list[list[str]] = []
        lines: list[int] = []
        seen = 0
        try:
            last, width, empty = 0, 0, 0
            for row in reader:
                if any(row) and any(map(str.strip, row)):
                    width = width or len(row)
                    if reader.line_num - last > 1:
                        self._swallowed(row, delimiter, width, last + 1)
                    found.append(row)
                    lines.append(reader.line_num)
                    if len(found) == _CHUNK:
                        self.advance(text.tell() - seen)
                        seen = text.tell()
                        yield found, lines
                        found, lines = [], []
                elif len(row) > 1:
                    empty += 1
                last = reader.line_num
            if empty:
                self.note(f"{self.name}: {empty} rows without a single entry are passed over")
        except csv.Error as error:
            words = str(error)
            if "field larger" in words:
                words = "a field is longer than 131072 characters; an unclosed quote?"
            elif "unexpected end" in words or "expected after" in words:
                words = f"a quote is not closed ({words})"
            raise InvalidInput(f"{self.name}, line {reader.line_num}: {words}") from error
        self.advance(max(0, len(self.text) - seen))
        yield found, lines

    def _swallowed(self, row: list[str], delimiter: str, width: int, line: int) -> None:
        """A quote that is closed many lines later has swallowed rows: their separators are inside one field."""
        for field in row:
            if "\n" in field or "\r" in field:
                inside = _NEWLINE.split(field)[1:]
                joined = width > 2 and field.count(delimiter) >= (width - 1) * len(inside)
                if joined or (width > 1 and any(part.count(delimiter) >= width - 1 for part in inside)):
                    raise InvalidInput(
                        f"{self.name}, line {line}: a quote opens here and closes {len(inside)} lines later, with "
                        "whole rows inside; a stray quote?"
                    )

    def ended(self, lines: Sequence[int | str], labels: Sequence[str] = ()) -> None:
        """Note a last line, one of those that were read, that has no end and whose last field looks cut.

        It is shorter than all others of its column (of numbers: has fewer decimals), or the beginning of one of them.
        The labels of the first of these lines are taken whole where a line ends with its label.
        """
        text = self.text
        if not text.strip() or text.endswith(("\n", "\r")) or _DOCUMENT.match(text):
            return
        every = _NEWLINE.split(text)
        used = {line for line in lines if isinstance(line, int)}
        if len(every) not in used or every[-1].rstrip().endswith('"'):
            return
        sign = self.delimiter if self.delimiter in every[-1] else None
        last, *others = (every[k - 1].rsplit(sign, 1)[-1].strip() for k in sorted(used, reverse=True))
        named = dict(zip(lines, labels))
        if named.get(len(every)) and every[-1].rstrip().endswith(named[len(every)]):
            last, others = named.pop(len(every)), list(named.values())
        if last in others:
            return
        try:
            float(last), [float(other) for other in others]
            decimals = [len(each.partition(".")[2]) for each in (last, *others)]
            alike = len({*map(len, others)}) == len({*decimals[1:]}) == 1 and len(last) < len(others[0])
            cut = len(others) > 1 and (alike or decimals[0] < min(decimals[1:]))
        except ValueError:
            begins = last and any(other.startswith(last) for other in others)
            cut = begins or (len(others) > 1 and len(last) < min(map(len, others)))
        if cut:
            words = f"the last line has no end and its last field {quoted(last)} looks cut; is the file whole?"
            self.note(f"{self.at(len(every))}: {words}", kind="cut short")

    def rows(
        self, delimiter: str, *, quotes: bool = True, skipspace: bool = False
    ) -> tuple[list[list[str]], list[int]]:
        """All rows at once."""
        found: list[list[str]] = []
        lines: list[int] = []
        for rows, numbers in self.chunks(delimiter, quotes=quotes, skipspace=skipspace):
            found += rows
            lines += numbers
        return found, lines

    def fail(self, line: int | str, column: str, words: str) -> None:
        """Deal with a broken row as the caller asked: stop, or keep count of it."""
        if self.on_error in ("raise", "clip"):
            raise InvalidInput(f"{self.at(line)}{f', column {quoted(column)}' if column else ''}: {words}")
        self.problems.append((line, column, words))

    def at(self, line: int | str) -> str:
        """The file and the place in it, for a message."""
        return f"{self.name}, {f'line {line}' if isinstance(line, int) else line}"

    def note(self, words: str, *, kind: str | None = None) -> None:
        """Remember what was understood that the file does not say outright; a kind makes it the linter's business."""
        self.notes.append(words)
        if kind is not None:
            self.signs.append((kind, words))

    def stem(self, *endings: str) -> str:
        """The recording that the file's own name stands for: the name without its ending."""
        name, self.own = self.path.name, self.path.stem
        for ending in endings:
            match = re.search(ending, name, flags=re.IGNORECASE)
            if match and match.start() > 0:
                self.own = name[: match.start()]
                break
        # A name that is no text on this system is shown with its odd bytes written out.
        self.own = self.own.encode("utf-8", "backslashreplace").decode("utf-8")
        return self.own


def column_of(names: Sequence[str], *wanted: str) -> str | None:
    """The first wanted column that is there, whatever its case; None if there is none."""
    lower: dict[str, str] = {}
    for name in names:
        lower.setdefault(name.strip().lower(), name)
    return next((lower[want.lower()] for want in wanted if want.lower() in lower), None)
