"""`make bench`: one table of all ratios, with their targets and whether they are met."""

from __future__ import annotations

import importlib
import pkgutil
import sys

import benchmarks


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
            met = row.get("met")
            missed += met is False
            word = "" if met is None else "yes" if met else "NO"
            table.add_row(row["what"], str(row["measured"]), str(row.get("target", "")), word, str(row.get("how", "")))
    console.print(table)
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
