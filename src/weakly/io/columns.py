"""Which column of a table is which: by its name and by what is in it, said aloud; refused where it could be another.

Names come first (``vocabulary``), content decides among them. The recording is named by a column's name, its values,
and where times begin anew; it is refused where several columns could.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ..base.errors import InvalidInput
from . import vocabulary as terms
from .source import Source, column_of, grouped, quoted
from .table import ColumnTable
from .times import Roles, is_even, lengths_of, numbered, onsets_of, special, time_columns
from .vocabulary import is_answers, is_number, is_person, is_vocabulary, kind_of, normal, suited, texts

#: Numbers that measure or count something, and are no ids though they are whole.
_MEASURE = re.compile(
    r"(^|_)(low|high|min|max|mean|peak|delta|freq|frequency|hz|khz|db|power|energy|amplitude|level|count|counts|total|rate|"
    r"size|width|height|area|distance|depth|rank|rating|score|percent|pct|temp|temperature|speed|volume|intensity|x|y|z)(_|$)"
)
_OTHERS = ("recording", "annotator", "onset", "offset", "length", "confidence")  # what is no answer by its name
_ENDS = ("onset", "offset")
_CODE = re.compile(r"^[\w.-]*\d[\w.-]*$")
#: Columns of votes for, and of votes against or of all votes.
_VOTES = (
    re.compile(r"(^|_)(yes|upvotes|votes|positive|n_pos|n_present|present_votes)(_|$)"),
    re.compile(r"(^|_)(no|downvotes|negative|n_neg|n_absent|absent_votes|n_votes|total|against|n_raters)(_|$)"),
)


def roles_of(table: ColumnTable, *, exact: bool = False, classes: Sequence[str] = ()) -> Roles:
    """The columns of a table by their parts: what the caller or the dialect said, then names and content.

    In an ``exact`` table, that of a tool or ours, no column is taken for answers by what is in it; ``classes`` are.
    """
    source, found = table.source, Roles(table)
    given = _given(source, table.names)
    ours = ("recording", "onset", "offset", "label")
    if set(ours) <= table.columns.keys() and not classes:  # the table that we write: others may be called anything
        found.names, exact = {name: name for name in ours}, True
    found.exact, found.melted = exact, list(classes)
    found.names.update(given)
    for name in (given.get(role, "") for role in ("onset", "offset", "length")):
        if "+" in name and name not in table.columns:  # minutes and seconds
            parts = {part: column_of(table.names, part.strip()) or "" for part in name.split("+")}
            scales = [terms.UNITS.get(normal(part)[1] or normal(part)[0], 1.0) for part in parts]
            table.columns[name] = sum(table.numbers(own) * scale for own, scale in zip(parts.values(), scales))
            table.names.append(name)
    if given.get("recording", "@file") not in {*table.columns, "@file"}:
        found.parts = [column_of(table.names, part.strip()) or "" for part in given["recording"].split("+")]
    timeless = given.get("onset") == "@none" and bool(found.names.pop("onset"))  # no column says when
    kinds = {name: kind_of(values) for name, values in table.columns.items()}
    taken = {*found.names.values(), *found.parts, *classes}
    free = [name for name in table.names if name and name not in taken]
    if not exact and not {*_ENDS, "length"} & found.names.keys() and not suited(free, "offset"):
        _ranges(found, free, kinds)

    def take(role: str, *allowed: str) -> None:
        name = next((name for name in suited(free, role) if kinds[name] in allowed), None)
        if name is not None and role not in found.names:
            found.names[role] = name
            free.remove(name)

    for role in ("rate", "recording_length"):
        take(role, "number", "clock", "")
    take("origin", "date")
    hidden = [name for name in free if timeless and (suited([name], "onset") or suited([name], "offset"))]
    free[:] = [name for name in free if name not in hidden]
    time_columns(found, free, kinds, given)
    if found.names.get("present") == "@none":
        del found.names["present"]
    elif "present" not in found.names:
        _answer(found, free)
    elif found.names["present"] in table.columns:
        found.named = _class_of(found.names["present"])
    if "onset" not in found.names and not {"hour", "sec", "second"} & {normal(n)[0] for n in free}:  # parts of a time
        take("epoch", "number")
    take("confidence", "number", "")
    take("annotated", "text", "number", "")
    if "present" in found.names:
        take("seconds", "number", "")
        take("query", "text", "number", "")
    # A participant is who was recorded; or who answers, where other columns name the recording and some hold answers.
    both = [name for name in free if suited([name], "recording") and suited([name], "annotator")]
    others = [name for name in suited(free, "recording") if name not in both[:1] and terms.TIER[normal(name)[0]] < 2]
    held = "present" in found.names or any(is_answers(table.columns[n]) for n in free if both and n not in others)
    if both and not (others and held):
        free[:] = [name for name in free if name not in both]
    take("annotator", "text", "number", "")
    free[:] = [name for name in table.names if name in free or (name in both and name not in found.names.values())]
    for role in ("label", "annotator"):
        if found.names.get(role, "@")[:1] != "@" and found.names[role] not in table.columns:  # several columns, told
            found.melted = [column_of(table.names, part.strip()) or part for part in found.names[role].split("+")]
            found.into = role
            free[:] = [name for name in free if name not in found.melted]
            _tell_ticks(table, [name for name in found.melted if name in table.columns])
    if not (found.melted or exact or "present" in found.names or given.get("present") == "@none"):
        yes, no = ([n for n in free if kinds[n] == "number" and each.search(normal(n)[0])] for each in _VOTES)
        if yes and no and yes != no:
            words = f"{quoted(yes[0])} and {quoted(no[-1])} count votes; a table has a row for each vote"
            words += f", or --columns {shlex.quote(f'answer={yes[0]}')} takes a segment with any for it as present"
            raise source.error(words)
        _by_evidence(found, free)
    find_recording(found, free, kinds)
    _label(found, free, kinds)
    segments = "onset" not in found.names or is_even(found)  # all as long, or whole recordings
    if segments and not (exact or found.melted or found.asked or "present" in {*found.names, *given}):
        counts = _counts(found, [name for name in free if kinds[name] == "number"])
        if counts:
            some = f"{', '.join(map(quoted, counts[:4]))} hold numbers that may be counts, shares or scores"
            way = f"--columns {shlex.quote(f'answer={counts[0]}')} if more than 0 is present"
            source.note(f"{some}: {way}, --columns answer=@none if not", kind="unused column")
    told = ("text", "number") if alone(found) else ("text",)  # numbers may be ids where nothing else is
    named = [name for name in free if name.strip() and kinds[name] in told]
    found.unused = [name for name in named if may_tell(found, name, kinds[name])]
    return found


_RANGE = re.compile(r"^\s*((?:\d+:){0,2}\d+(?:\.\d+)?)\s*s?\s*(?:-|–|—|to)\s*((?:\d+:){0,2}\d+(?:\.\d+)?)\s*s?\s*$")


_SPAN = re.compile(r"(^|_)(times?|timestamps?|timecode|segment|interval|window|span)(_|$)|^(range|start)$")


def _ranges(found: Roles, free: list[str], kinds: dict[str, str]) -> None:
    """Take a column of starts and ends in one cell (``0:05-0:10``) apart, which is noted."""
    table = found.table
    for name in [name for name in free if kinds[name] == "text" and _SPAN.search(normal(name)[0])]:
        cells = [_RANGE.match(value) for value in table.columns[name]]
        both = {f"{role} of {name}": [cell[k] if cell else "" for cell in cells] for k, role in enumerate(_ENDS, 1)}
        onset, offset = (terms.numbers(table.source, values, table.lines, name) for values in both.values())
        if all(cells) and (onset < offset).all():
            table.source.note(f"{quoted(name)} is taken as starts and ends (first {quoted(table.columns[name][0])})")
            table.columns |= both
            table.names += both
            kinds |= {each: kind_of(values) for each, values in both.items()}
            found.names |= dict(zip(_ENDS, both))
            free.remove(name)
            return


def _given(source: Source, names: Sequence[str]) -> dict[str, str]:
    """What the caller said, with the names as the table spells them."""
    found = {}
    for role, name in source.columns.items():
        if role not in terms.ROLES:
            raise InvalidInput(f"columns: {quoted(role)} must be one of {', '.join(terms.ROLES)}")
        missing = [part for part in name.split("+") if column_of(names, part.strip(), name) is None]
        if missing and not special(role, name):
            raise source.error(f"columns: no column {quoted(missing[0])}; there are {', '.join(names[:30])}")
        found[role] = column_of(names, name) or name
    return found


def _answer(found: Roles, free: list[str]) -> None:
    """The column of answers that is called so, or ``annotation`` where it holds nothing but answers."""
    for name in suited(free, "present"):
        base, values = normal(name)[0], found.table.columns[name]
        held = not isinstance(values, np.ndarray) and is_vocabulary(values, words=base not in terms.BITS)
        if held or base in ("present", "answer", "is_present"):
            found.names["present"] = name
            free.remove(name)
            return


_GENERIC = "label labels class annotation category type tag tags event target value name text"


def _class_of(name: str) -> str:
    """The class that answers under a column's name are about; "" where the name says none."""
    generic = normal(name)[0] in _GENERIC.split() or suited([name], "present")
    return "" if generic else terms.without_presence(name.strip())


