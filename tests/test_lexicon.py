"""Answers are ordinary English: no code, one name for each quantity, short sentences, nouns that fit their numbers."""

import pytest

import lexicon


@pytest.mark.parametrize(
    ("kind", "many"), [("plan", 6), ("evaluate", 12), ("simulate", 12), ("audit", 5), ("infer", 1)]
)
def test_answers_to_random_tasks(kind, many):
    """Some tasks of each kind; benchmarks/bench_lexicon.py looks at three hundred."""
    found = {seed: lexicon.faults(lexicon.task(seed, (kind,))) for seed in range(many)}
    assert {seed: each for seed, each in found.items() if each} == {}


@pytest.mark.parametrize("seed", range(3))
def test_what_commands_say_of_random_files(seed, tmp_path):
    assert lexicon.command_faults(seed, tmp_path) == []


class Said:
    def __init__(self, answer):
        self.answer = answer


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        ("It needs 1 recordings.", "plural"),
        ("It takes 28 hour of work.", "singular"),
        ("Give read_answers the file.", "code"),
        ("The event recall is 51 %.", "code"),
        ("Cost is 1e+06 EUR.", "code"),
        (" ".join(["word"] * 26) + ".", "long"),
    ],
)
def test_every_fault_is_seen(answer, kind):
    assert [name for name, _ in lexicon.faults(Said(answer))] == [kind]
    assert lexicon.faults(Said("2 s is the best of 6 lengths for 1 class, with 1,240 clips to play.")) == []
