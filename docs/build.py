"""What the documentation site computes when it is built: pictures, gallery, glossary, CLI pages, house plan, formulas.

Everything is made from the installed package, so it cannot disagree with it.
"""

from __future__ import annotations

import ast
import atexit
import html
import io
import json
import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
import tempfile
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import redirect_stdout
from functools import cache
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
COMMANDS = (
    "plan",
    "evaluate",
    "simulate",
    "audit",
    "queries",
    "answers",
    "label",
    "infer",
    "convert",
    "check",
    "reproduce",
    "serve",
    "demo",
)
_FORMULA = re.compile(r'<(span|div) class="arithmatex">\\([(\[])(.*?)\\[)\]]</\1>', re.S)


def on_page_content(content: str, **_: Any) -> str:
    """Formulas as MathML, which browsers draw by themselves: no script, no network."""
    from latex2mathml.converter import convert

    def mathml(match: re.Match[str]) -> str:
        return convert(html.unescape(match[3]), display="inline" if match[1] == "span" else "block")

    return _FORMULA.sub(mathml, content)


_BLOCK = re.compile(r"^```(python|bash)[^\n]*\n(.*?)^```\n", re.S | re.M)
#: Commands that a page shows but that do not end, need a cluster, or make what the site itself stands on.
SHOWN_ONLY = ("make ", "weakly serve", "weakly label", "pip ", "git ", "dask ", "--scheduler", "label-studio")
_DRIVER = """
import fcntl, io, json, os, pty, re, struct, subprocess, sys, tempfile, termios
from contextlib import redirect_stdout
names, outputs = {}, []

# What a command shows somebody whose terminal has 80 columns; the folder's own name means nothing to others.
def on_a_terminal(text):
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 80, 0, 0))
    with tempfile.TemporaryFile() as said, subprocess.Popen(["bash", "-euc", text], stdout=slave, stderr=said) as run:
        os.close(slave)
        parts = []
        try:
            while part := os.read(master, 65536):
                parts.append(part)
        except OSError:  # the other end is closed
            pass
        if run.wait():
            said.seek(0)
            sys.exit(f"{text}: {said.read().decode()[-2000:]}")
    shown = b"".join(parts).decode().replace("\\r\\n", "\\n").replace(os.getcwd() + "/", "")
    return re.sub(r"\\x1b\\[[0-9;]*m", "", shown)

for kind, text in json.load(sys.stdin):
    said = io.StringIO()
    if kind == "bash":
        said.write(on_a_terminal(text))
    else:
        with redirect_stdout(said):
            exec(text, names)
    outputs.append(said.getvalue())
json.dump(outputs, sys.stdout)
"""


