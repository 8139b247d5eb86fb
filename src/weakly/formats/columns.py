"""Which column of a table is which: by its name and by what is in it, said aloud; refused where it could be another.

The names are tables, so that another name in use is another word here. Names are compared without case, separators and
units: ``Begin Time (s)``, ``beginTime_ms`` and ``begin-time`` are all ``begin_time``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..errors import InvalidInput
from .source import Source, column_of, quoted
from .table import Table
from .times import MISSING, UNITS, kind_of
from .vocabulary import is_vocabulary

#: Names of recordings, from files over ids to people: a column of an earlier line is preferred.
_FILES = """
    recording filename file file_name fname audio_filename audiofilename audio_file audio_file_name audio_path
    audio_name wav wav_file wavfile wav_path wav_name sound_file sound_files soundfile sound_filename media_file
    media_file_name media_path begin_file in_file video_file video_path video_filename video_file_name source_file
    eeg_file edf edf_file path file_path filepath notated_path uri begin_path url audio_url video_url fileid file_id
    datei dateiname fichier nom_fichier archivo nombre_archivo arquivo bestand filnamn 文件名 文件 ファイル名 файл
"""
_IDS = """
    recording_id recording_name recordingid record record_id record_name rec rec_id video video_id video_name videoid
    vid vid_id youtube_id yt_id ytid clip clip_id clip_name clipid audio audio_id track track_id track_name song
    song_id song_name observation_id observation soundscape soundscape_id segment_id media media_id media_name episode
    episode_id trace trace_id trace_name stream item item_id asset_id source utterance_id conversation_id meeting_id
    recordid aufnahme aufnahme_id enregistrement grabacion grabación gravacao gravação opname subject_ids night
    deployment deployment_id
"""
_PEOPLE = """
    subject subject_id subjectid sub participant participant_id patient patient_id patientid session session_id
    sessionid run run_id trial trial_id case case_id animal animal_id proband patientin sujet paciente
"""
_WEAK = "id key uuid name"
_TIERS = (_FILES, _IDS, _PEOPLE, _WEAK)

NAMES: dict[str, str] = {
    "recording": " ".join(_TIERS),
    "onset": """
        onset start start_time starttime begin begin_time begintime event_onset event_start onset_time time_start
        start_timestamp begin_timestamp t_start tstart tmin t_min t0 from from_time start_offset begin_offset
        start_sample begin_sample first xmin start_datetime begin_datetime start_date_time anfang beginn debut début
        inicio início start_in time timestamp
    """,
    "offset": """
        offset end end_time endtime stop stop_time stoptime event_offset event_end offset_time time_end end_timestamp
        stop_timestamp t_end tend tmax t_max t1 to to_time until finish end_sample last xmax end_datetime end_date_time
        ende fin fim einde
    """,
    "length": """
        duration length dur len event_duration event_length segment_duration dauer länge duree durée duracion duración
        duração lengte
    """,
    "label": """
        class_name event_label label label_name class species common_name species_name annotation behavior behaviour
        trial_type stim_type annotation_type event_type event_class event_name event action action_name action_class
        action_label activity activity_name call_type call vocalization vocalisation sound_class sound_event tag tags
        category category_name kind description species_code ebird_code primary_label scientific_name speaker
        speaker_id speaker_name state stage sleep_stage phase label_id labels type target verb code klasse art espece
        espèce especie étiquette etiqueta bezeichnung soort value text sound name
    """,
    "annotator": """
        annotator annotator_id annotator_name annotatorid annotated_by rater rater_id rater_name labeler labeller
        labeler_id user user_id user_name username worker worker_id coder coder_id observer observer_id expert
        expert_id analyst completed_by created_by reviewer reviewer_id listener listener_id scorer scored_by person
        initials anotador annotateur beobachter
    """,
    "confidence": "confidence score probability prob conf likelihood certainty",
    "recording_length": """
        recording_length recording_duration file_duration file_length audio_duration audio_length audio_len
        clip_duration clip_length video_duration video_length media_duration total_length total_duration
        soundfile_duration track_duration record_duration
    """,
    "annotated": "annotated",
    "present": """
        present presence answer answers response is_present detected choice vote judgement judgment verdict annotation
        antwort réponse respuesta
    """,
    "query": "query query_id",
    "seconds": "seconds lead_time",
    "rate": "sample_rate sampling_rate samplerate sampling_frequency fs sr fps frame_rate framerate",
    "origin": """
        recording_start recording_start_time file_start file_start_time recording_datetime file_datetime
        recording_date_time start_of_recording file_start_datetime recording_begin orig_time
    """,
}
ROLES = tuple(NAMES)
_WORDS: dict[str, dict[str, int]] = {
    role: {name: rank for rank, name in enumerate(dict.fromkeys(names.split()))} for role, names in NAMES.items()
}
_TIER = {name: k for k in (3, 2, 1, 0) for name in _TIERS[k].split()}
# Columns that are never the recording nor the label, whatever is in them.
_ASIDE_NAMES = """
    notes note comment comments remark remarks memo split subset fold set partition site location station date day
    month year hour channel channels view selection stim_file stimulus response_time quality snr latitude longitude lat
    lon sex age version created_at updated_at updated modifiers hed sample channel_id hydrophone weather comment_start
    comment_stop test_status behavior_type behavioral_category
