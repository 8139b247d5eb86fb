"""`weakly label --measure` on simulated people: who gets a card, and does it cover what it claims.

    python benchmarks/measure_coverage.py [people] [items] [seed] [kind ...]

Those who do not listen (NOBODY) should get no card. Those who do (PEOPLE) have guesses and lapses of up to 15 % each; a
card covers if the interval of their law is among those it names and holds the truth (of `either` both numbers).
Everything goes through the experiment itself: its items, catch trials, repeats and card. `catch` compares the width of
the interval with and without catch trials, at as many items.
"""

import sys
from types import SimpleNamespace

import numpy as np

from weakly.apps.label.measurement import (
    FRACTIONS,
    AnnotatorProfile,
    Measurement,
    card_of,
    event_lengths,
    heard_event,
    posterior_of,
    usual_length,
)
from weakly.apps.label.session import Item
from weakly.methods.base import Recording

NOBODY = ("coin", "biased", "alternating", "present", "absent", "sticky", "early")
PEOPLE = ("share", "seconds", "either", "drift", "tiring")
#: Who fits no law: a coin from the middle on, keys in runs of 20, who notices only seven events of ten, who begins as a
#: coin and learns, two people in turn on one link (covered is the mean of the two), always unsure.
ODD = ("asleep", "runs", "loud", "learns", "two", "unsure")


def world(seed=0):
    """Recordings like the neutral set: events of 0.4 to 1.2 s, far apart."""
    rng, found = np.random.default_rng(seed), {}
    for k in range(3):
        starts = 3 + 7 * np.arange(8) + rng.uniform(0, 2, 8)
        events = np.column_stack((starts, starts + rng.uniform(0.4, 1.2, 8)))
        found[f"r{k}"] = Recording(f"r{k}", 62.0, path=None, events=events)
    return found