def _by_evidence(found: Roles, free: list[str]) -> None:
    """Columns of 0 and 1, yes and no, whatever their names: an answer, a class each, or a person each; else asked."""
    table, names = found.table, found.names
    binary = [
        name for name in free if name.strip() and normal(name)[0] not in terms.ASIDE
        and not _MEASURE.search(normal(name)[0]) and not any(suited([name], role) for role in _OTHERS)
        and not terms.IDLIKE.search(normal(name)[0]) and is_answers(table.columns[name])
        and (suited([name], "present") or not suited([name], "label") or len({*table.columns[name]}) > 1)
    ]  # fmt: skip
    people = [name for name in free if is_person(name) and len(table)]
    if len(people) > 1 and not binary and not suited(free, "label"):  # what each of them called it
        found.melted, found.into = people, "annotator"
        free[:] = [name for name in free if name not in people]
    if not binary or not len(table):
        return
    _tell_ticks(table, binary)
    filled = (n for n in suited(free, "label") if n not in binary and any(map(str.strip, texts(table.columns[n]))))
    label = names.get("label") or next(filled, None)
    people = list(filter(is_person, binary))
    if label is not None:
        codes = numbered(texts(table.columns[label])) if label in table.columns else np.zeros(len(table), np.int64)
        told = 1 < len(set(codes.tolist())) < len(codes)  # what goes with the class is a property of it
        others = {n: numbered(texts(table.columns[n])) for n in binary if n not in people}
        loose = [n for n, own in others.items() if not (told and own.max() > 0 and _decides(codes, own))]
        if people:
            found.melted, found.into = people, "annotator"
        elif len(loose) == len(others) == 1 and is_even(found):
            names["present"] = loose[0]
        else:
            found.asked, found.sided = list(others), not loose
            return
    elif len(people) == len(binary):
        found.melted, found.into = people, "annotator"
    elif len(binary) == 1:
        names["present"], found.named = binary[0], _class_of(binary[0])
        counts = _counts(found, [n for n in free if n != binary[0]])
        if counts:
            some, way = ", ".join(map(quoted, counts[:4])), shlex.quote(f"answer={binary[0]}")
            words = f"{quoted(binary[0])} is taken as the answer, and {some}, which may be counts, not"
            table.source.note(f"{words}; --columns {way} if so", kind="unused column")
    elif "annotator" in names:
        found.melted, found.into = binary, "label"
    else:
        as_class, as_person = (shlex.quote(f"{role}={'+'.join(binary)}") for role in ("label", "annotator"))
        words = f"{', '.join(map(quoted, binary[:4]))} hold answers and may be classes or people"
        way = f"--columns {as_class} if each is a class, --columns {as_person} if each is a person"
        raise table.source.error(f"{words}: {way}")
    free[:] = [n for n in free if n not in found.melted and n != names.get("present")]


