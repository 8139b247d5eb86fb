"""The ten rooms: which may import which, that each opens with a page, and that no name has two owners."""

import ast
from collections import Counter
from functools import cache
from pathlib import Path

import weakly

HOUSE = Path(weakly.__file__).parent

#: Room -> the rooms that it may import, beside itself. A line that needs another edge is in the wrong room.
EDGES = {
    "base": "",
    "model": "base",
    "theory": "base model",
    "engine": "base model",
    "io": "base model",
    "posterior": "base model theory engine",
    "methods": "base model theory engine posterior",
    "studies": "base model theory engine io posterior methods",
    "apps": "base model theory engine io posterior methods studies",
    "cli": "base model theory engine io posterior methods studies apps",
    "__main__": "cli",
}
APPS = {"label", "web", "paper"}


@cache
def tree(path):
    return ast.parse(path.read_text())


def modules():
    """Every module of the package as parts, with its file."""
    for path in sorted(HOUSE.rglob("*.py")):
        yield path.relative_to(HOUSE).with_suffix("").parts, path


def imports(parts, path):
    """What a module imports of the package, at any depth of nesting, as parts."""
    package = parts[:-1]
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = package[: len(package) - node.level + 1]
            yield from ((*base, *node.module.split(".")),) if node.module else ((*base, n.name) for n in node.names)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "weakly":
            inside = tuple(node.module.split(".")[1:])
            yield from (inside,) if inside else ((n.name,) for n in node.names)
        elif isinstance(node, ast.Import):
            yield from (tuple(n.name.split(".")[1:]) for n in node.names if n.name.split(".")[0] == "weakly")


def test_every_module_is_in_a_room():
    rooms = {parts[0] for parts, _ in modules()} - {"__init__"}
    assert rooms == set(EDGES)


def test_rooms_import_along_the_edges_only():
    wrong = [
        f"{'/'.join(parts)} imports {'.'.join(target)}"
        for parts, path in modules()
        if parts != ("__init__",)
        for target in imports(parts, path)
        if target and target[0] in EDGES and target[0] not in (parts[0], *EDGES[parts[0]].split())
    ]
    assert not wrong


def test_apps_do_not_import_each_other():
    wrong = [
        f"{'/'.join(parts)} imports {'.'.join(target)}"
        for parts, path in modules()
        if parts[0] == "apps" and len(parts) > 2
        for target in imports(parts, path)
        if target[:1] == ("apps",) and len(target) > 1 and target[1] in APPS - {parts[1]}
    ]
    assert not wrong


def test_every_room_opens_with_a_page():
    missing = [
        path.parent.relative_to(HOUSE).as_posix()
        for path in HOUSE.rglob("__init__.py")
        if not ast.get_docstring(tree(path))
    ]
    assert not missing


def test_no_two_modules_have_one_name():
    names = Counter(parts[-1] for parts, _ in modules() if parts[-1] != "__init__")
    assert not [name for name, count in names.items() if count > 1]


def test_no_two_classes_have_one_name():
    names = Counter(
        node.name
        for _, path in modules()
        for node in ast.walk(tree(path))
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    assert not [name for name, count in names.items() if count > 1]
