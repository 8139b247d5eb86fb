"""What a stranger's words mean: the names of columns, texts as seconds, and answers.

Everybody who reads answers asks here which words say present (1), absent (0) or unsure (NaN), and where in a label's
text they stand; nothing said is None; what cannot be read is ``UNREADABLE``, to be listed and never skipped.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .source import Source, quoted

#: What stands in tables where nothing is known.
MISSING = frozenset(("", "n/a", "na", "nan", "null", "none", "-", "--", "nat", "<na>", "#n/a", "n.a.", "."))
#: Units that a column's name may end with, as seconds; samples and frames need a rate.
UNITS = {
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), 1.0),
    **dict.fromkeys(("ms", "msec", "msecs", "millis", "millisecond", "milliseconds"), 1e-3),
    **dict.fromkeys(("us", "µs", "usec", "microsecond", "microseconds"), 1e-6),
    **dict.fromkeys(("ns", "nanoseconds"), 1e-9),
    **dict.fromkeys(("min", "mins", "minute", "minutes"), 60.0),
    **dict.fromkeys(("h", "hr", "hour", "hours"), 3600.0),
    **dict.fromkeys(("sample", "samples", "samp", "frame", "frames"), np.nan),
}
_CLOCK = re.compile(r"^(?:(\d+):)?(\d{1,3}):(\d{1,2}(?:[.,]\d+)?)$")
_DATE = re.compile(r"^(?:\d{4}[-/]\d{1,2}[-/]\d{1,2}|\d{1,2}/\d{1,2}/\d{4})[T ]\d{1,2}:\d{2}")

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
    deployment deployment_id itemid chunk chunk_id snippet snippet_id
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
        inicio início start_in time timestamp arrival_time pick_time
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
        espèce especie étiquette etiqueta bezeichnung soort choice value text sound name section species_id class_id
    """,
    "annotator": """
        annotator annotator_id annotator_name annotatorid annotated_by rater rater_id rater_name labeler labeller
        labeler_id user user_id user_name username worker worker_id coder coder_id observer observer_id expert
        expert_id analyst completed_by created_by reviewer reviewer_id listener listener_id scorer scored_by person
        initials anotador annotateur beobachter volunteer volunteer_id volunteer_name participant participant_id reader
        reader_id coder_name citizen citizen_scientist scorer_id labeled_by labelled_by
    """,
    "confidence": "confidence score probability prob conf likelihood certainty",
    "recording_length": """
        recording_length recording_duration file_duration file_length audio_duration audio_length audio_len
        clip_duration clip_length video_duration video_length media_duration total_length total_duration
        soundfile_duration track_duration record_duration
    """,
    "annotated": "annotated",
    "epoch": "epoch epoch_number epoch_no epoch_num epoch_index epoch_id epochs epoche époque minute minute_number",
    "present": """
        present presence answer answers response is_present is_correct correct detected choice vote judgement judgment
        verdict annotation
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
_KNOWN = {name for words in _WORDS.values() for name in words}
TIER = {name: k for k in (3, 2, 1, 0) for name in _TIERS[k].split()}
# Columns that are never the recording nor the label, whatever is in them.
_ASIDE_NAMES = """
    notes note comment comments remark remarks memo split subset fold set partition site location station date day
    month year hour channel channels view selection stim_file stimulus response_time quality snr latitude longitude lat
    lon sex age version created_at updated_at updated modifiers hed sample channel_id hydrophone weather comment_start
    comment_stop test_status behavior_type behavioral_category is_box weak
