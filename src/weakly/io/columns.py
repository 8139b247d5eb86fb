"""Which column of a table is which: by its name and by what is in it, said aloud; refused where it could be another.

Names come first (``names``), content decides among them; the recording has its own evidence (``recordings``).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..base.errors import InvalidInput
from .recordings import Roles, alone, find_recording, may_tell
from .source import Source, column_of, quoted
from .table import ColumnTable
from .times import UNITS, kind_of
from .vocabulary import ASIDE, BITS, IDLIKE, ROLES, is_vocabulary, normal, suited


def roles_of(table: ColumnTable, *, fixed: dict[str, str] | None = None, times: bool = True) -> Roles:
    """The columns of a table by their parts: what the caller said, what the dialect fixes, then names and content."""
    source, found = table.source, Roles(table)
    given = _given(source, table.names)
    ours = ("recording", "onset", "offset", "label")
    if set(ours) <= table.columns.keys():  # the table that we write: its other columns may be called anything
        fixed = {**{name: name for name in ours}, **(fixed or {})}
    found.names.update({role: name for role, name in (fixed or {}).items() if name in table.columns})
    found.names.update(given)
    if "recording" in given and given["recording"] not in table.columns and given["recording"] != "@file":
        found.parts = [column_of(table.names, part.strip()) or "" for part in given["recording"].split("+")]
    kinds = {name: kind_of(values) for name, values in table.columns.items()}
    free = [name for name in table.names if name and name not in found.names.values() and name not in found.parts]

    def take(role: str, *allowed: str) -> None:
        if role in found.names:
            return
        for name in suited(free, role):
            if kinds[name] in allowed:
                found.names[role] = name
                free.remove(name)
                return

    for role in ("rate", "recording_length"):
        take(role, "number", "clock", "")
    take("origin", "date")
    if times:
        _times(found, free, kinds, given)
    _answer(found, free)
    take("confidence", "number", "")
    take("annotated", "text", "number", "")
    if "present" in found.names:
        take("seconds", "number", "")
        take("query", "text", "number", "")
    take("annotator", "text", "number", "")
    find_recording(found, free, kinds)
    _label(found, free, kinds)
    told = ("text", "number") if alone(found) else ("text",)  # numbers may be ids where nothing else is
    found.unused = [
        name for name in free if name.strip() and kinds[name] in told and may_tell(found, name, kinds[name])
    ]
    return found


def _given(source: Source, names: Sequence[str]) -> dict[str, str]:
    """What the caller said, with the names as the table spells them."""
    found = {}
    for role, name in source.columns.items():
        if role not in ROLES:
            raise InvalidInput(f"columns: {quoted(role)} must be one of {', '.join(ROLES)}")
        parts = [name] if column_of(names, name) else name.split("+")
        missing = [part for part in parts if column_of(names, part.strip()) is None]
        if missing and not (role == "recording" and name == "@file") and not (role == "rate" and _is_rate(name)):
            raise InvalidInput(
                f"{source.name}: columns: no column {quoted(missing[0])}; there are {', '.join(names[:30])}"
            )
        found[role] = column_of(names, name) or name
    return found


def _is_rate(text: str) -> bool:
    try:
        return float(text) > 0
    except ValueError:
        return False


def _times(found: Roles, free: list[str], kinds: dict[str, str], given: dict[str, str]) -> None:
    def choose(role: str) -> str | None:
        unit = normal(found.names["onset"])[1] if "onset" in found.names else ""
        counted = unit in UNITS and UNITS[unit] != UNITS[unit]
        for name in sorted(
            suited(free, role), key=lambda n: counted and UNITS.get(normal(n)[1], 0.0) == UNITS.get(normal(n)[1], 0.0)
        ):
            if kinds[name] in ("number", "clock", "date", "") or len(suited(free, role)) == 1:
                return name
        return None

    if "onset" not in found.names:
        name = choose("onset")
        if name is None and "offset" not in found.names and choose("length") is not None:
            name = choose("offset")  # OFFSET and DURATION: the offset into the file
        if name is not None:
            found.names["onset"] = name
            free.remove(name)
    if "offset" not in found.names and "length" not in given:
        name = choose("offset")
        if name is not None and "onset" in found.names:
            # seconds beside samples: of a start in seconds the end is not in samples
            found.names["offset"] = name
            free.remove(name)
    if "length" not in found.names:
        name = choose("length")
        if name is not None:
            if "offset" not in found.names:
                found.names["length"] = name
                free.remove(name)
            else:
                _whose_length(found, name, free)


def _whose_length(found: Roles, name: str, free: list[str]) -> None:
    """A duration beside an onset and an offset is the event's, which says nothing new, or the recording's."""
    table, (onset, offset) = found.table, (found.names["onset"], found.names["offset"])
    try:
        a, b, d = (np.array(table.columns[n][:2000], dtype=np.float64) for n in (onset, offset, name))
    except ValueError:
        return
    free.remove(name)
    if "recording_length" in found.names or not len(d) or np.allclose(b - a, d, atol=1e-3, equal_nan=True):
        return
    if (d >= b - 1e-6).all():
        found.names["recording_length"] = name


def _answer(found: Roles, free: list[str]) -> None:
    """The column of answers: one that is called so, or ``annotation`` where it holds nothing but answers."""
    if "present" in found.names:
        return
    for name in suited(free, "present"):
        sure = normal(name)[0] in ("present", "answer", "is_present")
        values = found.table.columns[name]
        words = normal(name)[0] not in BITS
        if sure or (not isinstance(values, np.ndarray) and is_vocabulary(values, words=words)):
            found.names["present"] = name
            free.remove(name)
            return


def _label(found: Roles, free: list[str], kinds: dict[str, str]) -> None:
    """The column of labels: by its name, words before numbers; else the only column of words that is left."""
    if "label" in found.names:
        return
    named = [
        name for name in suited(free, "label") if kinds[name] in ("text", "number") or any(found.table.columns[name])
    ]
    words = [name for name in named if kinds[name] != "number"]
    chosen = words or [name for name in named if normal(name)[0] not in ("value", "text", "name", "code", "type")]
    if not chosen:
        left = [
            name
            for name in free
            if kinds[name] == "text" and normal(name)[0] not in ASIDE and not IDLIKE.search(normal(name)[0])
            and len(set(found.table.columns[name]) - {""}) > 0
            and (len(set(found.table.columns[name])) < len(found.table) or len(found.table) == 1)
        ]  # fmt: skip
        chosen = left if len(left) == 1 else []
    if chosen:
        found.names["label"] = chosen[0]
        free.remove(chosen[0])


def sentence(roles: Roles, *, recordings: int, labels: int, annotators: int = 0, unit: str = "seconds") -> str:
    """One line that says what was taken as what."""
    names = roles.names
    told = " + ".join(roles.parts) if roles.parts else names.get("recording", "the file's name")
    parts = [f"recording = {told} ({recordings})"]
    parts.append(f"label = {names['label']} ({labels})" if "label" in names else "no column names a label")
    if "onset" in names:
        joined = (
            f"{names['onset']} to {names['offset']}"
            if "offset" in names
            else f"{names['onset']} + {names.get('length')}"
        )
        parts.append(f"time = {joined} in {unit}")
    for role in ("present", "annotator", "recording_length"):
        if role in names:
            number = f" ({annotators})" if role == "annotator" else ""
            parts.append(f"{'answer' if role == 'present' else role} = {names[role]}{number}")
    left = [name for name in roles.unused if normal(name)[0] not in ASIDE]
    return ", ".join(parts) + (f"; not used: {', '.join(left[:8])}" if left else "")
