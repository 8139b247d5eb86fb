"""The five-minute experiment that measures how one person hears, and its card."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import expit, logit, stdtrit

from ...base.errors import InvalidInput
from ...base.results import counted, is_input, percent, to_jsonable, with_ends
from ...io.soundscape import soundscape
from ...methods.base import Recording
from ...model.annotator import Annotator, PresenceRule
from ...model.intervals import merge
from ...posterior.criterion import FRACTIONS, NUMBERS, CriterionPosterior, annotator_of
from ...posterior.law import coin
from ...studies.queries.query_set import COLUMNS, query_id, sense
from .media import kind_of
from .session import Item, LabelingSession

N_ITEMS = 50
_scene = cache(soundscape)  # the same three are asked for twice
DEPENDS = 300.0  # the Bayes factor against answers without attention from which on there is a card
POSSIBLE = 0.05  # how likely a law is at least that a card names
NEAR_BEST = 0.7  # any item that tells as much, as a share of the best, may be asked
REACTION = 0.2  # seconds that nobody needs less of between a sound and an answer to it
EARLY = 0.2  # the share of answers before their sound from which on there is no card


@dataclass(frozen=True)
class AnnotatorProfile:
    """How one person hears, for plans and for people: the card of an experiment.

    ``law`` says what the criterion is about (:data:`weakly.posterior.criterion.LAWS`); the numbers are those of this
    law, ``None`` where it has none. ``laws`` holds every law that the answers leave possible, how likely it is and its
    numbers (middle, low, high). ``bayes_factor``: how much likelier the answers are if they depend on the sound.
    """

    annotator: str
    label: str
    n_items: int
    presence_criterion: float | None
    presence_criterion_low: float | None
    presence_criterion_high: float | None
    spread: float
    spread_low: float
    spread_high: float
    guess_rate: float
    guess_rate_low: float
    guess_rate_high: float
    lapse_rate: float
    lapse_rate_low: float
    lapse_rate_high: float
    seconds_per_query: float | None
    version: int = 2
    law: str = "share"
    laws: dict[str, dict[str, Any]] = field(default_factory=dict)
    seconds: float | None = None
    seconds_low: float | None = None
    seconds_high: float | None = None
    bayes_factor: float | None = None
    n_repeats: int = 0
    n_alike: int = 0
    n_early: int = 0
    n_pictures: int = 0
    n_people: int = 1
    sense: str = "heard"  # or viewed

    @classmethod
    def of(
        cls, posterior: CriterionPosterior, *, annotator: str, label: str, seconds: Iterable[float] = (), **more: Any
    ) -> AnnotatorProfile:
        """The card of a posterior, with the median of the seconds that the answers took."""
        took = [value for value in seconds if value >= 0]
        pace = float(np.median(took)) if took else None
        likely = {name: chance for name, chance in posterior.laws.items() if chance >= POSSIBLE}
        best = max(likely, key=lambda name: likely[name])
        laws: dict[str, dict[str, Any]] = {}
        mine = posterior.of(best)
        for name, chance in likely.items():
            of = posterior.of(name)
            numbers = {"presence_criterion": name != "seconds", "seconds": name != "share"}
            found = {word: (of.quantiles(word, (0.5, 0.025, 0.975)) if has else None) for word, has in numbers.items()}
            laws[name] = {"probability": chance, **found}
        rows = {word: laws[best][word] or (None,) * 3 for word in ("presence_criterion", "seconds")}
        flat = with_ends({**rows, **{word: (mine.expected(word), *mine.interval(word)) for word in NUMBERS[1:]}})
        if best != "seconds":
            flat["presence_criterion"] = mine.expected()
        return cls(annotator, label, posterior.n_items, seconds_per_query=pace, law=best, laws=laws, **flat, **more)

    @classmethod
    def at_large(cls, cards: Sequence[AnnotatorProfile]) -> AnnotatorProfile | None:
        """The law of people like these, if one is possible for all of them: the intervals are those of somebody else's
        numbers, by Student's t on logits of shares and logarithms of seconds; the spread is within and between people.
        """
        alike = {law: math.prod(card.laws[law]["probability"] for card in cards)
                 for law in cards[0].laws if all(law in card.laws for card in cards)}  # fmt: skip
        if not alike:
            return None
        law, n, between = max(alike, key=lambda name: alike[name]), len(cards), 0.0
        rows: dict[str, Any] = {}
        for word, (to, back) in {"presence_criterion": (logit, expit), "seconds": (np.log, np.exp)}.items():
            if cards[0].laws[law][word] is None:
                rows[word] = (None,) * 3
                continue
            values = np.array([getattr(card, word) if card.law == law else card.laws[law][word][0] for card in cards])
            inner = to(np.clip(values, 1e-3, 1 - 1e-3 if to is logit else None))
            away = stdtrit(n - 1, 0.975) * inner.std(ddof=1) * np.sqrt(1 + 1 / n)
            rows[word] = float(values.mean()), *back(inner.mean() + np.array([-away, away])).tolist()
            between = between if to is np.log else values.var(ddof=1)
        for word in NUMBERS[1:]:
            each = [getattr(card, word) for card in cards]
            rows[word] = float(np.mean(each)), min(each), max(each)
        numbers = with_ends(rows)
        within, mean = float(np.mean([card.spread**2 for card in cards])), numbers["presence_criterion"]
        if mean is not None:
            numbers["spread"] = min(math.sqrt(within + between), 0.98 * math.sqrt(mean * (1 - mean)))
        names, items = ", ".join(card.annotator for card in cards), sum(card.n_items for card in cards)
        return cls(f"people like {names}", cards[0].label, items, **numbers, law=law, n_people=n, sense=cards[0].sense,
                   seconds_per_query=None)  # fmt: skip

    @classmethod
    def read(cls, path: str | Path) -> AnnotatorProfile:
        """The card of a file that ``weakly label`` wrote."""
        is_input(path)
        try:
            held = json.loads(Path(path).read_text(encoding="utf-8"))
            if held["version"] != 2:
                version = f"a card of version {held['version']}, and this weakly knows version 2"
                raise InvalidInput(f"{path}: {version}: measure again, weakly label --measure")
            card = cls(**{name: held[name] for name in cls.__dataclass_fields__ if name in held or name != "sense"})
        except FileNotFoundError as error:
            raise InvalidInput(f"{path}: no such file") from error
        except InvalidInput:
            raise
        except (ValueError, TypeError, KeyError) as error:
            raise InvalidInput(f"{path}: is not a card of an annotator, as weakly label --measure writes it") from error
        card.as_annotator()
        return card

    def as_annotator(self) -> Annotator | PresenceRule:
        """Who answers, for plans and simulations: a law of criteria with this mean and spread, and the rates; a rule
        (which has no spread and no rates) where seconds count."""
        if self.seconds is None:
            return annotator_of(**{name: getattr(self, name) for name in NUMBERS})
        rule, share = PresenceRule.seconds(self.seconds), self.presence_criterion
        return rule if share is None else PresenceRule.either(rule, PresenceRule.fraction(share))

    def __str__(self) -> str:
        rates = f"without cause in {percent(self.guess_rate)} and miss what"
        numbers: Any = {word: tuple(getattr(self, f"{word}{end}") for end in ("", "_low", "_high"))
                        for word in ("presence_criterion", "seconds")}  # fmt: skip
        said = _noticed(self.law, numbers)
        if self.n_people > 1:
            return (
                f"{self.annotator} notice an event once {said} is {self.sense} (in brackets: somebody else); they "
                f"say present {rates} they would notice in {percent(self.lapse_rate)} of the answers"
            )
        others = [name for name in self.laws if name != self.law]
        if others:
            chance = percent(self.laws[self.law]["probability"])
            rest = (f"{_noticed(name, self.laws[name])} ({percent(self.laws[name]['probability'])})" for name in others)
            said += f" ({chance} likely; these answers leave possible: {'; '.join(rest)})"
        words = [f"you notice an event once {said} is {self.sense}"]
        if self.seconds_per_query is not None:
            words.append(f"you answer in {self.seconds_per_query:.1f} s")
        words.append(f"you say present {rates} you would notice in {percent(self.lapse_rate)} of the answers")
        if self.n_repeats:
            words.append(f"{self.n_alike} of {self.n_repeats} repeated segments answered alike")
        if self.n_pictures:
            words.append(f"the picture was shown for {counted(self.n_pictures, 'segment')}")
        if self.bayes_factor is not None:
            times = "over a million" if self.bayes_factor > 1e6 else f"{self.bayes_factor:,.0f}"
            work = "listening" if self.sense == "heard" else "looking"
            words.append(f"your answers are {times} times as likely as without {work}")
        return "; ".join(words)

    def to_dict(self) -> dict[str, Any]:
        """All of it, as the file holds it."""
        return {name: to_jsonable(getattr(self, name)) for name in self.__dataclass_fields__} | {"summary": str(self)}


def _noticed(law: str, numbers: dict[str, Any]) -> str:
    """How much of an event a law asks for, with its interval."""
    parts = []
    if law != "share":
        parts.append("{:.2f} s ({:.2f} to {:.2f} s)".format(*numbers["seconds"]))
    if law != "seconds":
        parts.append("{} ({} to {})".format(*map(percent, numbers["presence_criterion"])))
    return " or ".join(parts) + " of it" + (", whichever is less," if law == "either" else "")


@dataclass
class Measurement:
    """What is asked of each person: pieces of known events, in the recordings they come from.

    Of every ten items one holds no event, one a whole event (catch trials, which show who does not listen), and one
    is an earlier item again, each at a place in the ten that nobody can foresee.
    """

    recordings: dict[str, Recording]  # with their events
    segment_length: float
    label: str
    annotators: Sequence[str]
    n_items: int = N_ITEMS

    def __post_init__(self) -> None:
        if not any(one.events is not None and len(one.events) for one in self.recordings.values()):
            raise InvalidInput(f"measuring needs recordings with known events of {self.label!r}; give --events FILE")

    @property
    def wanted(self) -> set[str]:
        """None by name: items of known events always wait for their answer."""
        return set()

    def is_for(self, item: Item, annotator: str) -> bool:
        """Each person has items of their own."""
        return item.method == f"measure {annotator}"

    def rows(self, session: LabelingSession, queries: Iterable[str]) -> list[dict[str, Any]]:
        """The next item of everybody who has answered their last one; none when there are enough."""
        rows: list[dict[str, Any]] = []
        for annotator in self.annotators:
            mine = [item for item in session.items.values() if self.is_for(item, annotator)]
            answers = [
                (float(item.event_fraction or 0.0), one.present, heard_event(item, self.recordings)[0])
                for item in mine if (one := session.answer_of(annotator, item.query)) is not None
            ]  # fmt: skip
            if len(answers) == len(mine) < self.n_items:
                rows.append(self._next(annotator, answers, mine, len(session.items) + len(rows)))
        return rows

    def _next(
        self, annotator: str, answers: list[tuple[float, float, float]], mine: list[Item], number: int
    ) -> dict[str, Any]:
        """The next item of this person: a catch trial, one of the earlier ones, or what tells most about them; the
        ``number``, which no item has, makes its query another one than those of the same segment."""
        count = len(mine)
        name = annotator.encode()
        rng, places = np.random.default_rng([18, count, *name]), np.random.default_rng([19, count // 10, *name])
        nothing, whole, again = places.permutation(10)[:3].tolist()
        parts = [item for item in mine[:-2] if 0 < (item.event_fraction or 0.0) < 1]
        if count % 10 == again and parts:
            item = parts[int(rng.integers(len(parts)))]
            found = item.recording, item.onset, item.offset, float(item.event_fraction or 0.0)
        else:
            fixed = {nothing: 0.0, whole: 1.0}.get(count % 10)
            posterior = posterior_of(answers, event_lengths(self.recordings)) if fixed is None else None
            found = self._segment(rng, fixed, posterior)
        recording, onset, offset, fraction = found
        query, method = query_id(recording, onset, offset, self.label, number), f"measure {annotator}"
        values = (query, recording, onset, offset, self.label, method, 1 + count, number, True, fraction,
                  self.recordings[recording].length)  # fmt: skip
        return dict(zip(COLUMNS, values))

    def _segment(
        self, rng: np.random.Generator, fraction: float | None, posterior: CriterionPosterior | None
    ) -> tuple[str, float, float, float]:
        """A segment with this fraction of an event at random, or (None) with one whose answer tells about the most."""
        pool = [(one, event) for one in self.recordings.values() if one.events is not None for event in one.events]
        for k in rng.permutation(len(pool)).tolist():
            recording, event = pool[k]
            fractions = [0.0 if fraction is None else fraction]
            if posterior is not None:
                gain = posterior.information(FRACTIONS, float(event[1] - event[0]))
                near = rng.permutation(np.flatnonzero(gain >= NEAR_BEST * gain.max()))  # nobody can foresee it
                far = np.argsort(-gain, kind="stable")
                fractions = FRACTIONS[[*near, *far[~np.isin(far, near)]]].tolist()
            left = bool(rng.integers(2))
            for share in fractions:
                for side in (left, not left):
                    segment = segment_of(recording, event, share, self.segment_length, left=side, room=rng.uniform())
                    if segment is not None:
                        return recording.name, *segment, share
        what = "a part of it" if fraction is None else "all of it" if fraction else "nothing of it"
        raise InvalidInput(
            f"no known event of {self.label!r} lets a segment of {self.segment_length:g} s hold {what} and "
            "no other event; give recordings whose events stand further apart, or another --segment-length"
        )


def segment_of(
    recording: Recording, event: Any, fraction: float, width: float, *, left: bool, room: float
) -> tuple[float, float] | None:
    """The segment that holds this fraction of the event, from its start (left) or its end, and no other event; whole
    events move freely. None where the recording has no such segment."""
    assert recording.events is not None
    a, b = float(event[0]), float(event[1])
    inside = fraction * (b - a)
    if fraction >= 1 - 1e-9:
        onset = a - room * max(0.0, width - (b - a))
    else:
        onset = a + inside - width if left else b - inside
    start, end = round(onset, 6), round(onset + width, 6)
    others = recording.events[recording.events[:, 0] != a]
    is_clear = not ((others[:, 0] < end) & (others[:, 1] > start)).any()
    fits = inside <= width * (1 + 1e-9) and start >= 0 and end <= recording.length
    return (start, end) if is_clear and fits else None


def event_lengths(recordings: Mapping[str, Recording]) -> list[float]:
    """The lengths of all known events."""
    return [float(b - a) for one in recordings.values() if one.events is not None for a, b in one.events]


def heard_event(item: Item, recordings: Mapping[str, Recording]) -> tuple[float, float]:
    """How long the known event of an item is, and how far into the segment it begins; NaN and 0 where there is none."""
    one = recordings.get(item.recording)
    if one is None or one.events is None or not len(one.events):
        return math.nan, 0.0
    shared = np.minimum(one.events[:, 1], item.offset) - np.maximum(one.events[:, 0], item.onset)
    a, b = one.events[int(np.argmax(shared))]
    return float(b - a), max(0.0, float(a) - item.onset) if shared.max() > 1e-5 else 0.0


def posterior_of(answers: Sequence[Sequence[float]], lengths: Sequence[float] = ()) -> CriterionPosterior:
    """After answers to items of known event fraction: (event_fraction, present), or also the event's seconds; then
    ``lengths`` are those of all events."""
    columns = np.array(answers, dtype=np.float64).reshape(len(answers), -1).T if len(answers) else np.empty((2, 0))
    return CriterionPosterior.prior(lengths).update(*columns)


def card_of(
    session: LabelingSession, annotator: str, label: str, recordings: Mapping[str, Recording]
) -> AnnotatorProfile | str | None:
    """The card of one person from the items of known event fraction that they answered, or why there is none; None
    without such items. ``recordings`` with their events tell shares from seconds, and who was too early."""
    answers, seconds, given, seen = [], [], [], sense(recordings.values())
    places: dict[tuple[str, float, float], list[float]] = {}
    n_early = 0
    for item in session.items.values():
        one = session.answer_of(annotator, item.query)
        if one is None:
            continue
        seconds.append(one.seconds)
        if item.event_fraction is not None:
            length, start = heard_event(item, recordings)
            given.append(one.query)
            places.setdefault((item.recording, item.onset, item.offset), []).append(one.present)
            path = recordings[item.recording].path if item.recording in recordings else None
            start = 0.0 if path is not None and kind_of(path) == "traces" else start  # all of them is seen at once
            if one.seconds < start + REACTION or session.reached(one) < start:
                n_early += 1
            else:
                answers.append((item.event_fraction, one.present, length))
    if not given:
        return None
    what = "sound" if seen == "heard" else "picture"
    if n_early > max(2, EARLY * len(given)):
        return f"no card: {n_early} of {len(given)} answers came before their {what} could be {seen}"
    lengths = event_lengths(recordings)
    is_known = bool(lengths) and not any(math.isnan(length) for *_, length in answers)
    posterior = posterior_of([one if is_known else one[:2] for one in answers], lengths if is_known else ())
    factor = math.exp(min(posterior.log_evidence - coin(np.array([said for _, said, _ in answers])), 700.0))
    if factor < DEPENDS:
        clearly, more = ("", "") if factor <= 1 else (" clearly enough", "; more items would tell (--items 100)")
        return (
            f"no card: your answers do not depend on the {what}{clearly}; {counted(posterior.n_items, 'sure answer')}, "
            f"Bayes factor {factor:.2g} against answers without attention, and a card needs {DEPENDS:g}{more}"
        )
    pictures = {row.query for row in session.acts("picture") if row.annotator == annotator and row.query in given}
    pairs = [said[k] == said[k - 1] for said in places.values() for k in range(1, len(said))]
    return AnnotatorProfile.of(
        posterior, annotator=annotator, label=label, seconds=seconds, bayes_factor=factor, n_repeats=len(pairs),
        n_alike=sum(pairs), n_early=n_early, n_pictures=len(pictures), sense=seen,
    )  # fmt: skip


def usual_length(recordings: Mapping[str, Recording]) -> float:
    """A segment length that holds nine of ten known events whole, with as much around them."""
    lengths = event_lengths(recordings)
    return float(np.round(max(1.0, 2 * np.quantile(lengths, 0.9)), 1)) if lengths else 2.0


def neutral(folder: Path, *, write: bool = False) -> dict[str, Recording]:
    """The bundled set: three minutes of noise with glides, pulse trains and bands of noise; written where missing."""
    found = {}
    for k in range(3):
        scene = _scene(60, n_events=8, event_length=(0.4, 1.2), snr=12, least_gap=2.5, rng=180 + k)
        path = folder / f"neutral_{k}.wav"
        if write and not path.is_file():
            scene.write(path)
        found[path.name] = Recording(path.name, scene.seconds, path=path, events=merge(scene.events))
    return found