class Person:
    """Answers items; ``truth`` are the mean share and the mean seconds that they need."""

    def __init__(self, kind, rng):
        self.kind, self.rng, self.last = kind, rng, None
        self.guess, self.lapse = rng.uniform(0, 0.15, 2)
        self.share = rng.uniform(0.15, 0.85)
        change = rng.uniform(0.5, 1.0)  # the length of events at which seconds and share change places
        self.seconds = self.share * change if kind == "either" else rng.uniform(0.2, 0.7)
        width = min(rng.uniform(0.03, 0.2), 0.45 * np.sqrt(self.share * (1 - self.share)))
        self.total = self.share * (1 - self.share) / width**2 - 1
        self.wide = rng.uniform(0.03, 0.3)
        self.moves = rng.choice([-1, 1]) * rng.uniform(0.05, 0.2)
        self.other, self.count = 1 - self.share, 0  # what a second person needs; answers so far

    def says(self, done, h, length):
        """1 or 0, ``done`` (0 to 1) of the way, at this fraction of an event of this length."""
        rng, kind = self.rng, self.kind
        self.count += 1
        if kind == "unsure":
            return np.nan
        if kind == "runs":
            return float((self.count - 1) // 20 % 2 == 0)
        if (kind == "asleep" and done >= 0.5) or (kind == "learns" and rng.random() > 2 * done):
            return float(rng.random() < 0.5)
        if kind in ("coin", "early", "biased"):
            return float(rng.random() < (0.7 if kind == "biased" else 0.5))
        if kind == "sticky":
            self.last = float(rng.random() < 0.5) if self.last is None or rng.random() < 0.3 else self.last
            return self.last
        if kind == "alternating":
            self.last = 1.0 - (self.last or 0.0)
            return self.last
        if kind in ("present", "absent"):
            return float(kind == "present")
        mean = self.other if kind == "two" and self.count % 2 else self.share
        share = rng.beta(mean * self.total, (1 - mean) * self.total)
        share += self.moves * (2 * done - 1) if kind == "drift" else 0.0
        seconds = self.seconds * np.exp(self.wide * rng.standard_normal() - self.wide**2 / 2)
        by_share, by_seconds = h >= share, h * length >= seconds
        is_met = {"seconds": by_seconds, "either": by_share or by_seconds}.get(kind, by_share) and h > 0
        is_met = is_met and not (kind == "loud" and length * 1e4 % 10 < 3)  # three events of ten, always the same
        lapse = 2 * done * self.lapse if kind == "tiring" else self.lapse
        return float(rng.random() < (1 - lapse if is_met else self.guess))


class Desk:
    """As much of a session as an experiment needs."""

    def __init__(self):
        self.items, self.given = {}, {}

    def answer_of(self, annotator, query):
        return self.given.get(query)

    def reached(self, answer):
        return np.nan

    def acts(self, kind):
        return []


def measured(person, items, recordings, name):
    """The card of this person, or why there is none."""
    desk, asks = Desk(), Measurement(recordings, usual_length(recordings), "owl", [name], items)
    while rows := asks.rows(desk, ()):
        row = rows[0]
        fields = ("query", "recording", "onset", "offset", "label", "calibration", "event_fraction", "method")
        item = Item(len(desk.items), *(row[field] for field in fields))
        length, start = heard_event(item, recordings)
        said = person.says(len(desk.items) / items, item.event_fraction, length)
        seconds = 0.15 if person.kind == "early" else start + 1.0
        desk.items[item.query] = item
        desk.given[item.query] = SimpleNamespace(query=item.query, present=said, seconds=seconds)
    return card_of(desk, name, "owl", recordings)


def covers(card, person):
    """Whether a law that the card names is the person's and holds their numbers."""
    mine = person.kind if person.kind in ("seconds", "either") else "share"
    if mine not in card.laws:
        return False
    share = (person.share + person.other) / 2 if person.kind == "two" else person.share
    truth = {"presence_criterion": share, "seconds": person.seconds}
    ends = {word: card.laws[mine][word] for word in truth if card.laws[mine][word] is not None}
    return all(low <= truth[word] <= high for word, (_, low, high) in ends.items())


def catch(people, items, seed):
    """The width of the interval with a fifth of catch trials over that without, of people with a law of shares."""
    lengths, widths = event_lengths(world()), {True: [], False: []}
    for k in range(people):
        for has in widths:
            rng = np.random.default_rng([seed, k])
            person, known = Person("share", rng), posterior_of([], lengths)
            for i in range(items):
                length = float(rng.choice(lengths))
                gain = known.information(FRACTIONS, length)
                h = float(rng.choice(FRACTIONS[gain >= 0.7 * gain.max()]))
                h = float(i % 10 == 4) if has and i % 5 == 4 else h
                known = known.update([h], [person.says(i / items, h, length)], [length])
            low, high = known.of("share").interval()
            widths[has].append(high - low)
    print(f"width with a fifth of catch trials over without: {np.mean(widths[True]) / np.mean(widths[False]):.3f}")


def main(people=200, items=50, seed=31, *kinds):
    recordings = world()
    for kind in kinds or (*NOBODY, *PEOPLE, *ODD):
        if kind == "catch":
            catch(people, items, seed)
            continue
        cards, inside, widths, named = 0, [], [], []
        for k in range(people):
            person = Person(kind, np.random.default_rng([seed, k]))
            card = measured(person, items, recordings, f"{kind}{seed}.{k}")
            if isinstance(card, AnnotatorProfile):
                cards += 1
                inside.append(covers(card, person))
                named.append(len(card.laws))
                width = card.presence_criterion_high, card.presence_criterion_low
                widths += [] if None in width else [width[0] - width[1]]
        more = (
            f"  covers {np.mean(inside):.3f}  laws named {np.mean(named):.2f}" if kind not in NOBODY and cards else ""
        )
        more += f"  width {np.mean(widths):.3f}" if widths else ""
        print(f"{kind:12s} cards {cards} of {people}{more}", flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:4]), *sys.argv[4:])
