"""One file as text: decoded, looked at, and split into rows that remember their lines."""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
import shlex
import warnings
import zipfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import cached_property
from itertools import repeat
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import unquote
from xml.etree import ElementTree

from ..base.errors import InvalidInput, WeaklyError
from ..base.results import is_input

T = TypeVar("T")
#: The first bytes of files that people keep beside their annotations, and what they are.
KINDS = (
    (b"RIFF", "sound or video (RIFF), not annotations"),
    (b"fLaC", "sound (FLAC), not annotations"),
    (b"OggS", "sound (Ogg), not annotations"),
    (b"ID3", "sound (MP3), not annotations"),
    (b"\xff\xfb", "sound (MP3), not annotations"),
    (b"caff", "sound (CAF), not annotations"),
    (b"\x93NUMPY", "a numpy array: numbers without onsets; if they are lengths, use Lengths.sample(np.load(path))"),
    (b"\x89PNG", "a picture, not annotations"),
    (b"%PDF", "a PDF document, not annotations"),
    (b"\x89HDF", "an HDF5 container; save its annotations as a table"),
    (b"BZh", "compressed (bzip2); unpack it first"),
    (b"\xd0\xcf\x11\xe0", "an old spreadsheet (xls); save the sheet as CSV"),
    (b"SQLite format 3", "a database; export its annotations as a table"),
)
PARQUET = b"PAR1"
GZIP, ZIP = b"\x1f\x8b", b"PK\x03\x04"
_MOST = 2 * 2**30  # bytes that a packed file may hold
_NEWLINE = re.compile(r"\r\n|\r|\n")
_MARK = re.compile(r"^\ufeff", re.MULTILINE)  # elsewhere in a line it is part of a name
_DOCUMENT = re.compile(r"\s*([\[{<]|File type)")  # JSON, XML, TextGrid: these tell themselves where they end
COMMENT = re.compile(r"\s*#|version\s*=")  # before a table
_HEAD = 1 << 16  # characters that detection may look at
_CHUNK = 20_000  # rows between two steps of a progress bar


def quoted(value: object, *, most: int = 40) -> str:
    """The value as a message may show it: in quotes, on one line, not too long."""
    text = str(value)
    return repr(text if len(text) <= most else text[: most - 1] + "…")


def grouped(pairs: Iterable[tuple[Any, T]]) -> dict[Any, list[T]]:
    """The second of each pair in lists by the first, in their order."""
    found: dict[Any, list[T]] = {}
    for key, item in pairs:
        found.setdefault(key, []).append(item)
    return found


@contextmanager
def refused(name: object, told: str = "cannot be read", *, quiet: bool = False) -> Iterator[None]:
    """Whatever one of many libraries raises (no bucket, no rights, a broken file) as one line that names the file.

    ``quiet`` keeps its warnings down, which is for one thread only.
    """
    try:
        with warnings.catch_warnings() if quiet else nullcontext():
            if quiet:
                warnings.simplefilter("ignore")
            yield
    except (WeaklyError, ImportError):
        raise
    except FileNotFoundError as error:
        raise InvalidInput(f"{name}: there is no such file or folder") from error
    except Exception as error:
        words = " ".join(str(error).split()).rpartition("Invalid: ")[2][:200] or type(error).__name__
        raise InvalidInput(f"{name}: {told}: {words}") from error


