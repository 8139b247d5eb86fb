"""The one vocabulary of answers: which words say present, absent or unsure, and where in a label's text they stand.

Everybody who reads answers (tables, Raven, Audacity, Label Studio, campaigns) asks here. An answer is 1 (present), 0
(absent) or NaN (unsure); nothing said is None; what cannot be read is ``UNREADABLE``, to be listed and never skipped.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

UNREADABLE = np.inf

_PRESENT = (
    "yes y yeah yep true t 1 1.0 + present presence p pos positive detected heard found there correct ja oui si sí sim "
    "✓ ✔ x checked"
)
_ABSENT = (
    "no n nope not false f 0 0.0 - − – absent absence a neg negative none nothing missing not_present notpresent nein "
    "non não nao ✗ ✘ nil"
)
_UNSURE = (
    "unsure uncertain unknown unk u ? ?? ??? maybe perhaps possibly possible ambiguous unclear undecided idk dunno "
    "not_sure don't_know dont_know do_not_know can't_tell cannot_tell vielleicht unsicher peut-être incertain quizás"
)
#: Every word that is an answer by itself, in lower case.
WORDS: dict[str, float] = {
    **dict.fromkeys(_PRESENT.split(), 1.0),
    **dict.fromkeys(_ABSENT.split(), 0.0),
    **dict.fromkeys(_UNSURE.split(), np.nan),
}
# Words that may stand beside others ("note absent", "n dog?"); letters that may begin a name do not.
_CLEAR = {word for word in WORDS if len(word) > 2 and word.isalpha()} | {"no", "y", "n", "u", "ja", "si"}
_BESIDE = _CLEAR | {"+", "-", "?", "??", "1", "0"}
_QUERY = re.compile(r"\b[0-9a-f]{12}\b")


def answer_of(text: Any) -> float | None:
    """1 present, 0 absent, NaN unsure, None where nothing is said, ``UNREADABLE`` where something else is.

    >>> answer_of("Yes"), answer_of(" not present"), answer_of(""), answer_of("note absent"), answer_of("blue")
    (1.0, 0.0, None, 0.0, inf)
    """
    if text is None or (isinstance(text, float) and text != text):
        return None
    word = str(text).strip().strip("\"'()[].,;:!").strip().lower() or str(text).strip().lower()
    if not word:
        return None
    joined = re.sub(r"\s+", "_", word)
    if joined in WORDS:
        return WORDS[joined]
    parts = re.split(r"[\s,;:/()\[\]]+", word)
    if "not" in parts[:-1]:
        after = parts[parts.index("not") + 1]
        if after in ("sure", "certain", "clear"):
            return np.nan
        if WORDS.get(after) == 1.0:
            return 0.0
    said = {str(WORDS[part]) for part in parts if part in _CLEAR}
    return float(said.pop()) if len(said) == 1 else UNREADABLE


def answers_of(values: Sequence[Any]) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """The answers of many texts, infinite where one cannot be read; and where nothing is said."""
    known = {value: answer_of(value) for value in set(values)}
    said = [known[value] for value in values]
    blank = np.array([value is None for value in said], dtype=bool)
    return np.array([np.nan if value is None else value for value in said], dtype=np.float64), blank


def is_vocabulary(values: Sequence[str], *, words: bool = False) -> bool:
    """Whether texts are nothing but whole answers (or empty), at least one; a clear one, if ``words`` are asked.

    Nine of ten are enough where both present and absent are said: the others are slips, and broken rows.

    >>> is_vocabulary(["yes", "no"]), is_vocabulary(["yes", "dog"]), is_vocabulary(["yes", "no"] * 9 + ["yess"])
    (True, False, True)
    """
    count = Counter(value.strip().lower() for value in values)
    del count[""]
    known = {word for word in count if re.sub(r"\s+", "_", word) in WORDS}
    clear = known & _CLEAR
    if len(known) < len(count):
        share = sum(count[word] for word in known) / count.total()
        return share >= 0.9 and {1.0, 0.0} <= {WORDS[word] for word in clear & WORDS.keys()}
    return bool(known) and (not words or bool(clear))


_NO = re.compile(
    r"^(?:no|not|non|without|absent|negative)[\s_-]+(.+)$|^(.+?)[\s_-]+(?:absent|negative)$", re.IGNORECASE
)


def opposites(labels: Iterable[str]) -> dict[str, tuple[str, float]]:
    """What each label says of which class, where all of them are classes and their absence; else nothing.

    >>> opposites(["crack", "no_crack"]), opposites(["crack", "no_crack", "speech"])
    ({'crack': ('crack', 1.0), 'no_crack': ('crack', 0.0)}, {})
    """
    found = {}
    for label in dict.fromkeys(labels):  # in their order
        match = _NO.match(label.strip())
        found[label] = (next(filter(None, match.groups())), 0.0) if match else (label.strip(), 1.0)
    said: dict[str, set[float]] = {}
    for name, present in found.values():
        said.setdefault(name, set()).add(present)
    return found if said and all(len(both) == 2 for both in said.values()) else {}


def split_answer(text: str, label: str | None = None) -> tuple[str, str, str]:
    """The query, the label and the answer that one text of a label track holds; empty what is not there.

    A campaign writes ``query label?``; the annotator adds a word behind it, before it, or in place of the question
    mark: ``dog? yes``, ``n dog?``, ``dog absent``, ``dog ??``. A known ``label`` is taken out before words are sought.

    >>> split_answer("0123456789ab dog? yes"), split_answer("n dog?"), split_answer("big dog absent")
    (('0123456789ab', 'dog', 'yes'), ('', 'dog', 'n'), ('', 'big dog', 'absent'))
    """
    match = _QUERY.search(text)
    query = match.group() if match else ""
    rest = " ".join(_QUERY.sub(" ", text, count=1).split()) if match else text.strip()
    if label and label.strip() and label in rest:
        before, _, after = rest.partition(label)
        asked = after.lstrip().startswith("?")
        said = f"{before} {after.lstrip().removeprefix('?')}".strip()
        return query, label, said if said or asked else rest
    if "?" in rest:
        head, _, tail = rest.partition("?")
        if tail.strip():
            return query, head.strip(), tail.strip()
        first, _, more = head.strip().partition(" ")
        return (
            (query, more.strip(), first)
            if more and first.lower().rstrip(":,") in _BESIDE
            else (query, head.strip(), "")
        )
    first, _, more = rest.partition(" ")
    before, _, last = rest.rpartition(" ")
    if last.lower() in _BESIDE and before:
        return query, before.strip(), last
    if first.lower().rstrip(":,") in _BESIDE and more:
        return query, more.strip(), first.rstrip(":,")
    if rest.lower() in _BESIDE:
        return query, "", rest
    return query, rest, ""


def person_of(value: Any) -> str:
    """What an annotator is called: by e-mail, else user name, else number; "" where nobody is named."""
    if isinstance(value, dict):
        value = value.get("email") or value.get("username") or value.get("name") or value.get("id")
    return "" if value is None else str(value)
