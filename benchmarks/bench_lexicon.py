"""The sentences of three hundred random tasks, and what commands say: how many break a rule of tests/lexicon.py."""

import sys
import tempfile
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

import lexicon


def main(count: int = 300, first: int = 0) -> None:
    """Print what is wrong, kind by kind."""
    kinds: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(first, first + count):
            for kind, sentence in (*lexicon.faults(lexicon.task(seed)), *lexicon.command_faults(seed, Path(folder))):
                kinds[kind] += 1
                print(f"{seed}: {kind}: {sentence}", flush=True)
    print(f"{count} tasks from seed {first}: {dict(kinds) or 'nothing wrong'}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:3]))
