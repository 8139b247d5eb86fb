"""Which modules a command walks through: python -m benchmarks.walks [-v] [COMMAND ...].

A module counts if at least one of its functions runs while the command works on the bundled example; what merely is
imported does not count, nor what ``weakly --version`` runs. With ``-v`` the modules are listed by room. Compiled
functions leave no trace, but the Python that calls them does.
"""

from __future__ import annotations

import contextlib
import io
import sys
import tempfile
import threading
import warnings
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import Any

import weakly
from weakly.cli import app
from weakly.io import write
from weakly.studies.simulate import PILOT, clips

HOUSE = str(Path(weakly.__file__).parent)
#: The most modules that a command may walk through.
MOST = {"evaluate": 30, "plan": 45, "audit": 35, "infer": 32}


def commands(folder: Path) -> dict[str, list[str]]:
    """Each command on the bundled pilot, or on the clips that are made of it."""
    pilot, answers = folder / "pilot.tsv", folder / "clips.csv"
    pilot.write_bytes(PILOT.read_bytes())
    write(clips(), answers)
    length = ["--recording-length", "60"]
    return {
        "evaluate": ["evaluate", str(pilot), *length, "--segment-length", "1,3", "--presence-criterion", "0.5"],
        "plan": ["plan", str(pilot), *length, "--presence-criterion", "0.4"],
        "audit": ["audit", "--strong", str(pilot), "--weak", str(answers), *length],
        "infer": ["infer", str(answers), "--pilot", str(pilot), "--label", "song", "--presence-criterion", "0.4"],
    }


def _imports(frame: FrameType | None) -> bool:
    """Whether a call is made by the import of one of our modules."""
    while frame is not None:
        if frame.f_code.co_name == "<module>" and frame.f_code.co_filename.startswith(HOUSE):
            return True
        frame = frame.f_back
    return False


def walk(arguments: Sequence[str]) -> set[str]:
    """The modules of which a function runs while the command works."""
    seen: set[str] = set()

    def profile(frame: FrameType, event: str, _: Any) -> None:
        name = frame.f_code.co_filename
        if event == "call" and name.startswith(HOUSE) and name not in seen and not _imports(frame):
            seen.add(name)

    output = io.StringIO()
    threading.setprofile(profile)
    sys.setprofile(profile)
    try:
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output), contextlib.suppress(SystemExit):
            app(list(arguments), standalone_mode=False)
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return {str(Path(name).relative_to(HOUSE).with_suffix("")).replace("/", ".") for name in seen}


def main() -> None:
    """Print how many modules each command walks through, and how many it may."""
    asked = [name for name in sys.argv[1:] if name != "-v"]
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        start = walk(["--version"])
        for name, arguments in commands(Path(folder)).items():
            if asked and name not in asked:
                continue
            seen = sorted(walk(arguments) - start)
            print(f"{name}: {len(seen)} modules (at most {MOST[name]})")
            rooms = dict.fromkeys(module.partition(".")[0] for module in seen)
            for room in rooms if "-v" in sys.argv else ():
                print(f"  {room}:", *(module.partition(".")[2] for module in seen if module.partition(".")[0] == room))


if __name__ == "__main__":
    main()
