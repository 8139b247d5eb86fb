"""What results say, over random tasks: short sentences, one name per quantity, numbers that agree with their nouns."""

import re

import numpy as np
import pandas as pd
import pytest

import weakly as wk
from weakly.base.symbols import SYMBOLS, headed, plain_name

pytestmark = pytest.mark.filterwarnings("ignore::weakly.AssumptionWarning")
NOUNS = "recording|event|clip|segment|class|query|criterion|rule|hour|minute|second|file|row|length|answer|annotator"
#: Code names, and names that stand beside the one in use.
FORBIDDEN = re.compile(r"[a-z]+_[a-z]+|\bqueries\b|\bquery\b|given overlap|event recall|manieth|back comes")


def faults(text):
    """What is wrong with a text that people read."""
    found = [f"name: {match[0]}" for match in FORBIDDEN.finditer(text)]
    for number, noun in re.findall(rf"(?<![\d.,])(\d[\d,.]*) ({NOUNS}|\w+s)\b", text):
        single = re.fullmatch(NOUNS, noun) is not None
        if single != (number == "1") and (single or re.fullmatch(rf"({NOUNS.replace('query', 'querie')})(s|es)", noun)):
            found.append(f"number: {number} {noun}")
    for sentence in re.split(r"(?<=[.!?]) +(?=[A-Z])|\n", text):
        said = [word for word in sentence.split() if re.search(r"\w", word)]
        found += [f"{len(said)} words: {sentence}"] if len(said) > 25 else []
        found += [f"no end: {sentence}"] if said and not sentence.endswith((".", "?")) else []
    return found


def test_the_check_notices_what_it_must():
    assert faults("There is 1 recording. There are 2 recordings, 1,000 clips and 1.5 hours of 28 classes.") == []
    for bad in ("1 recordings.", "2 recording.", "28 hour.", "1 wrong_time.", "2 queries.", 26 * "word " + "."):
        assert faults(bad), bad


def random_events(rng):
    """A few recordings with events of a few classes, at times one of each."""
    n, classes = int(rng.integers(1, 4)), int(rng.integers(1, 6))
    onset = rng.uniform(0, 50, size=(n, classes, int(rng.integers(1, 5))))
    length = rng.lognormal(0, 1, size=onset.shape).clip(0.01, 9)
    where = np.indices(onset.shape)[:2].reshape(2, -1)
    frame = pd.DataFrame({"onset": onset.ravel(), "offset": (onset + length).ravel()})
    frame["recording"], frame["label"] = ([f"{name}{k}" for k in each] for name, each in zip("rc", where))
    return wk.Events.from_frame(frame, recording_length=60.0)


def test_evaluations_speak_well():
    rng = np.random.default_rng(1)
    for _ in range(60):
        widths = rng.uniform(0.2, 20, size=int(rng.integers(1, 5)))
        gamma = rng.uniform(0.05, 1, size=int(rng.integers(1, 3))).round(2)
        found = wk.evaluate(random_events(rng), segment_length=widths, presence_criterion=gamma)
        assert faults(found.answer) == [], found.answer
        assert len(repr(found)) < 200


def test_simulations_speak_well():
    rng = np.random.default_rng(2)
    for _ in range(40):
        found = wk.simulate(
            float(rng.uniform(0.2, 3)), n_events=int(rng.integers(1, 4)), recording_length=30.0,
            n_recordings=int(rng.integers(2, 9)), segment_length=rng.uniform(0.3, 9, size=int(rng.integers(1, 4))),
            presence_criterion=round(rng.uniform(0.1, 0.9), 2), rng=1,
        )  # fmt: skip
        assert faults(found.answer) == [], found.answer


def test_no_two_quantities_share_a_name_and_none_has_two():
    spoken = [plain_name(name) for name in SYMBOLS]
    assert len(set(spoken)) == len(spoken)
    assert [headed(name) for name in ("overlap_accuracy", "event_recall", "wrong_time", "n_queries", "label")] == [
        "accuracy near events", "events found", "wrong time per recording (s)", "clips to play", "class",
    ]  # fmt: skip