@dataclass(eq=False)
class Source:
    """A file that is read once: its bytes, its text, its first lines.

    ``on_error`` says what becomes of a broken row: "raise" (and "clip", which cuts late events), "skip", or "collect"
    (the linter's).
    """

    path: Path
    on_error: str = "raise"
    columns: dict[str, str] = field(default_factory=dict)
    called: str | None = None  # the address of which this is a copy
    label: str | None = None  # the class of files that do not name one
    point_length: float | None = None  # of the events that points become
    open_end: str | None = None  # "recording": an event without an end lasts as long as its recording
    sheet: str | None = None  # of a workbook
    layer: dict[str, str] = field(default_factory=dict)  # the tier or namespace that was chosen
    recording_length: Any = None  # seconds, or by name, as the caller says
    advance: Callable[[int], Any] = int  # by how much a progress bar goes on
    problems: list[tuple[int | str, str, str]] = field(default_factory=list)  # (line, column, words)
    notes: list[str] = field(default_factory=list)
    signs: list[tuple[str, str]] = field(default_factory=list)  # notes that the linter counts as findings
    n_rows: int | None = None  # rows that hold something, without the line of names
    clocks: set[str] = field(default_factory=set)  # columns that were read as hh:mm:ss
    own: str = ""  # the recording that the file's own name stands for, where it was asked for
    asked: str = ""  # about a column that may hold answers, for whoever wants answers
    unit_known: bool = False  # whether the file, or the caller, tells the unit of its times

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
            data = self.path.read_bytes()
        except OSError as error:
            raise self.error(f"cannot be read: {error.strerror or error}") from error
        with refused(self.name, "cannot be unpacked"):
            return _unpacked(self, data)

    @cached_property
    def text(self) -> str:
        """The text of the file; UTF-8 and UTF-16 with or without a mark, else Windows-1252, said in a note."""
        data = self.data
        wide = data.startswith((b"\xff\xfe", b"\xfe\xff"))
        try:
            return self._clean(data.decode("utf-16" if wide else "utf-8-sig"))
        except UnicodeDecodeError as error:
            if wide:
                raise self.error(f"begins like UTF-16 text and is not: {error.reason}") from error
            line = data.count(b"\n", 0, error.start) + 1
            where = f"byte 0x{data[error.start]:02x} is not UTF-8 text"
        text = data.decode("cp1252", "replace").replace("\ufffd", "\0")
        if re.search(r"[\x00-\x08\x0e-\x1f\x7f]", text):
            raise InvalidInput(f"{self.at(line)}: {where}; is this a text file?")
        self.note(f"{where}; read as Windows-1252, so look at the letters of its names", line=line, kind="encoding")
        return text

    def _clean(self, text: str) -> str:
        if "\0" in text:
            line = text.count("\n", 0, text.index("\0")) + 1
            raise InvalidInput(f"{self.at(line)}: holds NUL characters; is this a text file?")
        joined = _MARK.search(text) if "\ufeff" in text else None
        if joined:
            words = "a byte order mark inside the text is passed over; were two files joined here?"
            self.note(words, line=text.count("\n", 0, joined.start()) + 1, kind="encoding")
        return _MARK.sub("", text) if joined else text

    def uncomment(self) -> bool:
        """Blank the lines of ``#`` (and of a version) before the first other one, which keep their numbers."""
        lines = self.text.splitlines(keepends=True)
        n = next((i for i, line in enumerate(lines) if line.strip() and not COMMENT.match(line)), 0)
        return n > 0 and self.without(n, f"the comments up to line {n} are passed over")

    def untitle(self) -> bool:
        """Blank a first line of one field above one of several names, which are those of a table below its title."""
        sign = max("\t,;", key="".join(self.head[1:2]).count)
        fields = [[field.strip() for field in line.split(sign)] for line in self.head[:2]]
        if len(self.head) < 3 or any(fields[0][1:]) or len(fields[1]) < 2 or not all(fields[1]):
            return False
        if any(re.search(r"^[\d.:+-]+(\s|$)|\s\d*[.:]\d+(\s|$)", field) for field in fields[1]):
            return False  # numbers are no names: the first line may be those of a table with another separator
        told = f"the first line {quoted(self.head[0])} is passed over, above the names of the columns"
        return self.without(self.text.partition(self.head[0])[0].count("\n") + 1, told)

    def without(self, n: int, words: str) -> bool:
        """Blank the first lines, with a note; those behind them keep their numbers."""
        self.text = "\n" * n + "".join(self.text.splitlines(keepends=True)[n:])
        for name in ("head", "delimiter", "header", "names"):
            self.__dict__.pop(name, None)
        self.note(words)
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

    @cached_property
    def header(self) -> list[str]:
        """The fields of the first line, as they are."""
        try:
            return [field.strip() for field in next(csv.reader(self.head[:1], delimiter=self.delimiter), [])]
        except csv.Error:
            return []

    @cached_property
    def names(self) -> frozenset[str]:
        """The fields of the first line in lower case."""
        return frozenset(field.lower() for field in self.header)

    def json(self) -> Any:
        """The JSON document of the file."""
        try:
            return json.loads(self.text)
        except json.JSONDecodeError as error:
            where = f"{self.at(error.lineno)}, column {error.colno}"
            raise InvalidInput(f"{where}: is not JSON: {error.msg}") from error
        except (RecursionError, ValueError) as error:
            raise self.error(f"is not usable JSON: {error}") from error

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
        last, width, empty, seen = 0, 0, 0, 0
        try:
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
                else:
                    empty += len(row) > 1
                last = reader.line_num
        except csv.Error as error:
            words = f"a quote is not closed ({error})" if re.search("unexpected end|expected after", str(error)) else ""
            long = "a field is longer than 131072 characters; an unclosed quote?" if "larger" in str(error) else ""
            raise InvalidInput(f"{self.at(reader.line_num)}: {words or long or error}") from error
        if empty:
            self.note(f"{empty} rows without a single entry are passed over")
        self.advance(max(0, len(self.text) - seen))
        yield found, lines

    def _swallowed(self, row: list[str], delimiter: str, width: int, line: int) -> None:
        """A quote that is closed many lines later has swallowed rows: their separators are inside one field."""
        for cell in row:
            inside = _NEWLINE.split(cell)[1:]
            joined = inside and width > 2 and cell.count(delimiter) >= (width - 1) * len(inside)
            if joined or (width > 1 and any(part.count(delimiter) >= width - 1 for part in inside)):
                words = f"a quote opens here and closes {len(inside)} lines later, with whole rows inside"
                raise InvalidInput(f"{self.at(line)}: {words}; a stray quote?")

    def ended(self, lines: Sequence[int | str], labels: Sequence[str] = ()) -> None:
        """Note a last line, one of those that were read, that has no end and whose last field looks cut.

        It is shorter than all others of its column (of numbers: has fewer decimals), or the beginning of one of them.
        The labels of the first of these lines are taken whole where a line ends with its label.
        """
        text = self.text
        if not text.strip() or text.endswith(("\n", "\r")) or _DOCUMENT.match(text):
            return
        every = _NEWLINE.split(text)
        used, end = {line for line in lines if isinstance(line, int)}, every[-1].rstrip()
        if len(every) not in used or end.endswith('"'):
            return
        sign, named = self.delimiter if self.delimiter in end else None, dict(zip(lines, labels))
        last, *others = (every[k - 1].rsplit(sign, 1)[-1].strip() for k in sorted(used, reverse=True))
        if named.get(len(every)) and end.endswith(named[len(every)]):
            last, others = named.pop(len(every)), list(named.values())
        shorter = len(others) > 1 and len(last) < min(map(len, others))
        try:
            float(last), [float(other) for other in others]
            least, *decimals = (len(each.partition(".")[2]) for each in (last, *others))
            alike = shorter and len({*map(len, others)}) == len({*decimals}) == 1
            cut = alike or (len(others) > 1 and least < min(decimals))
        except ValueError:
            cut = shorter or (last != "" and any(other.startswith(last) for other in others))
        if cut and last not in others:
            words = f"the last line has no end and its last field {quoted(last)} looks cut; is the file whole?"
            self.note(words, line=len(every), kind="cut short")

    def rows(self, delimiter: str, *, skipspace: bool = False) -> tuple[list[list[str]], list[int]]:
        """All rows at once."""
        found = list(self.chunks(delimiter, skipspace=skipspace))
        return [row for rows, _ in found for row in rows], [line for _, lines in found for line in lines]

    def fail(self, line: int | str, column: str, words: str) -> None:
        """Deal with a broken row as the caller asked: stop, or keep count of it."""
        if self.on_error in ("raise", "clip"):
            raise InvalidInput(f"{self.at(line)}{f', column {quoted(column)}' if column else ''}: {words}")
        self.problems.append((line, column, words))

    def at(self, line: int | str) -> str:
        """The file and the place in it, for a message."""
        return f"{self.name}, {f'line {line}' if isinstance(line, int) else line}"

    def note(self, words: str, *, line: int | str | None = None, kind: str | None = None) -> None:
        """Remember what was understood that the file does not say outright; a kind makes it the linter's business."""
        self.notes.append(f"{self.name if line is None else self.at(line)}: {words}")
        if kind is not None:
            self.signs.append((kind, self.notes[-1]))

    def error(self, words: str) -> InvalidInput:
        """What to raise where the file cannot be read, or not without being told more."""
        return InvalidInput(f"{self.name}: {words}")

    def stem(self, *endings: str) -> str:
        """The recording that the file's own name stands for: the name without its ending."""
        name = re.sub(r"\.(gz|zip)$", "", self.path.name, flags=re.IGNORECASE)
        cut = (match.start() for each in endings if (match := re.search(each, name, flags=re.IGNORECASE)))
        own = name[: next((at for at in cut if at > 0), None)]
        # A name that is no text on this system is shown with its odd bytes written out.
        self.own = (Path(name).stem if own == name else own).encode("utf-8", "backslashreplace").decode("utf-8")
        return self.own