def _tell_ticks(table: ColumnTable, names: Sequence[str]) -> None:
    """Columns of ticks and empty cells say yes and no, and so it is noted; empty ones only beside others with ticks."""
    said = {name: {value.strip().lower() for value in texts(table.columns[name])} for name in names}
    ticked = [name for name in names if "" in said[name] and said[name] - {""} <= terms.TICKS]
    for name in ticked if any(said[name] - {""} for name in ticked) else ():
        table.columns[name] = ["yes" if value.strip() else "no" for value in texts(table.columns[name])]
        table.source.note(f"an empty cell of {quoted(name)} is taken as no, beside ticks")


def _counts(found: Roles, free: Sequence[str]) -> list[str]:
    """The columns that hold small whole numbers, 0 among them, or shares: how often, how much, or how likely."""
    counts = []
    for name in (each for each in free if not any(suited([each], role) for role in terms.ROLES)):
        base, values = normal(name)[0], texts(found.table.columns[name][:2000])
        measure = _MEASURE.search(base) and not re.search(r"count|percent", base)
        if measure or base in terms.ASIDE or terms.IDLIKE.search(base):
            continue
        some = {float(value) for value in set(values) if is_number(value)}
        whole = 0.0 in some and len(some) < 20 and all(value % 1 == 0 for value in some)
        shares = bool(some) and max(some) <= 1 and any(value % 1 for value in some)
        counts += [name] if (whole or shares) and min(some) >= 0 < max(some) else []
    return counts


