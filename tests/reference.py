"""The definitions as slow loops, no cleverness: what every fast path must agree with. Nothing here is the package's.

Who answers is plain data: a criterion (a number), a rule (a tuple such as ``("seconds", 0.25)`` or
``("either", rule, rule)``), or people, a dict with ``criterion`` (a number or a function, the cdf of their law),
``guess``, ``lapse``, ``flip`` and ``votes`` (j, k).
"""

import itertools
import math

from numpy.polynomial.legendre import leggauss

NEAR = 1e-9  # an overlap shorter than this share of a segment is none
TIE = 1e-9  # an event fraction this much below the criterion satisfies it


def segments(length, width, phase=0.0, *, hop=None, edge="truncate"):
    """Nominal (start, end) of every segment or window that is asked, in order: from the last start at or before 0 to
    the first window that reaches the end."""
    hop = width if hop is None else hop
    left = phase
    while left > NEAR * hop:
        left -= hop
    left = 0.0 if abs(left) <= NEAR * hop else left
    found = []
    k = 0
    while True:
        a = left + k * hop
        whole = a >= -NEAR * width and a + width <= length + NEAR * width
        if edge != "inside" or whole:
            found.append((a, a + width))
        if a + width >= length - NEAR * hop:
            return found
        k += 1


def shared(event, segment):
    return max(0.0, min(event[1], segment[1]) - max(event[0], segment[0]))


def counted(segment, length, edge="truncate"):
    """The part of a segment that counts."""
    return segment if edge == "infinite" else (max(segment[0], 0.0), min(segment[1], length))


def meets(event, segment):
    return shared(event, segment) > NEAR * (segment[1] - segment[0])


def fraction(event, segment):
    return min(1.0, shared(event, segment) / (event[1] - event[0])) if meets(event, segment) else 0.0


def at_least(value, least):
    return value >= least * (1 - TIE)


def satisfies(event, segment, rule):
    """Whether this event alone makes the segment present, for a criterion or a rule."""
    if not meets(event, segment):
        return False
    if isinstance(rule, (int, float)):
        rule = ("fraction", rule)
    kind, *values = rule
    x, d, w = shared(event, segment), event[1] - event[0], segment[1] - segment[0]
    if kind == "either":
        return any(satisfies(event, segment, each) for each in values)
    if kind == "margin":  # reaches so far in from its side of the segment, wherever it lies
        return at_least(event[1] - segment[0], values[0]) and at_least(segment[1] - event[0], values[0])
    share = {"any": 0.0, "fraction": d, "seconds": 1.0, "coverage": w, "shorter": min(d, w)}[kind]
    return at_least(x, share * (values[0] if values else 0.0))


def binomial_tail(least, chances):
    """P(at least ``least`` of independent things happen)."""
    law = [1.0]
    for p in chances:
        law = [
            (law[k] * (1 - p) if k < len(law) else 0.0) + (law[k - 1] * p if k > 0 else 0.0)
            for k in range(len(law) + 1)
        ]
    return sum(law[least:])


class Panel:
    """People who answer: what each says where their criterion is met and where not, and how many must."""

    def __init__(self, people):
        guess, lapse, flip = (people.get(name, 0.0) for name in ("guess", "lapse", "flip"))
        self.unmet, self.met = (p * (1 - flip) + (1 - p) * flip for p in (guess, 1 - lapse))
        self.need, self.size = people.get("votes") or (1, 1)
        self.criterion = people["criterion"]

    def level(self, h):
        """The chance that a criterion is met at this event fraction."""
        if callable(self.criterion):
            return float(self.criterion(h))
        return 1.0 if at_least(h, self.criterion) else 0.0

    def criteria(self, fractions):
        """All that can tell the panel's criteria apart on these fractions, with its chance: for each voter a function
        whether the criterion is met."""
        levels = sorted({self.level(h) for h in fractions} | {0.0, 1.0})
        cells = [(high, high - low) for low, high in itertools.pairwise(levels) if high > low]
        for choice in itertools.product(cells, repeat=self.size):
            yield math.prod(p for _, p in choice), [top for top, _ in choice]

    def says(self, h, tops):
        """P(the label is present) in a segment with largest fraction h, given the criteria."""
        level = self.level(h)
        return binomial_tail(self.need, [self.met if top <= level + 1e-15 else self.unmet for top in tops])

    def notices(self, h, tops):
        """Whether the criterion of at least one voter is met on an event with this fraction in the segment."""
        level = self.level(h)
        return h > 0 and any(top <= level + 1e-15 for top in tops)


def answers(events, windows, who):
    """Per state of the panel: its chance, P(present) of each window, and per event which windows satisfy the rule."""
    if not isinstance(who, dict):
        noticed = [[satisfies(event, window, who) for window in windows] for event in events]
        yield 1.0, [float(any(row[k] for row in noticed)) for k in range(len(windows))], noticed
        return
    panel = Panel(who)
    own = [[fraction(event, window) for window in windows] for event in events]
    best = [max([0.0] + [row[k] for row in own]) for k in range(len(windows))]
    for chance, tops in panel.criteria({0.0, *best, *(h for row in own for h in row)}):
        yield (
            chance,
            [panel.says(h, tops) for h in best],
            [[panel.notices(h, tops) for h in row] for row in own],
        )


