"""`make bench`: one table of all ratios, with their targets and whether they are met."""

from __future__ import annotations

import importlib
import pkgutil
import sys
from typing import Any

import benchmarks


def shown(row: dict[str, Any]) -> tuple[list[str], bool | None]:
    """The cells of a row, and whether its target is met (None without one).

    A row is ``what`` with ``ours``, ``theirs``, ``ratio`` and the least ratio as ``target``; or with ready words in
    ``measured``, ``target``, ``met`` and ``how``.
    """
    target, ratio, met, how = (row.get(name) for name in ("target", "ratio", "met", "how"))
    measured = row.get("measured")
    if measured is None:
        measured = f"{ratio:,.4g}" if ratio is not None else f"{row['ours']:.3g} s"
    if isinstance(target, (int, float)):
        met = ratio >= target if met is None else met
        target = f">= {target:g}"
    if how is None and row.get("theirs"):
        how = f"{row['ours']:.3g} against {row['theirs']:.3g}"
    return [row["what"], measured, target or "", "" if met is None else "yes" if met else "NO", how or ""], met


def main(names: list[str]) -> int:
    """Run every module bench_* (or those named), print one table; 1 if a target is missed."""
    from rich.console import Console
    from rich.table import Table

    modules = sorted(each.name for each in pkgutil.iter_modules(benchmarks.__path__) if each.name.startswith("bench_"))
    chosen = [name for name in modules if not names or name.removeprefix("bench_") in names or name in names]
    console = Console(width=140 if not sys.stdout.isatty() else None)
    table = Table(title="Ratios, measured side by side", title_justify="left", box=None, padding=(0, 2, 0, 0))
    for heading, side in (
        ("what", "left"),
        ("measured", "right"),
        ("target", "right"),
        ("met", "left"),
        ("how", "left"),
    ):
        table.add_column(heading, justify=side, overflow="fold")
    missed = 0
    for name in chosen:
        print(f"running {name} ...", file=sys.stderr)
        for row in importlib.import_module(f"benchmarks.{name}").run():
            cells, met = shown(row)
            missed += met is False
            table.add_row(*cells)
    console.print(table)
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