def _label(found: Roles, free: list[str], kinds: dict[str, str]) -> None:
    """The column of labels: by its name, words before numbers; else the only column of words that is left."""
    if "label" in found.names:
        return
    columns, n = found.table.columns, len(found.table)
    named = [name for name in suited(free, "label") if kinds[name] in ("text", "number") or any(columns[name])]
    words = [name for name in named if kinds[name] != "number"]
    chosen = words or [name for name in named if normal(name)[0] not in ("value", "text", "name", "code", "type")]
    if not (chosen or found.named):  # answers under a class's name need no other
        wordy = {name: normal(name)[0] for name in free if kinds[name] in ("text", "")}
        wordy = {name: base for name, base in wordy.items() if base not in terms.ASIDE}
        left = [name for name, base in wordy.items() if kinds[name] and not terms.IDLIKE.search(base)]
        left = [name for name in left if len(set(columns[name])) < n or n == 1]
        chosen = left if len(left) == 1 else []
        groups = grouped((re.split(r"_(?=[^_]+$)|(?=\d+$)", base)[0], name) for name, base in wordy.items())
        kin = next((some for stem, some in groups.items() if len(some) > 1 and suited([stem], "label")), [])
        if kin and found.names.get("present") is None:
            each, who = (shlex.quote(f"{role}={'+'.join(kin)}") for role in ("label", "annotator"))
            some = ", ".join(map(quoted, kin[:4]))
            way = f"--columns {each} if each cell is a class, --columns {who} if each column is a person's"
            told = f"{some} may hold several classes of a row, or the words of several people"
            raise found.table.source.error(f"{told}: {way}")
    if chosen:
        found.names["label"] = chosen[0]
        free.remove(chosen[0])


def _decides(one: Iterable[Any], other: Iterable[Any]) -> bool:
    """Whether each value of one goes with a single value of the other."""
    return len({*zip(one, other)}) == len({*one})


def find_recording(found: Roles, free: list[str], kinds: dict[str, str]) -> None:
    """Take the column that names the recordings out of the free ones; none is the file's own name.

    Refused where several could, or where none is known and one might: a table is never one recording by mistake.
    """
    if "recording" in found.names:
        found.names = {role: name for role, name in found.names.items() if (role, name) != ("recording", "@file")}
        return
    if not len(found.table):
        chosen = next((name for name in suited(free, "recording") if terms.TIER[normal(name)[0]] < 3), None)
    else:
        candidates = _candidates(found, free, kinds)
        chosen = _finest(found, candidates) if candidates else _by_content(found, free, kinds)
        if chosen is not None and candidates and candidates[chosen][0] > 1:
            _begun_anew(found, chosen, [name for name in free if name not in candidates], kinds)
    if chosen is not None:
        found.names["recording"] = chosen
        free.remove(chosen)


def _candidates(found: Roles, free: list[str], kinds: dict[str, str]) -> dict[str, tuple[int, Sequence[Any]]]:
    """The columns that are called like recordings: how good each name is, and the values."""
    table, candidates = found.table, {}
    label = suited(free, "label")[:1]
    for name in suited(free, "recording"):
        values, base = table.columns[name], normal(name)[0]
        tier, distinct = terms.TIER.get(base, 1), len(set(values))
        if kinds[name] in ("clock", "date") or (kinds[name] == "" and (tier > 1 or (distinct == 1 and "" in values))):
            continue
        if tier == 3 and (distinct == len(table) > 1 or (distinct == 1 and kinds[name] == "number")):
            continue  # a row number
        if base == "name" and "label" not in found.names and not suited([n for n in free if n != name], "label"):
            continue
        if not (name in label and tier > 1):
            candidates[name] = (tier, values)
    return candidates


