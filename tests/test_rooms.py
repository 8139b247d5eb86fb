"""The import direction of the house: a module imports only from its own floor's earlier rooms and the floors below."""

import ast
from pathlib import Path

import weakly

HOUSE = Path(weakly.__file__).parent

#: From the ground up. A room may import from rooms that stand before it, never from one after it.
ROOMS = (
    "errors",
    "files",
    "symbols",
    "results",
    "compiled",
    "parallel",
    "plot",
    "report",
    "intervals",
    "events",
    "annotator",
    "panels",
    "observer",
    "windows",
    "lengths",
    "formats",
    "cost",
    "theory",
    "tally",
    "exact",
    "grid",
    "inference",
    "evaluation",
    "simulation",
    "audio",
    "adaptive",
    "auditing",
    "example",
    "planning",
    "paper",
    "web",
    "labeler",
    "cli",
    "__main__",
)
EVERYWHERE = "__init__"  # the public list, imported by no room


def _room(path: Path) -> str:
    return path.relative_to(HOUSE).with_suffix("").parts[0]


def _imports(path: Path):
    """The rooms that a file imports, at any depth of nesting."""
    package = ("weakly", *path.relative_to(HOUSE).with_suffix("").parts)[:-1]
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = package[: len(package) - node.level + 1]
            target = (*base, *(node.module or "").split(".")) if node.module else base
            names = [target] if node.module else [(*base, alias.name) for alias in node.names]
            for name in names:
                if len(name) > 1 and name[1]:
                    yield name[1]
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "weakly":
            yield ([*node.module.split("."), "__init__"])[1]
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.split(".")[0] == "weakly":
                    yield ([*alias.name.split("."), "__init__"])[1]


def test_every_room_is_on_the_plan():
    rooms = {_room(path) for path in HOUSE.rglob("*.py")} - {EVERYWHERE}
    assert rooms <= set(ROOMS), f"rooms without a floor: {sorted(rooms - set(ROOMS))}"


def test_nothing_is_imported_from_above():
    upward = [
        f"{path.relative_to(HOUSE)} imports {room}"
        for path in sorted(HOUSE.rglob("*.py"))
        if _room(path) not in (EVERYWHERE, "__main__")
        for room in _imports(path)
        if room in ROOMS and ROOMS.index(room) > ROOMS.index(_room(path))
    ]
    assert not upward
