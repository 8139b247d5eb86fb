"""The sentences of three hundred random tasks: how many break a rule of tests/lexicon.py, and which."""

import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

import lexicon


def main(count: int = 300) -> None:
    """Print what is wrong, kind by kind."""
    kinds: Counter[str] = Counter()
    for seed in range(count):
        for kind, sentence in lexicon.faults(lexicon.task(seed)):
            kinds[kind] += 1
            print(f"{seed}: {kind}: {sentence}")
    print(f"{count} tasks: {dict(kinds) or 'nothing wrong'}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