def _by_content(found: Roles, free: list[str], kinds: dict[str, str]) -> str | None:
    """The column of names of sound or video files; refused where another column could name recordings."""
    table, source = found.table, found.table.source
    texts_ = [name for name in free if kinds[name] == "text" and normal(name)[0] not in terms.ASIDE]
    told = {name: {v.strip() for v in table.columns[name] if v.strip().lower() not in terms.MISSING} for name in texts_}
    files = [name for name, some in told.items() if sum(map(bool, map(terms.MEDIA.search, some))) > 0.9 * len(some)]
    if len(files) == 1:
        return files[0]
    best = suited(free, "label")[:1]
    ids = [name for name in free if name not in best and _like_ids(found, name, kinds[name])]
    if "label" not in found.names and not best:
        # one column of words is the label if nothing else could be
        word, base = (ids[0], normal(ids[0])[0]) if len(ids) == 1 and kinds[ids[0]] == "text" else (None, "")
        codes = word and (terms.IDLIKE.search(base) or base in terms.PLACES or _are_codes(table.columns[word]))
        if word and not (codes or _restarts(found, word) or _backwards(found, word)):
            return None
    whole = "or recording=@file if the whole file is one recording"
    if ids or files:
        name = (files or ids)[0]
        others, n = f", or {quoted(ids[1])}" if len(ids) > 1 else "", len(set(table.columns[name]))
        words = f"no column is known to name the recordings; {quoted(name)} ({n} values){others} could"
        raise source.error(f"{words}: say recording={name} in columns (--columns recording={name}), {whole}")
    if _backwards(found, best[0] if best else None):
        words = "no column names the recordings and the times go backwards, so there may be several"
        raise source.error(f"{words}; say which column it is (--columns recording=NAME), {whole}")
    return None


def may_tell(found: Roles, name: str, kind: str) -> bool:
    """Whether an unused column has something to tell: several words, or whole numbers of which some are repeated."""
    values = found.table.columns[name]
    some = set(values)
    if len(some) < 2 or kind not in ("text", "number"):
        return False
    measure = len(some) == len(values) or _MEASURE.search(normal(name)[0])
    return kind == "text" or (not measure and all(map(terms.is_whole, some)))


def _like_ids(found: Roles, name: str, kind: str) -> bool:
    """Whether a column could name recordings: several values, not one per row like a row number, not a measurement."""
    base, values = normal(name)[0], found.table.columns[name]
    if base in terms.PLACES and len(set(values)) > 1:
        return True
    if base in terms.ASIDE or not may_tell(found, name, kind) or _goes_with(found, name):
        return False
    named = terms.IDLIKE.search(base) or (kind == "text" and (_are_codes(values) or _restarts(found, name)))
    return bool(named) or _separates(found, name)


def _goes_with(found: Roles, name: str) -> bool:
    """Whether a column is another name of the class or the annotator: class_id beside class, one for each."""
    table, base = found.table, normal(name)[0].rpartition("_")[0]
    for role in ("label", "annotator"):
        own = found.names.get(role) or next(iter(suited([n for n in table.names if n != name], role)), "")
        kin = own and (suited([name], role) or base == normal(own)[0].removesuffix("_name"))
        if kin and _decides(table.columns[own], table.columns[name]):
            return True
    return False


def _are_codes(values: Sequence[str]) -> bool:
    """Whether values are like n1, 2024_siteA: each with a digit and without spaces, some of them repeated."""
    some = set(values)
    return all(_CODE.match(value.strip()) for value in some if value.strip()) and 1 < len(some) < len(values)