def _unpacked(source: Source, data: bytes) -> bytes:
    """The file that a gzip or zip holds, or the sheet of a workbook as CSV; any other file is itself."""
    much = source.error(f"holds more than {_MOST / 2**30:g} GiB; unpack it first")
    if data.startswith(GZIP):
        with gzip.open(io.BytesIO(data)) as file:
            found = file.read(_MOST + 1)
        if len(found) > _MOST:
            raise much
        return _unpacked(source, found)
    if not data.startswith(ZIP):
        return data
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        inside = [item for item in archive.infolist() if not item.is_dir()]
        if sum(item.file_size for item in inside) > _MOST:
            raise much
        names = {item.filename for item in inside}
        if "xl/workbook.xml" in names:
            return _sheet(source, _xlsx(archive, names))
        if "content.xml" in names and b"spreadsheet" in archive.read("mimetype"):
            return _sheet(source, _ods(archive.read("content.xml")))
        files = sorted(name for name in names if not re.match(r"__MACOSX/|(.*/)?\.[^/]*$", name))
        if len(files) != 1:
            raise source.error(f"is an archive of {len(files)} files; unpack it into a folder and give that")
        return _unpacked(source, archive.read(files[0]))


def _sheet(source: Source, sheets: dict[str, list[list[str]]]) -> bytes:
    """One sheet as CSV: the one that was told, or the only one that is a table."""
    tables = {name: rows for name, rows in sheets.items() if len(rows) > 1 and max(map(len, rows)) > 1}
    wanted = source.sheet if source.sheet is not None else next(iter(tables), "") if len(tables) == 1 else None
    if wanted is None and tables:
        ways = " or ".join(f"--sheet {shlex.quote(name)}" for name in tables)
        raise source.error(f"is a workbook with {len(tables)} tables; take one: {ways}")
    if wanted not in sheets:
        raise source.error(f"no sheet {quoted(wanted or '')} with a table; there are {', '.join(sheets)}")
    if len(sheets) > 1:
        source.note(f"the sheet {quoted(wanted)} is read, of {len(sheets)}")
    text, width = io.StringIO(newline=""), max(map(len, sheets[wanted]), default=0)
    csv.writer(text, lineterminator="\n").writerows([*row, *[""] * (width - len(row))] for row in sheets[wanted])
    return text.getvalue().encode()