@cache
def _commands() -> tuple[str, list[str]]:
    """A folder whose ``weakly`` costs no imports (see ``forked.py``), and the words that run a program likewise."""
    folder = tempfile.mkdtemp()
    mother = subprocess.Popen(
        [sys.executable, str(HERE / "forked.py"), f"{folder}/address"],
        env=_plain_terminal(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    atexit.register(mother.kill)
    assert mother.stdout is not None
    if mother.stdout.readline() != "ready\n":
        raise RuntimeError("docs/forked.py does not start")
    words = [sys.executable, "-SE", str(HERE / "forked.py"), f"{folder}/address"]
    script = Path(folder, "weakly")
    script.write_text(f'#!/bin/sh\nexec {shlex.join(words)} weakly "$@"\n')
    script.chmod(0o700)
    return folder, words


@cache
def _demo() -> str:
    """The folder that ``weakly demo --out demo`` writes, made once for all pages."""
    folder = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    command = ["weakly", "demo", "--out", "demo"]
    subprocess.run(command, cwd=folder, env=_terminal(), capture_output=True, check=True)
    return f"{folder}/demo"


_STARTED = threading.Lock()  # pages are run side by side; they wait for the first one to have made these


def run_blocks(markdown: str) -> list[str]:
    """What each code block of a page prints, run in order in one empty folder; raises if one fails."""
    asked = []
    with _STARTED:
        _commands()
        if "weakly demo" in markdown:
            _demo()
    for kind, text in _BLOCK.findall(markdown):
        lines = text.replace("\\\n", " ").splitlines() if kind == "bash" else text.splitlines()
        lines = [line for line in lines if not any(word in line for word in SHOWN_ONLY)]
        if len(lines) > 1:  # before other commands the demo only makes the files that they read
            lines = [f"cp -r {_demo()} demo" if line == "weakly demo --out demo" else line for line in lines]
        asked.append((kind, "\n".join(lines)))
    command = [*_commands()[1], "-c", _DRIVER]
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            command, cwd=folder, env=_terminal(), input=json.dumps(asked), capture_output=True, text=True
        )
    if done.returncode:
        raise RuntimeError(done.stderr[-3000:])
    return list(json.loads(done.stdout))


#: What the blocks of a page print, by the page's address: started before the first page is made, side by side.
_OUTPUTS: dict[str, Future[list[str]]] = {}


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Under every command of a page, what it prints."""
    if page.file.src_uri not in _OUTPUTS:
        return markdown
    outputs = iter(_OUTPUTS[page.file.src_uri].result())

    def shown(match: re.Match[str]) -> str:
        lines = next(outputs).rstrip().splitlines()
        if len(lines) > 45:
            lines = [*lines[:40], "..."]
        return match[0] + ("\n```text\n" + "\n".join(lines) + "\n```\n" if lines else "")

    return _BLOCK.sub(shown, markdown)


def on_files(files: Any, config: Any) -> Any:
    """Adds the pages that are computed."""
    from mkdocs.structure.files import File

    _commands()
    pool = ThreadPoolExecutor(os.cpu_count())  # each runs in a process of its own
    for file in files.documentation_pages():
        text = file.content_string if file.src_uri.startswith(("index", "start", "faq", "howto/")) else ""
        if _BLOCK.search(text):
            _OUTPUTS[file.src_uri] = pool.submit(run_blocks, text)
    pages = {
        "reference/glossary.md": glossary(),
        "reference/cli.md": cli_reference(),
        "reference/house.md": house(),
        "reference/schema.md": schema(),
        "reference/formats.md": formats(),
        "errata.md": (HERE.parent / "ERRATA.md").read_text(encoding="utf-8"),
        "changelog.md": (HERE.parent / "CHANGELOG.md")
        .read_text(encoding="utf-8")
        .replace("(ERRATA.md)", "(errata.md)"),
    }
    examples, thumbs = [], []
    for script in sorted((HERE / "gallery").glob("*.py")):
        title, words, source, printed, picture = run_example(script)
        name = f"gallery/{script.stem}.png"
        files.append(File.generated(config, name, content=picture))
        image = f'<img src="{script.stem}.png" alt="" loading="lazy">'
        thumbs.append(f'<a href="#{script.stem}">{image}{html.escape(title)}</a>')
        block = f"```text\n{printed}\n```\n\n" if printed else ""
        head = f"## {title} {{ #{script.stem} }}\n\n{words}\n\n![{title}]({script.stem}.png)"
        examples.append(f"{head}\n\n```python\n{source}```\n\n{block}")
    shown = f'<div class="thumbs">{"".join(thumbs)}</div>'
    head = f"# Gallery\n\n{len(examples)} examples that run as they stand.\n\n{shown}\n\n"
    pages["gallery/index.md"] = head + "\n".join(examples)
    for name, content in pages.items():
        files.append(File.generated(config, name, content=content))
    return files


def run_example(script: Path) -> tuple[str, str, str, str, bytes]:
    """Title, words, source, printed text and picture of a gallery script, which leaves a figure called ``figure``."""
    from weakly.base.plot import style

    text = script.read_text(encoding="utf-8")
    doc = ast.get_docstring(ast.parse(text)) or script.stem
    title, _, words = doc.partition("\n")
    source = text[text.index('"""', text.index('"""') + 3) + 3 :].lstrip("\n")
    printed = io.StringIO()
    with redirect_stdout(printed), style():
        names = runpy.run_path(str(script))
    picture = io.BytesIO()
    with style():
        names["figure"].savefig(picture, format="png", dpi=110)
    return title, words.strip(), source, printed.getvalue().rstrip(), picture.getvalue()


#: Words of sentences that are no quantities.
WORDS = {
    "wrong time": "Seconds of a recording whose label is wrong: labelled present without an event, or an event that is "
    "labelled absent. Labelling nothing leaves as much wrong time as events last.",
    "events found": "The share of events for which some segment is labelled present because of them.",
    "accuracy near events": "The share of right time in the segments that meet an event: the paper's accuracy given "
    "overlap.",
    "clips to play, answers to give": "A clip is played once; of each class asked for, one answer is given.",
    "pass": "One time through all recordings, with one segment length. It asks for one class, several, or all.",
    "halving": "A present segment is asked again in two halves, down to a shortest length; an absent one is left.",
    "windows": "Segments that overlap. A stretch is labelled present if enough of the windows over it are.",
    "edges": "Where an event begins and ends. By hand they are marked; segments only say between which cuts they lie. "
    "Segments at the start or the end of a recording may be cut by it.",
    "screening": "Segments first, then marking by hand in those that were called present.",
}


def glossary() -> str:
    """One row per symbol, read from :mod:`weakly.base.symbols`."""
    from weakly.base.symbols import SYMBOLS

    rows = [
        f"| {s.plain or s.name.replace('_', ' ')} | `{s.name}` | ${s.latex}$ | {s.unit} | {s.domain} | {s.meaning} |"
        for s in SYMBOLS.values()
    ]
    head = "# Glossary\n\nThe words that results use, in Python, JSON, tables, pictures and options alike.\n\n"
    told = "".join(f"**{word}**\n: {meaning}\n\n" for word, meaning in WORDS.items())
    return (
        head
        + told
        + "| people say | name | symbol | unit | domain | meaning |\n|---|---|---|---|---|---|\n"
        + "\n".join(rows)
        + "\n"
    )


def cli_reference() -> str:
    """Every command's help, as the command prints it."""
    parts = ["# Commands\n\nExit codes: 0 done; 1 a check that was asked for did not hold; 2 bad input.\n"]
    for command in COMMANDS:
        shown = subprocess.run(
            ["weakly", command, "--help"], capture_output=True, text=True, check=True, env=_terminal()
        ).stdout  # fmt: skip
        parts.append(f"## weakly {command}\n\n```text\n{shown.strip()}\n```\n")
    return "\n".join(parts)


def _plain_terminal() -> dict[str, str]:
    here = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    return {**os.environ, "PATH": here, "NO_COLOR": "1", "TERM": "dumb", "COLUMNS": "80", "MPLBACKEND": "Agg"}


def _terminal() -> dict[str, str]:
    """A plain terminal in which ``weakly`` starts at once."""
    plain = _plain_terminal()
    return {**plain, "PATH": f"{_commands()[0]}:{plain['PATH']}"}


def imports() -> dict[str, set[str]]:
    """The rooms that each room imports, from the sources."""
    source = HERE.parent / "src" / "weakly"
    rooms: dict[str, set[str]] = {}
    for path in sorted(source.rglob("*.py")):
        parts = path.relative_to(source).with_suffix("").parts
        if parts[0].startswith("__"):
            continue
        package = parts[:-1]
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not (isinstance(node, ast.ImportFrom) and node.level):
                continue
            base = package[: len(package) - node.level + 1]
            names = [node.module] if node.module else [alias.name for alias in node.names]
            for name in names:
                room = (*base, *name.split("."))[0]
                if room != parts[0]:
                    rooms.setdefault(parts[0], set()).add(room)
        rooms.setdefault(parts[0], set())
    return rooms


def house() -> str:
    """The import graph as a drawing: rooms on their floors, every line pointing down."""
    sys.path.insert(0, str(HERE.parent / "tests"))
    try:
        from test_rooms import EDGES
    finally:
        sys.path.pop(0)
    graph = imports()
    rooms = [room for room in EDGES if room in graph]
    upward = [(a, b) for a in rooms for b in graph[a] if b in rooms and rooms.index(b) > rooms.index(a)]
    assert not upward, f"imports that point up: {upward}"
    step, width = 30, 760
    y = {room: 20 + step * k for k, room in enumerate(reversed(rooms))}
    lines = "".join(
        f'<path d="M{150 + 0} {y[a]} C{200 + 9 * abs(rooms.index(a) - rooms.index(b))} {y[a]},'
        f'{200 + 9 * abs(rooms.index(a) - rooms.index(b))} {y[b]},150 {y[b]}" fill="none" stroke="currentColor" '
        f'stroke-opacity="0.25"/>'
        for a in rooms for b in sorted(graph[a]) if b in rooms
    )  # fmt: skip
    names = "".join(
        f'<text x="140" y="{y[room] + 5}" text-anchor="end" fill="currentColor">{room}</text>' for room in rooms
    )
    height = 20 + step * len(rooms)
    drawing = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="100%" role="img" '
        f'aria-label="import graph">{lines}{names}</svg>'
    )
    table = "\n".join(
        f"| `{room}` | {', '.join(f'`{r}`' for r in rooms if r in graph[room])} |" for room in reversed(rooms)
    )
    return (
        "# The house\n\nA room imports only from rooms below it. Drawn from the sources; "
        f"{sum(len(v) for v in graph.values())} imports, none points up.\n\n{drawing}\n\n"
        f"| room | imports |\n|---|---|\n{table}\n"
    )