def score(events, length, width, who, *, phase=0.0, edge="truncate", hop=None, votes=None):
    """The measures of one recording on one grid of segments, or of windows with votes, from the definitions."""
    step = width if hop is None else hop
    votes = 1 if votes is None else votes
    windows = segments(length, width, phase, hop=hop, edge=edge)
    cells = windows if hop is None else segments(length, hop, phase)
    over = windows_over(cells, windows, step) if hop is not None else [[k] for k in range(len(cells))]
    need = [max(1, math.ceil(votes * len(few) * step / width - 1e-6)) for few in over]
    total = dict.fromkeys(("tp", "fp", "fp_outside", "n_present", "n_found", "fit"), 0.0)
    fixed = dict.fromkeys(("overlap_time", "event_time_seen", "bound_time"), 0.0)
    n_overlapping = sum(any(meets(event, cell) for event in events) for cell in cells)
    for cell in cells:
        left, right = counted(cell, length, edge)
        inside = sum(shared(event, cell) for event in events if meets(event, cell))
        if inside > 0:
            fixed["overlap_time"] += right - left
            fixed["event_time_seen"] += inside
            fixed["bound_time"] += max(inside, right - left - inside)
    for chance, said, noticed in answers(events, windows, who):
        for cell, few, least in zip(cells, over, need):
            left, right = counted(cell, length, edge)
            time = right - left
            inside = sum(shared(event, cell) for event in events if meets(event, cell))
            p = chance * binomial_tail(least, [said[k] for k in few])
            if inside > 0:
                total["tp"] += p * inside
                total["fp"] += p * (time - inside)
                total["fit"] += p * inside / time + (chance - p) * (1 - inside / time)
            else:
                total["fp_outside"] += p * time
        total["n_present"] += chance * sum(said)
        for row in noticed:
            mine = [k for k, yes in enumerate(row) if yes]
            able = [least for few, least in zip(over, need) if len(set(few) & set(mine)) >= least]
            if able:
                total["n_found"] += chance * binomial_tail(min(able), [said[k] for k in mine])
    listened = sum(b - a for a, b in (counted(window, length, edge) for window in windows))
    return {
        **total,
        **fixed,
        "mean": total["fit"] / n_overlapping if n_overlapping else 0.0,
        "time": listened if edge == "infinite" else length,
        "event_time": sum(b - a for a, b in events),
        "n_events": len(events),
        "n_overlapping": n_overlapping,
        "n_segments": len(windows),
        "listened": listened,
        "n_meeting": float(n_overlapping > 0),
    }


def windows_over(cells, windows, hop):
    return [
        [k for k, (a, b) in enumerate(windows) if a <= cell[0] + NEAR * hop and b >= cell[1] - NEAR * hop]
        for cell in cells
    ]


def bends(events, length, width, who, hop=None):
    """The phases at which the score of a grid bends or jumps."""
    period = width if hop is None else hop
    points = [0.0, length, length - width]
    for a, b in events:
        d = b - a
        needs = [0.0]
        if isinstance(who, (int, float)):
            needs.append(who * d)
        elif isinstance(who, dict) and not callable(who["criterion"]):
            needs.append(who["criterion"] * d)
        elif isinstance(who, tuple):
            needs += [x for rule in ([who] if who[0] != "either" else who[1:]) for x in required(rule, d, width)]
        for x in needs:
            points += [a + x, b - x, a - width + x, b - width + x]
        middle = (a + b - width) / 2  # equal parts of the event in two segments
        points += [middle, middle + period / 2]
    for (a, b), (c, d) in itertools.permutations(events, 2):  # where the largest fraction changes hands
        points.append((b * (d - c) + (c - width) * (b - a)) / ((d - c) + (b - a)))
    cuts = {0.0, period} | {min(period, max(0.0, x - math.floor(x / period) * period)) for x in points}
    return sorted(cuts)


def required(rule, d, w):
    kind, *values = rule
    share = {"any": 0.0, "fraction": d, "seconds": 1.0, "coverage": w, "shorter": min(d, w), "margin": 1.0}[kind]
    return [share * (values[0] if values else 0.0)]


def expected(events, length, width, who, *, edge="truncate", hop=None, votes=None, nodes=8):
    """The expectation of :func:`score` over a uniform phase: Gauss-Legendre between the phases where it bends.

    Times of a criterion are linear in between, those of a Beta law with whole parameters polynomial, so few points are
    exact; the means per segment divide by cut widths, which they integrate to rounding unless a segment is cut to
    almost nothing.
    """
    period = width if hop is None else hop
    points, weights = leggauss(nodes)
    total: dict[str, float] = {}
    for low, high in itertools.pairwise(bends(events, length, width, who, hop)):
        if high - low > 1e-13 * period:
            for x, weight in zip(points, weights):
                at = low + (high - low) * (x + 1) / 2
                found = score(events, length, width, who, phase=at, edge=edge, hop=hop, votes=votes)
                for name, value in found.items():
                    total[name] = total.get(name, 0.0) + value * weight * (high - low) / 2 / period
    return total