def _parsed(data: bytes) -> Any:
    if b"<!DOCTYPE" in data[:4096] or b"<!ENTITY" in data:
        raise ValueError("declares XML entities, which workbooks do not need")
    return ElementTree.fromstring(data)


def _local(element: Any, name: str) -> list[Any]:
    """All elements of a name within another, whatever their namespaces."""
    return [each for each in element.iter() if each.tag.rpartition("}")[2] == name]


def _attribute(element: Any, name: str) -> str:
    return next((value for key, value in element.attrib.items() if key.rpartition("}")[2] == name), "")


def _xlsx(archive: zipfile.ZipFile, names: set[str]) -> dict[str, list[list[str]]]:
    """The sheets of a workbook, cell by cell as texts."""
    shared: list[str] = []
    if "xl/sharedStrings.xml" in names:
        strings = _local(_parsed(archive.read("xl/sharedStrings.xml")), "si")
        shared = ["".join(part.text or "" for part in _local(item, "t")) for item in strings]
    links = _local(_parsed(archive.read("xl/_rels/workbook.xml.rels")), "Relationship")
    targets = {link.attrib["Id"]: link.attrib["Target"].removeprefix("/xl/") for link in links}
    found = {}
    for sheet in _local(_parsed(archive.read("xl/workbook.xml")), "sheet"):
        place = f"xl/{targets[_attribute(sheet, 'id')]}"
        rows: list[list[str]] = []
        for row in _local(_parsed(archive.read(place)), "row") if place in names else ():
            cells: list[str] = []
            for cell in _local(row, "c"):
                letters = reversed(re.sub(r"[^A-Z].*", "", cell.attrib.get("r", "")))
                at = sum((ord(c) - 64) * 26**k for k, c in enumerate(letters))
                cells += [""] * (at - 1 - len(cells))
                kind = cell.attrib.get("t", "")
                value = "".join(part.text or "" for part in _local(cell, "t" if kind == "inlineStr" else "v"))
                cells.append(shared[int(value)] if kind == "s" else value if kind != "b" else str(value == "1"))
            rows.append(cells)
        found[sheet.attrib["name"]] = [row for row in rows if any(map(str.strip, row))]
    return found


def _ods(data: bytes) -> dict[str, list[list[str]]]:
    """The sheets of an OpenDocument spreadsheet; of equal cells, which stand once, the empty last ones are none."""
    found = {}
    for sheet in _local(_parsed(data), "table"):
        rows: list[list[str]] = []
        for row in _local(sheet, "table-row"):
            cells: list[tuple[str, int]] = []
            for cell in (each for each in row if each.tag.rpartition("}")[2].endswith("table-cell")):
                text = "\n".join("".join(part.itertext()) for part in _local(cell, "p"))
                text = _attribute(cell, "value") or _attribute(cell, "date-value") or text
                cells.append((text, int(_attribute(cell, "number-columns-repeated") or 1)))
            while cells and not cells[-1][0].strip():
                cells.pop()
            times = int(_attribute(row, "number-rows-repeated") or 1)
            rows += [[text for text, n in cells for _ in range(n)]] * times if cells else []
        found[_attribute(sheet, "name")] = rows
    return found


def column_of(names: Sequence[str], *wanted: str) -> str | None:
    """The first wanted column that is there, whatever its case; None if there is none."""
    lower = {name.strip().lower(): name for name in reversed(names)}
    return next((lower[want.lower()] for want in wanted if want.lower() in lower), None)