def schema() -> str:
    """The JSON of every result: its keys with the type of what they hold, read off a small real result."""
    import weakly as wk
    from weakly.base.results import to_jsonable

    events = wk.Events.from_frame(_small_events(), recording_length=20.0)
    shown = {
        "weakly plan --json": wk.plan(1.0, presence_criterion=0.5, recording_length=100.0, n_events=1),
        "weakly evaluate --json": wk.evaluate(events, segment_length=1.0, presence_criterion=0.5),
        "weakly simulate --json": wk.simulate(
            1.0, n_events=1, recording_length=20.0, segment_length=1.0, presence_criterion=0.5, n_recordings=20, rng=1
        ),
        "weakly audit --json": wk.audit(strong=events, weak=_small_answers()),
    }
    parts = ["# JSON of every result\n\n`--json` prints `.to_dict()` of the object that Python returns.\n"]
    parts += [f"## {name}\n\n```text\n{_shape(to_jsonable(result))}\n```\n" for name, result in shown.items()]
    return "\n".join(parts)


def formats() -> str:
    """Every format, with what it loses: found by writing a small set that holds a bit of everything."""
    import warnings

    import weakly as wk
    from weakly.base.errors import WeaklyError
    from weakly.io import FORMATS

    table = _small_events().assign(annotator="ann", confidence=0.9)
    full = wk.Events.from_frame(table, recording_length={"a": 20.0, "b": 20.0, "silent": 20.0})
    rows = []
    for name, item in FORMATS.items():
        lost = "reads only"
        if item.write or item.write_answers:
            subject = full if item.write else _small_answers()
            with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    lost = "; ".join(wk.write(subject, Path(folder) / "out", format=name)) or "nothing"
                except WeaklyError as error:  # a format may ask for names or times of its own kind
                    lost = str(error)
        holds = " and ".join(
            word for word, can in (("events", item.write), ("answers", item.write_answers)) if can
        ) or "–"  # fmt: skip
        rows.append(f"| `{name}` | {item.words} | {holds} | {lost.replace('|', '/')} |")
    return (
        "# Formats\n\nRecognised by their content, so a name is rarely needed. The last column: what writing a small "
        "set with events, annotators, confidences and an empty recording reports as lost.\n\n"
        "| name | what it is | can be written with | what writing loses |\n|---|---|---|---|\n" + "\n".join(rows) + "\n"
    )