"""
_ASIDE = frozenset(_ASIDE_NAMES.split())
# Columns of answers that may be nothing but 0 and 1; under other names these would be numbers.
_BITS = {"presence", "detected", "vote", "verdict"}
# Of these, a place or a day may tell recordings apart if nothing else does.
_PLACES = {"site", "location", "station", "date", "day", "hydrophone"}
_MEDIA = re.compile(r"\.(wav|flac|mp3|ogg|aiff?|m4a|mp4|avi|mkv|mov|webm|edf|bdf|mseed|sac|x\.wav)$", re.IGNORECASE)
_IDLIKE = re.compile(r"(^|_)(id|ids|name|file|key|no|nr|number|num|code|path|url|uuid|index|idx)$")


_CODE = re.compile(r"^[\w.-]*\d[\w.-]*$")


def normal(name: str) -> tuple[str, str]:
    """A column's name without case, separators and unit; and the unit that it tells, or "".

    >>> normal("Begin Time (s)"), normal("startTime_ms"), normal("class"), normal("sample")
    (('begin_time', 's'), ('start_time', 'ms'), ('class', ''), ('sample', ''))
    """
    text = re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", name.strip().lstrip("\ufeff"))
    bracket = re.search(r"[(\[]\s*(?:in\s+)?([a-zµA-Z]+)\.?\s*[)\]]\s*$", text)
    unit = bracket[1].lower() if bracket and bracket[1].lower() in UNITS else ""
    base = re.sub(r"[^\w]+", "_", text[: bracket.start()] if bracket else text).strip("_").lower()
    base = re.sub(r"__+", "_", base)
    head, _, last = base.rpartition("_")
    if head and last in UNITS and (not unit or UNITS[last] != UNITS[last]):
        base, unit = head.removesuffix("_in"), last
    return base, unit


def looks_like_ids(base: str) -> bool:
    """Whether a normalised name is that of an id, a name, a file or a number, and not one that is known to be none."""
    return base not in _ASIDE and bool(_IDLIKE.search(base))


@dataclass
class Roles:
    """Which column plays which part; ``None`` recording means the file's own name."""

    table: Table
    names: dict[str, str] = field(default_factory=dict)
    unused: list[str] = field(default_factory=list)
    parts: list[str] = field(default_factory=list)  # the columns that together name a recording

    def get(self, role: str) -> str | None:
        """The column of a role."""
        return self.names.get(role)

    def unit(self, role: str) -> str:
        """The unit that the name of the role's column tells."""
        return normal(self.names[role])[1] if role in self.names else ""