"""
ASIDE = frozenset(_ASIDE_NAMES.split())
_KNOWN |= ASIDE
# Names that tell a role by how they end: seizure_start, call_end, validated_by; but a file's are the recording's own.
_ENDS = {
    "onset": re.compile(r"^(?!(recording|file|rec|audio|video|media|session|survey)_)\w+_(start|begin|onset)$"),
    "offset": re.compile(
        r"^(?!(recording|file|rec|audio|video|media|session|survey)_)\w+_(end|stop)$|^(?!file|clip|time|sample)\w+_offset$"
    ),
    "label": re.compile(r"(^|_)(species|label|class|taxon)_(\w+_)?(code|name)$|_(species|label|class)$"),
    "annotator": re.compile(r"^(validated|verified|reviewed|checked|identified|confirmed|rated|marked|answered)_by$"),
}
# Columns of answers that may be nothing but 0 and 1; under other names these would be numbers.
BITS = {"presence", "detected", "vote", "verdict"}
# Of these, a place or a day may tell recordings apart if nothing else does.
PLACES = {"site", "location", "station", "date", "day", "hydrophone"}
MEDIA = re.compile(r"\.(wav|flac|mp3|ogg|aiff?|m4a|mp4|avi|mkv|mov|webm|edf|bdf|mseed|sac|x\.wav)$", re.IGNORECASE)
IDLIKE = re.compile(r"(^|_)(id|ids|name|file|key|no|nr|number|num|code|path|url|uuid|index|idx)$")


def normal(name: str) -> tuple[str, str]:
    """A column's name without case, separators and unit; and the unit that it tells, or "".

    >>> normal("Begin Time (s)"), normal("startTime_ms"), normal("class"), normal("sample")
    (('begin_time', 's'), ('start_time', 'ms'), ('class', ''), ('sample', ''))
    """
    text = re.sub(r"\s*[(\[][hms]+(:[hms]+)+[)\]]$", "", name.strip().lstrip("\ufeff"), flags=re.IGNORECASE)
    text = re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", text)
    bracket = re.search(r"[(\[]\s*(?:in\s+)?([a-zµA-Z]+)\.?\s*[)\]]\s*$", text)
    unit = bracket[1].lower() if bracket and bracket[1].lower() in UNITS else ""
    base = re.sub(r"[^\w]+", "_", text[: bracket.start()] if bracket else text).strip("_").lower()
    base = re.sub(r"__+", "_", base)
    head, _, last = base.rpartition("_")
    if head in ("frame", "sample") and last in ("start", "begin", "end", "stop"):
        return last, head
    if base == "t_min":  # beside t_max
        return base, unit
    if head and last in UNITS and (not unit or UNITS[last] != UNITS[last]):
        base, unit = head.removesuffix("_in"), last
    return base, unit


def suited(names: Sequence[str], role: str) -> list[str]:
    """The columns whose names suit a role, best first; seconds go before milliseconds, samples and dates."""
    ranked = []
    for place, name in enumerate(names):
        base, unit = normal(name)
        rank = _WORDS[role].get(base)
        if rank is None and unit:  # "length_s" is a length, and "start_sample" was one word
            rank = _WORDS[role].get(f"{base}_{unit}")
        if rank is None and role in _ENDS and _ENDS[role].search(base) and base not in _KNOWN:
            rank = len(_WORDS[role])
        if rank is not None:
            samples = unit in UNITS and UNITS[unit] != UNITS[unit]
            ranked.append((samples or "datetime" in base, rank, place, name))
    return [name for *_, name in sorted(ranked)]


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
CLEAR = {word for word in WORDS if len(word) > 2 and word.isalpha()} | {"no", "y", "n", "u", "ja", "si"}


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
    after = parts[parts.index("not") + 1] if "not" in parts[:-1] else ""
    if after in ("validated", "reviewed", "checked", "answered"):
        return None
    if after in ("sure", "certain", "clear") or WORDS.get(after) == 1.0:
        return 0.0 if after in WORDS else np.nan
    said = {str(WORDS[part]) for part in parts if part in CLEAR}
    return float(said.pop()) if len(said) == 1 else UNREADABLE


# What a column of answers says at least once; other words of answers may be labels too (none, unknown, x).
_SAID = "yes no true false present absent not_present pos neg positive negative detected ja nein oui non sim não"
_CORE = set(_SAID.split())
_DIGITS = {"0", "1", "0.0", "1.0"}
_MINUS = {"-1", "-1.0"}  # beside 0 and 1 nothing is said; beside 1 alone it is absent
TICKS = {"x", "✓", "✔"}  # beside empty cells these are answers


def is_answers(values: Sequence[Any]) -> bool:
    """Whether a column, whatever its name, holds nothing but answers: 0 and 1, yes and no, and words beside these.

    >>> is_answers(["1", "0", ""]), is_answers(["yes", "?"]), is_answers(["1", "2"]), is_answers(["x", "y"])
    (True, True, False, False)
    """
    if isinstance(values, np.ndarray):
        some = values[values == values] if values.dtype.kind == "f" else values
        return values.dtype.kind in "fiub" and bool((some == 1).any()) and bool(np.isin(some, (0, 1, -1)).all())
    if len(values) > 200 and not is_answers(values[:100]) and any(map(str.strip, values[:100])):
        return False  # nobody holds a set of a million numbers for this
    known = {re.sub(r"\s+", "_", value.strip().lower()) for value in set(values)} - {"", "nan", "na"}
    words = {word for word in known & WORDS.keys() if len(word) > 1 or word in "01?"}
    if len(known) == 1 and known <= TICKS:
        return not all(map(str.strip, values))
    digits = _DIGITS | (_MINUS if known - _MINUS else set())
    if known and (known <= {"y", "n", "u", "?"} or known - {"?", "??"} <= digits):
        return bool(known & (_DIGITS | {"y", "n"}))
    if known & _CORE and words == known:
        return True
    return len(known & _CORE) > 1 and len(known) <= 0.05 * len(values) and is_vocabulary(values, words=True)


def answers_of(values: Sequence[Any]) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """The answers of many texts, infinite where one cannot be read; and where nothing is said."""
    known = {value: answer_of(value) for value in set(values)}
    minus = None if 0.0 in known.values() else 0.0
    known |= {value: minus for value in known if str(value).strip() in _MINUS and 1.0 in known.values()}
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
    clear = known & CLEAR
    if len(known) < len(count):
        share = sum(count[word] for word in known) / count.total()
        return share >= 0.9 and {1.0, 0.0} <= {WORDS[word] for word in clear & WORDS.keys()}
    return bool(known) and (not words or bool(clear))


#: Classes that may say that nothing was there, and those that may say what was looked at.
_NOTHING = re.compile(
    r"^(0|_|#|h#|(?-i:sp)|sil|silence|silent|pause|noise|background|bckg|bkg|bg|nothing|none|nil|empty|absent|negative|neg|"
    r"unlabell?ed|non[ _-]?(seizure|event|speech)|"
    r"no[ _-]?(event|call|label|bird|sound)s?)$",
    re.IGNORECASE,
)
_LOOKED = re.compile(r"^(segment[ _]?viewed|viewed|examined|annotated|reviewed|scored|listened)$", re.IGNORECASE)
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


def doubtful(labels: Iterable[str]) -> tuple[list[str], list[str]]:
    """The classes that may say that nothing was there, and those that may say what was looked at; others beside them.

    >>> doubtful(["SIL", "song"]), doubtful(["dog", "no_dog", "cat"]), doubtful(["spindle", "segmentViewed"])
    ((['SIL'], []), (['no_dog'], []), ([], ['segmentViewed']))
    """
    known = {label.strip() for label in labels} - {""}
    negated = {label for label in known if (match := _NO.match(label)) and {*match.groups()} & known}
    nothing = sorted(negated | {label for label in known if _NOTHING.match(label)})
    looked = sorted(label for label in known if _LOOKED.match(label))
    return ([], []) if known <= {*nothing, *looked} and len(known) < 2 else (nothing, looked)


def texts(values: Any) -> list[str]:
    """A column as texts: numbers as the shortest that read back as the same float64, empty what is missing."""
    if isinstance(values, list):
        return list(values)
    cells: list[Any] = values.tolist()
    if set(map(type, cells)) <= {str}:
        return cells
    return ["" if value is None or value != value else str(value) for value in cells]


def person_of(value: Any) -> str:
    """What an annotator is called: by e-mail, else user name, else number; "" where nobody is named."""
    if isinstance(value, dict):
        value = value.get("email") or value.get("username") or value.get("name") or value.get("id")
    return "" if value is None else str(value)


def is_number(text: str) -> bool:
    """Whether a field holds a finite number."""
    try:
        return bool(np.isfinite(float(text))) and "_" not in text
    except (ValueError, OverflowError):
        return False


def is_whole(value: Any) -> bool:
    """Whether a field holds a whole number, or nothing."""
    try:
        return (isinstance(value, str) and not value.strip()) or bool(value == value and float(value) % 1 == 0)
    except ValueError:
        return False


def kind_of(values: Sequence[Any]) -> str:
    """What a column holds: "number", "clock", "date", "text", or "" where there is nothing in it."""
    if isinstance(values, np.ndarray):
        return {"M": "date", "m": "clock"}.get(values.dtype.kind, "number")
    kinds: Counter[str] = Counter()
    for text in (text for text in map(str.strip, values[:2000]) if text.lower() not in MISSING):
        number = is_number(text) or is_number(text.replace(",", "."))
        kind = "number" if number else "clock" if _CLOCK.match(text) else "date" if _DATE.match(text) else "text"
        kinds[kind] += 1
    return max(kinds, key=lambda kind: kinds[kind]) if kinds else ""


def numbers(source: Source, values: Sequence[Any], places: Sequence[int | str], column: str) -> NDArray[np.float64]:
    """Texts as float64 seconds; empty is NaN; hh:mm:ss is read as such; what is no number is a broken row.

    Rows that hold no number become infinite, so that the check of the times, which knows NaN as "empty", drops them.
    """
    if isinstance(values, np.ndarray):
        return values.astype(np.float64) if values.dtype.kind != "m" else values / np.timedelta64(1, "s")
    quick = _quick(values)
    if quick is not None:
        return quick
    comma = source.delimiter == ";" and kind_of(values) == "number"  # 1,5 in a table that semicolons separate
    found = np.empty(len(values))
    for i, value in enumerate(values):
        text = value.strip("[] \t\r\n")  # of a list of one number, that
        clock, plain = _CLOCK.match(text), text.replace(",", ".") if comma else text
        if clock:
            hours, minutes, seconds = clock.groups()
            found[i] = int(hours or 0) * 3600 + int(minutes) * 60 + float(seconds.replace(",", "."))
            source.clocks.add(column)
        elif text.lower() in MISSING or is_number(plain):
            found[i] = np.nan if text.lower() in MISSING else float(plain)
        else:
            source.fail(places[i], column, f"{quoted(value)} is not a number{_slip(text)}")
            found[i] = np.inf
    return found


def _quick(values: Sequence[str]) -> NDArray[np.float64] | None:
    """The numbers of a column of nothing but numbers and empty fields, all at once; None for any other."""
    together = "".join(values)
    # Python's own float takes "1_0", "nan" and "infinity"; a file's author hardly means them.
    if any(sign in together for sign in "_nN:"):
        return None
    try:
        found = np.array([value or "nan" for value in values] if "" in values else values, dtype=object)
        found = found.astype(np.float64)
    except ValueError:
        return None
    return None if np.isinf(found).any() else found


def _slip(text: str) -> str:
    slips = ((r"\d*,\d*$", "a decimal comma?"), (".*:", "a time of day? times are seconds or hh:mm:ss"),
             ("#", "a spreadsheet error?"))  # fmt: skip
    return next((f"; {words}" for pattern, words in slips if re.match(pattern, text)), "")


_PERSON = re.compile(
    r"^((\w+_)?(annotator|rater|reader|expert|coder|volunteer|participant|scorer|observer|listener|reviewer)|user|person|"
    r"labell?er|judge|vote|ann|r|e)_?([a-z]|\d+)$"
)


def is_person(name: str) -> bool:
    """Whether a column is called after one of several people: rater1, expert_b."""
    return bool(_PERSON.match(normal(name)[0]))


def without_presence(name: str) -> str:
    """The class of a column that is called after it: dog of dog_present and dog_presence."""
    return re.sub(r"(?i)(?<=.)[_ ]presen(t|ce)$", "", name)


def is_lengths(source: Source) -> bool:
    """Whether a file lists recordings and their lengths: names that say so and no events, or a name and a number."""
    rows = [line.replace("\t", ",").replace(";", ",").split(",") for line in source.head]
    if rows and len(rows[0]) == 2 and is_number(rows[0][1]):  # no names: two numbers could be anything
        return all(len(row) == 2 and is_number(row[1]) for row in rows) and not all(is_number(row[0]) for row in rows)
    name, length = length_columns([name for name in source.header if not suited([name], "rate")])
    others = [each for each in source.header if each not in (name, length)]
    if not length or not name or suited(others, "label") or {"actions", "birds"} & source.names:
        return False
    if any(suited([*others, name], role) for role in ("onset", "offset", "present")):
        return False
    at = source.header.index(length)
    body = [row[at].strip().strip('"') for row in rows[1:] if len(row) > at]
    return sum(map(is_number, body)) > 0.5 * len(body)


def length_columns(names: Sequence[str]) -> tuple[str, str]:
    """The columns that hold recordings and their lengths; "" where none does."""
    found = [*suited(names, "recording_length"), *suited(names, "length"), *suited(names, "seconds")]
    length = next((name for name in found if UNITS.get(normal(name)[1], 1.0) == 1.0), "")
    others = [name for name in names if name != length]
    return next(iter(suited(others, "recording") or (others if len(others) == 1 else [])), ""), length