def _separates(found: Roles, name: str) -> bool:
    """Whether events of one class overlap in the table as a whole, and never those with the same value."""
    onset, length = onsets_of(found), lengths_of(found)
    if onset is None or length is None:
        return False
    end = onset + length
    label = suited([n for n in found.table.names if n != name], "label")[:1]
    kind = numbered(found.table.columns[label[0]]) if label else np.zeros(len(onset), np.int64)

    def overlaps(codes: np.ndarray) -> int:
        order = np.lexsort((onset, codes))
        same = np.diff(codes[order]) == 0
        return int((same & (onset[order][1:] < end[order][:-1])).sum())

    values = numbered(found.table.columns[name])
    return overlaps(kind) > 0 == overlaps(kind * (int(values.max(initial=0)) + 1) + values)


def _restarts(found: Roles, name: str) -> bool:
    """Whether the column stands in runs, one per value, and the times begin anew with them."""
    onset, codes = onsets_of(found), numbered(found.table.columns[name])
    if onset is None:
        return True
    change = np.flatnonzero(np.diff(codes) != 0) + 1
    return len(change) > 0 and len(change) + 1 == codes.max() + 1 and bool((onset[change] < onset[change - 1]).any())


def _backwards(found: Roles, label: str | None) -> bool:
    """Whether onsets go back in time even within a class (and, where named, an annotator)."""
    onset = onsets_of(found)
    if onset is None:
        return False
    channel = column_of(found.table.names, "channel", "channels")
    told = (label, *map(found.names.get, ("annotator", "present")), channel)
    names = [name for name in told if name in found.table.columns]
    codes = numbered(list(zip(*(found.table.columns[name] for name in names)))) if names else np.zeros(len(onset), int)
    order = np.argsort(codes, kind="stable")
    same = np.diff(codes[order]) == 0
    return bool((same & (np.diff(onset[order]) < 0)).any())


def _finest(found: Roles, candidates: dict[str, tuple[int, Sequence[str]]]) -> str:
    """The candidate that tells the others; refused where only several together would tell recordings apart."""
    if len(candidates) == 1:
        return next(iter(candidates))
    codes = {name: numbered(values) for name, (_, values) in candidates.items()}
    best = min(tier for tier, _ in candidates.values())
    same = [name for name, (tier, _) in candidates.items() if tier == best]
    first = next((name for name in same if all(_decides(codes[name], codes[other]) for other in same)), same[0])
    joint, parts, onset = codes[first], [first], onsets_of(found)
    for other, (tier, values) in candidates.items():
        if other == first or tier == 3 or _decides(joint, codes[other]) or not set(values) - {""}:
            continue
        # The same name beside two others: two recordings if the times begin anew, one with two subjects if they run
        # on; of equals (subject, session) it takes several changes to believe that they do.
        stays = (np.diff(joint) == 0) & (np.diff(codes[other]) != 0)
        anew = onset is None or bool((stays & (np.diff(onset) < 0)).any())
        if anew or (tier == best and stays.sum() < 4):
            parts.append(other)
            joint = numbered(list(zip(joint.tolist(), codes[other].tolist())))
    if len(parts) > 1:
        _refuse_pooling(found, parts)
    return first


def _begun_anew(found: Roles, chosen: str, others: Sequence[str], kinds: dict[str, str]) -> None:
    """Refuse a recording within which times begin anew exactly where another column changes: a visit, a tape."""
    onset = onsets_of(found)
    if onset is None:
        return
    codes, labels = numbered(found.table.columns[chosen]), {*suited(others, "label"), *suited(others, "annotator")}
    back = (np.diff(codes) == 0) & (np.diff(onset) < 0)
    for other in others if back.any() else ():
        aside = other in labels or normal(other)[0] in terms.ASIDE - terms.PLACES
        if kinds[other] in ("text", "number") and not aside:
            change = np.diff(numbered(found.table.columns[other])) != 0
            if (change[back]).all() and change.sum() < 0.5 * len(change):
                _refuse_pooling(found, [chosen, other])


def _refuse_pooling(found: Roles, parts: Sequence[str]) -> None:
    words = f"the recording could be {quoted(parts[0])}, or {' together with '.join(map(quoted, parts))}"
    way = f"say --columns recording={'+'.join(parts)}, or --columns recording={parts[0]}"
    raise found.table.source.error(f"{words}: {way}")


def alone(roles: Roles) -> bool:
    """Whether the whole table is one recording and nobody said so."""
    told = roles.parts or "recording" in roles.table.source.columns
    return "recording" not in roles.names and not told