def _small_events() -> Any:
    import pandas as pd

    rows = [("a", 1.0, 2.2), ("a", 5.0, 5.9), ("b", 3.0, 4.1), ("b", 9.0, 10.5)]
    return pd.DataFrame(rows, columns=["recording", "onset", "offset"]).assign(label="dog")


def _small_answers() -> Any:
    import pandas as pd

    import weakly as wk

    rows = [(rec, float(t), float(t + 2), "dog", t in present) for rec, present in (("a", (0, 4)), ("b", (2, 8, 10)))
            for t in range(0, 20, 2)]  # fmt: skip
    return wk.Answers.from_frame(pd.DataFrame(rows, columns=["recording", "onset", "offset", "label", "present"]))


def _shape(value: Any, indent: int = 0) -> str:
    pad = "  " * indent
    if isinstance(value, dict):
        return "\n".join(
            f"{pad}{key}:"
            + (f"\n{_shape(item, indent + 1)}" if isinstance(item, (dict, list)) and item else f" {_kind(item)}")
            for key, item in value.items()
        )
    if isinstance(value, list):
        return f"{pad}list of\n{_shape(value[0], indent + 1)}" if value else f"{pad}list"
    return f"{pad}{_kind(value)}"


def _kind(value: Any) -> str:
    if isinstance(value, (dict, list)):
        return "empty"
    names = {bool: "true or false", int: "number", float: "number", str: "text", type(None): "null"}
    return names[type(value)]
