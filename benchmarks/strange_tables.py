"""Random tables of answers, people, labels and times under random names: how many are read as meant.

    python benchmarks/strange_tables.py [tables] [seed]

Each table has an owner's meaning. Read, it is right, refused, wrong with a note that prints an option, or silently
wrong. "known" tables use names that the vocabulary knows; the others any words.
"""

from __future__ import annotations

import random
import sys
import tempfile
import warnings
from collections import Counter
from pathlib import Path

from weakly import InvalidInput
from weakly.io import read, read_answers

NAMES = {
    "recording": ["file", "filename", "recording", "audio_file", "path", "recording_id", "clip_id", "video_id"],
    "onset": ["start", "onset", "begin", "start_s", "start_time", "Begin Time (s)"],
    "offset": ["end", "offset", "stop", "end_s", "end_time", "End Time (s)"],
    "label": ["species", "label", "class", "event_label", "category", "call_type"],
    "person": ["volunteer", "annotator", "rater", "reader", "expert", "coder", "user", "observer_id"],
    "answer": ["present", "answer", "vote", "response", "detected", "annotation"],
}
WORDS = [*["zorp", "quib", "blat", "fenn", "miro", "tass", "hule", "wexa", "pono", "drit"]]
CLASSES = [*["owl", "dog", "wren", "crane", "toad", "fox", "seal", "gull"]]
PEOPLE = [*["kim", "lee", "ada", "bo", "cy", "dee", "eli", "fay"]]
VOCABULARIES = [("1", "0"), ("yes", "no"), ("TRUE", "FALSE"), ("present", "absent"), ("True", "False"), ("Y", "N")]
SHAPES = ("events", "long", "class columns", "one class", "raters", "numbered raters")


def made(random_: random.Random) -> tuple[str, str, set, bool, str]:
    """The text of a table, the door, what its owner means, whether its names are known, and its shape."""
    known, shape = random_.random() < 0.6, random_.choice(SHAPES)
    words = random_.sample(WORDS, len(WORDS))

    def name(role: str) -> str:
        return random_.choice(NAMES[role]) if known else words.pop()

    recordings = [f"{random_.choice('abcxyz')}{k}.wav" for k in range(random_.randint(1, 4))]
    length = random_.choice([1, 3, 10, 30])
    yes, no = random_.choice(VOCABULARIES)
    classes, people = random_.sample(CLASSES, random_.randint(1, 3)), random_.sample(PEOPLE, random_.randint(1, 3))
    names = {role: name(role) for role in ("recording", "onset", "offset")}
    rows, means, door = [], set(), "answers"
    if shape == "events":
        door, label = "events", name("label")
        header = [*names.values(), label]
        for r in recordings:
            at = 0.0
            for _ in range(random_.randint(1, 5)):
                at = round(at + random_.uniform(0.1, 9), 2)
                end = round(at + random_.uniform(0.1, 5), 2)
                c = random_.choice(classes)
                rows.append([r, at, end, c])
                means.add((r, at, end, c))
                at = end
    else:
        label, person, answer = name("label"), name("person"), name("answer")
        if shape == "numbered raters":
            people = [f"{random_.choice(['rater', 'expert', 'reader'])}{k}" for k in range(1, len(people) + 1)]
        header = list(names.values())
        header += {"long": [label, person, answer], "class columns": [person, *classes], "raters": [label, *people],
                   "one class": [person, classes[0]], "numbered raters": people}[shape]  # fmt: skip
        for r in recordings:
            for k in range(random_.randint(2, 6)):
                span = (float(k * length), float((k + 1) * length))
                if shape == "long":
                    for p in people:
                        c, said = random_.choice(classes), random_.random() < 0.4
                        rows.append([r, *span, c, p, yes if said else no])
                        means.add((r, *span, c, p, float(said)))
                elif shape in ("class columns", "one class"):
                    asked = classes if shape == "class columns" else classes[:1]
                    for p in people:
                        said = {c: random_.random() < 0.4 for c in asked}
                        rows.append([r, *span, p, *(yes if v else no for v in said.values())])
                        means |= {(r, *span, c, p, float(v)) for c, v in said.items()}
                else:
                    c = random_.choice(classes) if shape == "raters" else "event"
                    said = {p: random_.random() < 0.4 for p in people}
                    rows.append(
                        [r, *span, *([c] if shape == "raters" else []), *(yes if v else no for v in said.values())]
                    )
                    means |= {(r, *span, c, p, float(v)) for p, v in said.items()}
    extra = random_.random()
    if extra < 0.2:
        header, rows = [*header, "comments"], [[*row, random_.choice(["", "loud", "?"])] for row in rows]
    elif extra < 0.35:
        header, rows = ["row_id", *header], [[k, *row] for k, row in enumerate(rows, 1)]
    if random_.random() < 0.3:
        random_.shuffle(rows)
    order = list(range(len(header)))
    if random_.random() < 0.2:
        random_.shuffle(order)
    sign = random_.choice([",", "\t", ";"])
    lines = [sign.join(str(row[k]) for k in order) for row in [header, *rows]]
    return "\n".join(lines) + "\n", door, means, known, shape


def outcome(path: Path, text: str, door: str, means: set) -> str:
    """How the table is read: right, refused, noted (wrong, with an option printed) or silent (wrong)."""
    path.write_text(text)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            rows = (read if door == "events" else read_answers)(path)
        except InvalidInput:
            return "refused"
    columns = ["recording", "onset", "offset", "label"] + (["annotator", "present"] if door == "answers" else [])
    found = set(rows.to_frame()[columns].itertuples(index=False, name=None))
    if door == "answers" and len({row[4] for row in means}) == 1:  # a column of one person does not say that it is
        found, means = ({(*row[:4], row[5]) for row in each} for each in (found, means))
    if found == means:
        return "right"
    return "noted" if any("--" in str(each.message) for each in caught) else "silent"


def main(n: int = 5000, seed: int = 1) -> None:
    """Print how many of each kind, by whether names are known and by shape."""
    random_ = random.Random(seed)
    count: Counter = Counter()
    first: dict = {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.csv"
        for _ in range(n):
            text, door, means, known, shape = made(random_)
            key = (known, shape, outcome(path, text, door, means))
            count[key] += 1
            first.setdefault(key, text)
    for known in (True, False):
        for shape in SHAPES:
            told = {kind: count[known, shape, kind] for kind in ("right", "refused", "noted", "silent")}
            print("known" if known else "other", f"{shape:16}", *(f"{kind} {n:5}" for kind, n in told.items()))
    for key, text in first.items():
        if key[2] in ("silent", "noted"):
            print(*key, text, sep="\n")
    print("silent:", sum(n for key, n in count.items() if key[2] == "silent"))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
