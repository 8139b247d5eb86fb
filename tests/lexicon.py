"""What answers say of random tasks, and what is wrong with a sentence: code, names, length, singular and plural."""

import contextlib
import io
import os
import re
import warnings

import numpy as np
import pandas as pd

import weakly as wk

#: Names of the code, and other names for a quantity that has one. (Options may stand in a terminal; the page has none.)
FORBIDDEN = re.compile(
    r"\b(?!sed_eval)[a-z]+_[a-z_]+\b|\w='|\bevent recall\b|\boverlap accuracy\b|\baccuracy given overlap\b"
    r"|\de\+\d|\bnan\b"
)
NOUNS = ("recording", "event", "segment", "class", "hour", "label", "answer", "clip", "annotator", "length", "point")
_MANY = "|".join("classes" if noun == "class" else f"{noun}s" for noun in NOUNS)
ONE_OF_MANY = re.compile(rf"(?<![\d.,])(?<!to )1 (?:(?!with)[a-z]{{2,}} )?(?:{_MANY})\b")
MANY_OF_ONE = re.compile(rf"(?<![\d.,])(?:[2-9]|[1-9]\d+|\d+,\d{{3}}|\d+\.\d+) (?:{'|'.join(NOUNS)})\b(?!-)")
MOST_WORDS = 25


#: How a line of a plan names the command that does it.
COMMAND = re.compile(r"(?:[.:]| Run:| With --out plan/:)* weakly (?:queries|label) .*$")


def sentences(result):
    """The answer sentence by sentence, without the commands that a plan's choices end with."""
    said = result.answer.splitlines() + ([result.assumed] if hasattr(result, "assumed") else [])
    lines = [COMMAND.sub(".", line) for line in said]
    return [part for line in lines for part in re.split(r"(?<=[.!?]) (?=[A-Z\d]|[\w ]+: )", line)]


def faults(result):
    """(what is wrong, sentence) of every sentence of a result's answer."""
    return faults_of(sentences(result))


def faults_of(said):
    """(what is wrong, sentence) of these sentences."""
    found = []
    for sentence in said:
        for name, pattern in (("code", FORBIDDEN), ("plural", ONE_OF_MANY), ("singular", MANY_OF_ONE)):
            if pattern.search(sentence):
                found.append((name, sentence))
        if len([word for word in sentence.split() if re.search(r"\w", word)]) > MOST_WORDS:
            found.append(("long", sentence))
    return found


def _events(rng):
    labels = ["owl", "call", "a b"][: rng.integers(1, 4)]
    rows = []
    for recording in range(int(rng.integers(1, 6))):
        for _ in range(int(rng.integers(1, 5))):
            onset, length = rng.uniform(0, 20), float(rng.choice([0.3, 1.0, 4.0])) * rng.uniform(0.5, 2)
            rows.append((f"r{recording}", onset, onset + length, str(rng.choice(labels))))
    frame = pd.DataFrame(rows, columns=["recording", "onset", "offset", "label"])
    return wk.Events.from_frame(frame, recording_length=30.0)


def _answers(events, rng):
    """What one to three people, who slip now and then, say of clips of one or two lengths."""
    rows = []
    for name, length in events.recordings["length"].items():
        for width in rng.choice([3.0, 5.0, 10.0], int(rng.integers(1, 3)), replace=False):
            for onset in np.arange(0.0, length, width):
                for label in events.labels:
                    table = events.to_frame().query("recording == @name and label == @label")
                    heard = table["offset"].clip(upper=onset + width) - table["onset"].clip(lower=onset)
                    present = bool((heard >= 0.5 * (table["offset"] - table["onset"])).any())
                    for person in ("ann", "bob", "cy")[: rng.integers(1, 4)]:
                        rows.append((name, onset, onset + width, label, person, present ^ (rng.random() < 0.05)))
    frame = pd.DataFrame(rows, columns=["recording", "onset", "offset", "label", "annotator", "present"])
    return wk.Answers.from_frame(frame.astype({"present": float}))


#: Kinds of tasks; an inference takes longer than all others.
KINDS = ("plan", "evaluate", "simulate", "audit", "infer")


def task(seed, kinds=KINDS):
    """The result of one random task: a plan, an evaluation, a simulation, an audit or an inference."""
    rng = np.random.default_rng([36, seed])
    criterion = float(rng.choice([0.1, 0.3, 0.5, 0.9]))
    lengths = sorted(set(rng.choice([0.2, 0.5, 1.0, 2.0, 3.0, 10.0], int(rng.integers(1, 5))).tolist()))
    kind = kinds[seed % len(kinds)]
    if kind == "plan":
        work = {"recording_length": float(rng.choice([10, 60, 3600])), "n_events": float(rng.choice([0.2, 1, 3]))}
        cost = wk.Cost(per_hour=20) if rng.random() < 0.5 else wk.Cost()
        hours = None if rng.random() < 0.5 else float(rng.choice([1, 2, 40]))
        length = float(rng.choice([0.1, 1.0, 5.0]))
        return wk.plan(length, presence_criterion=criterion, total_hours=hours, cost=cost, **work)
    if kind == "evaluate":
        return wk.evaluate(_events(rng), segment_length=lengths, presence_criterion=criterion)
    if kind in ("audit", "infer"):
        events = _events(rng)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", wk.AssumptionWarning)
            if kind == "audit":
                strong = events if rng.random() < 0.8 else None
                return wk.audit(strong=strong, answers=_answers(events, rng), rng=seed)
            return wk.infer(_answers(events, rng), event_length=1.0, step=0.5, draws=20, rng=seed)
    return wk.simulate(
        1.0, n_events=int(rng.integers(1, 4)), recording_length=30.0, segment_length=lengths,
        presence_criterion=criterion, n_recordings=int(rng.choice([2, 10, 200])), rng=seed,
    )  # fmt: skip


def said_by(*words):
    """The lines that a command says, to whichever stream, but for those that name files or columns."""
    from weakly.cli import main

    told = io.StringIO()
    with contextlib.redirect_stdout(told), contextlib.redirect_stderr(told), contextlib.suppress(SystemExit):
        main([str(word) for word in words])
    lines = [
        line for line in told.getvalue().splitlines() if not line.startswith("wrote ") and "recording = " not in line
    ]
    return [line.removeprefix("weakly: ").removeprefix("note: ") for line in lines]


def command_faults(seed, folder):
    """What is wrong with the words of `check`, `queries` and `answers` about one random file of events."""
    rng = np.random.default_rng([37, seed])
    events, folder = _events(rng), folder / str(seed)
    os.makedirs(folder)
    wk.write(events, folder / "events.csv")
    lengths = {name: float(length) for name, length in events.recordings["length"].items()}
    wk.queries(lengths, method="fixed", segment_length=float(rng.choice([3.0, 10.0])), label="owl").write(
        folder / "asked"
    )
    table = pd.read_csv(folder / "asked/queries.csv")
    table["annotation"] = rng.choice(["yes", "no", ""], len(table), p=[0.4, 0.4, 0.2])
    table.to_csv(folder / "answered.csv", index=False)
    lines = said_by("check", folder / "events.csv")
    lines += said_by("queries", "--resume", folder / "asked")
    lines += said_by("answers", folder / "answered.csv", "--queries", folder / "asked")
    return faults_of(line.replace(str(folder), "") for line in lines)