def suited(names: Sequence[str], role: str) -> list[str]:
    """The columns whose names suit a role, best first; seconds go before milliseconds, samples and dates."""
    ranked = []
    for place, name in enumerate(names):
        base, unit = normal(name)
        rank = _WORDS[role].get(base)
        if rank is None and unit:  # "length_s" is a length, and "start_sample" was one word
            rank = _WORDS[role].get(f"{base}_{unit}")
        if rank is not None:
            samples = unit in UNITS and UNITS[unit] != UNITS[unit]
            ranked.append((samples or "datetime" in base, rank, place, name))
    return [name for *_, name in sorted(ranked)]


def is_events(names: Sequence[str]) -> bool:
    """Whether names alone say that a table has onsets and ends."""
    return bool(suited(names, "onset") or suited(names, "offset")) and bool(
        suited(names, "length") or (suited(names, "onset") and suited(names, "offset"))
    )


def roles_of(table: Table, *, fixed: dict[str, str] | None = None, times: bool = True) -> Roles:
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
    _recording(found, free, kinds)
    _label(found, free, kinds)
    found.unused = [
        name for name in free if kinds[name] == "text" and len(set(table.columns[name])) > 1 and name.strip()
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
        words = normal(name)[0] not in _BITS
        if sure or (not isinstance(values, np.ndarray) and is_vocabulary(values, words=words)):
            found.names["present"] = name
            free.remove(name)
            return


def _codes(values: Sequence[Any]) -> np.ndarray:
    place: dict[Any, int] = {}
    return np.fromiter((place.setdefault(value, len(place)) for value in values), np.int64, len(values))


def _decides(one: np.ndarray, other: np.ndarray) -> bool:
    """Whether each value of one goes with a single value of the other."""
    pairs = np.unique(one * (int(other.max(initial=0)) + 1) + other)
    return len(pairs) == int(one.max(initial=-1)) + 1


def _onsets(found: Roles, role: str = "onset") -> np.ndarray | None:
    name = found.names.get(role)
    if name is None:
        return None
    values = found.table.columns[name]
    if isinstance(values, np.ndarray):
        return values.astype(np.float64) if values.dtype.kind in "fiu" else None
    try:
        return np.array([value or "nan" for value in values], dtype=object).astype(np.float64)
    except ValueError:
        return None


def _recording(found: Roles, free: list[str], kinds: dict[str, str]) -> None:
    table, source = found.table, found.table.source
    if "recording" in found.names or not len(table):
        if "recording" not in found.names:
            named = [name for name in suited(free, "recording") if _TIER[normal(name)[0]] < 3]
            if named:
                found.names["recording"] = named[0]
                free.remove(named[0])
        elif found.names["recording"] == "@file":
            del found.names["recording"]
        return
    candidates = {}
    for name in suited(free, "recording"):
        values = table.columns[name]
        tier = _TIER.get(normal(name)[0], 1)
        distinct = len(set(values))
        if kinds[name] in ("clock", "date") or (kinds[name] == "" and (tier > 1 or (distinct == 1 and "" in values))):
            continue
        if tier == 3 and (distinct == len(table) > 1 or (distinct == 1 and kinds[name] == "number")):
            continue  # a row number
        if (
            normal(name)[0] == "name"
            and "label" not in found.names
            and not suited([n for n in free if n != name], "label")
        ):
            continue
        if any(name in suited(free, role)[:1] for role in ("label",)) and tier > 1:
            continue
        candidates[name] = (tier, values)
    if candidates:
        chosen = _finest(found, candidates)
        if candidates[chosen][0] > 1:
            _begun_anew(found, chosen, [name for name in free if name not in candidates], kinds)
        found.names["recording"] = chosen
        free.remove(chosen)
        return
    # By content: names of sound or video files leave no doubt.
    files = [
        name
        for name in free
        if kinds[name] == "text" and normal(name)[0] not in _ASIDE and _share(table.columns[name], _MEDIA) > 0.9
    ]
    if len(files) == 1:
        found.names["recording"] = files[0]
        free.remove(files[0])
        return
    best = suited(free, "label")[:1]
    ids = [name for name in free if name not in best and _like_ids(found, name, kinds)]
    if "label" not in found.names and not best:
        # one column of words is the label if nothing else could be
        words = [name for name in ids if kinds[name] == "text" and normal(name)[0] not in _PLACES]
        if len(ids) == 1 and words and not (
            _restarts(found, words[0]) or _backwards(found, words[0]) or _are_codes(table.columns[words[0]])
            or _IDLIKE.search(normal(words[0])[0])
        ):  # fmt: skip
            return
    if ids or files:
        name = (files or ids)[0]
        others, n = f", or {quoted(ids[1])}" if len(ids) > 1 else "", len(set(table.columns[name]))
        raise InvalidInput(
            f"{source.name}: no column is known to name the recordings; {quoted(name)} ({n} values){others} "
            f"could: say recording={name} in columns (--columns recording={name}), or recording=@file "
            "if the whole file is one recording"
        )
    if _backwards(found, best[0] if best else None):
        raise InvalidInput(
            f"{source.name}: no column names the recordings and the times go backwards, so there may be several; say "
            "which column it is (--columns recording=NAME), or recording=@file if the whole file is one recording"
        )


def _share(values: Sequence[str], pattern: re.Pattern[str]) -> float:
    some = [value for value in set(values) if value.strip().lower() not in MISSING]
    return sum(bool(pattern.search(value.strip())) for value in some) / len(some) if some else 0.0


def _like_ids(found: Roles, name: str, kinds: dict[str, str]) -> bool:
    """Whether a column could name recordings: several values, not one per row like a row number, not a measurement."""
    base, values = normal(name)[0], found.table.columns[name]
    if base in _PLACES and len(set(values)) > 1:
        return True
    if base in _ASIDE or kinds[name] in ("", "clock", "date") or isinstance(values, np.ndarray):
        return False
    some = set(values)
    if len(some) < 2:
        return False
    if kinds[name] == "number":
        whole = all(_whole(value) for value in some)
        if not whole or len(some) == len(values):
            return False
        return (bool(_IDLIKE.search(base)) and _restarts(found, name)) or _separates(found, name)
    if _IDLIKE.search(base):
        return True
    return _are_codes(values) or _restarts(found, name) or _separates(found, name)


def _whole(text: str) -> bool:
    try:
        return not text.strip() or float(text).is_integer()
    except ValueError:
        return False


def _are_codes(values: Sequence[str]) -> bool:
    """Whether values are like n1, 2024_siteA: each with a digit and without spaces, some of them repeated."""
    some = set(values)
    return all(_CODE.match(value.strip()) for value in some if value.strip()) and 1 < len(some) < len(values)


def _separates(found: Roles, name: str) -> bool:
    """Whether events of one class overlap in the table as a whole, and never those with the same value."""
    onset, end = _onsets(found), _onsets(found, "offset" if "offset" in found.names else "length")
    if onset is None or end is None:
        return False
    end = end if "offset" in found.names else onset + end
    label = suited([n for n in found.table.names if n != name], "label")[:1]
    kind = _codes(found.table.columns[label[0]]) if label else np.zeros(len(onset), np.int64)

    def overlaps(codes: np.ndarray) -> int:
        order = np.lexsort((onset, codes))
        same = np.diff(codes[order]) == 0
        return int((same & (onset[order][1:] < end[order][:-1])).sum())

    values = _codes(found.table.columns[name])
    return overlaps(kind) > 0 == overlaps(kind * (int(values.max(initial=0)) + 1) + values)


def _restarts(found: Roles, name: str) -> bool:
    """Whether the column stands in runs, one per value, and the times begin anew with them."""
    onset, codes = _onsets(found), _codes(found.table.columns[name])
    if onset is None:
        return True
    change = np.flatnonzero(np.diff(codes) != 0) + 1
    return len(change) > 0 and len(change) + 1 == codes.max() + 1 and bool((onset[change] < onset[change - 1]).any())


def _backwards(found: Roles, label: str | None) -> bool:
    """Whether onsets go back in time even within a class (and, where named, an annotator)."""
    onset = _onsets(found)
    if onset is None:
        return False
    names = [name for name in (label, found.names.get("annotator"), found.names.get("present")) if name]
    channel = column_of(found.table.names, "channel", "channels")
    names += [channel] if channel else []
    codes = _codes(list(zip(*(found.table.columns[name] for name in names)))) if names else np.zeros(len(onset), int)
    order = np.argsort(codes, kind="stable")
    same = np.diff(codes[order]) == 0
    return bool((same & (np.diff(onset[order]) < 0)).any())


def _finest(found: Roles, candidates: dict[str, tuple[int, Sequence[str]]]) -> str:
    """The candidate that tells the others; refused where only several together would tell recordings apart."""
    if len(candidates) == 1:
        return next(iter(candidates))
    codes = {name: _codes(values) for name, (_, values) in candidates.items()}
    best = min(tier for tier, _ in candidates.values())
    same = [name for name, (tier, _) in candidates.items() if tier == best]
    first = next((name for name in same if all(_decides(codes[name], codes[other]) for other in same)), same[0])
    joint, parts, onset = codes[first], [first], _onsets(found)
    for other, (tier, values) in candidates.items():
        if other == first or tier == 3 or _decides(joint, codes[other]) or not set(values) - {""}:
            continue
        # The same name beside two others: two recordings if the times begin anew, one with two subjects if they run
        # on; of equals (subject, session) it takes several changes to believe that they do.
        stays = (np.diff(joint) == 0) & (np.diff(codes[other]) != 0)
        anew = onset is None or bool((stays & (np.diff(onset) < 0)).any())
        if anew or (tier == best and stays.sum() < 4):
            parts.append(other)
            joint = _codes(list(zip(joint.tolist(), codes[other].tolist())))
    if len(parts) > 1:
        _refuse_pooling(found, parts)
    return first


def _begun_anew(found: Roles, chosen: str, others: Sequence[str], kinds: dict[str, str]) -> None:
    """Refuse a recording within which times begin anew exactly where another column changes: a visit, a tape."""
    onset = _onsets(found)
    if onset is None:
        return
    codes, labels = _codes(found.table.columns[chosen]), {*suited(others, "label"), *suited(others, "annotator")}
    back = (np.diff(codes) == 0) & (np.diff(onset) < 0)
    for other in others if back.any() else ():
        if kinds[other] not in ("text", "number") or other in labels or normal(other)[0] in _ASIDE - _PLACES:
            continue
        values = _codes(found.table.columns[other])
        change = np.diff(values) != 0
        if (change[back]).all() and change.sum() < 0.5 * len(change):
            _refuse_pooling(found, [chosen, other])


def _refuse_pooling(found: Roles, parts: Sequence[str]) -> None:
    together = " together with ".join(map(quoted, parts))
    raise InvalidInput(
        f"{found.table.source.name}: the recording could be {quoted(parts[0])}, or {together}: "
        f"say --columns recording={'+'.join(parts)}, or --columns recording={parts[0]}"
    )


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
            if kinds[name] == "text" and normal(name)[0] not in _ASIDE and not _IDLIKE.search(normal(name)[0])
            and len(set(found.table.columns[name]) - {""}) > 0
            and (len(set(found.table.columns[name])) < len(found.table) or len(found.table) == 1)
        ]  # fmt: skip
        chosen = left if len(left) == 1 else []
    if chosen:
        found.names["label"] = chosen[0]
        free.remove(chosen[0])


def overlooked(roles: Roles) -> list[str]:
    """The unused columns that may tell recordings apart: ids finer than the recording and coarser than a row.

    Where no column names the recording, any words that are repeated may.
    """
    columns, recording = roles.table.columns, roles.names.get("recording")
    alone = recording is None and not roles.parts and "recording" not in roles.table.source.columns
    found = []
    for name in roles.unused:
        base, many = normal(name)[0], len(set(columns[name]))
        numbered = many == len(columns[name]) > 9  # an id for each row
        if (looks_like_ids(base) and not numbered) or (alone and base not in _ASIDE and many < len(columns[name])):
            known = recording in columns and _decides(_codes(list(columns[recording])), _codes(columns[name]))
            found += [] if known else [name]
    return found


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
    left = [name for name in roles.unused if normal(name)[0] not in _ASIDE]
    return ", ".join(parts) + (f"; not used: {', '.join(left[:8])}" if left else "")
