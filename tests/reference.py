"""The definitions as slow loops, no cleverness: what every fast path must agree with."""

import itertools
import math

NEAR = 1e-9  # an overlap shorter than this share of a segment is none
TIE = 1e-9  # an event fraction this much below the criterion satisfies it


def segments(length, width, phase=0.0, *, hop=None, edge="truncate"):
    """Nominal (start, end) of every segment or window that is asked, in order."""
    hop = width if hop is None else hop
    start = phase % hop
    start = 0.0 if min(start, hop - start) <= NEAR * hop else start - hop
    found = []
    j = -round(width / hop) + 1
    while start + j * hop < length - NEAR * hop:
        left = start + j * hop
        whole = left >= -NEAR * width and left + width <= length + NEAR * width
        if edge != "inside" or whole:
            found.append((left, left + width))
        j += 1
    return found


def shared(event, segment):
    return max(0.0, min(event[1], segment[1]) - max(event[0], segment[0]))


def counted(segment, length, edge="truncate"):
    """The part of a segment that counts."""
    if edge == "infinite":
        return segment
    return max(segment[0], 0.0), min(segment[1], length)


def meets(event, segment):
    return shared(event, segment) > NEAR * (segment[1] - segment[0])


def fraction(event, segment):
    return shared(event, segment) / (event[1] - event[0])


def satisfies(event, segment, criterion=None, rule=None):
    """Whether this event alone makes the segment present."""
    if not meets(event, segment):
        return False
    if criterion is not None:
        return fraction(event, segment) >= criterion * (1 - TIE)
    need = float(rule.required_overlap(event_length=event[1] - event[0], segment_length=segment[1] - segment[0]))
    return min(event[1] - segment[0], segment[1] - event[0]) >= need * (1 - TIE)


def binomial_tail(least, chances):
    """P(at least ``least`` of independent events happen)."""
    law = [1.0]
    for p in chances:
        law = [
            (law[k] * (1 - p) if k < len(law) else 0.0) + (law[k - 1] * p if k > 0 else 0.0)
            for k in range(len(law) + 1)
        ]
    return sum(law[least:])


def score(events, length, width, *, phase=0.0, edge="truncate", criterion=None, rule=None, annotator=None):
    """The measures of one recording on one grid, from the definitions."""
    asked = segments(length, width, phase, edge=edge)
    tp = fp = elsewhere = present = fit = overlap = cover = bound = heard = 0.0
    n_overlapping = 0
    for segment in asked:
        left, right = counted(segment, length, edge)
        time = right - left
        heard += time
        inside = sum(shared(event, segment) for event in events if meets(event, segment))
        if annotator is not None:
            h = max([0.0] + [fraction(event, segment) for event in events if meets(event, segment)])
            p = float(annotator.probability(min(1.0, h)))
        else:
            p = float(any(satisfies(event, segment, criterion, rule) for event in events))
        present += p
        if any(meets(event, segment) for event in events):
            tp += p * inside
            fp += p * (time - inside)
            fit += p * inside / time + (1 - p) * (1 - inside / time)
            overlap += time
            cover += inside
            bound += max(inside, time - inside)
            n_overlapping += 1
        else:
            elsewhere += p * time
    found = 0
    if annotator is None:
        found = sum(any(satisfies(event, segment, criterion, rule) for segment in asked) for event in events)
    return {
        "tp": tp,
        "fp": fp,
        "fp_elsewhere": elsewhere,
        "n_present": present,
        "n_found": found,
        "mean": fit / n_overlapping if n_overlapping else 0.0,
        "fit": fit,
        "time": length,
        "event_time": sum(b - a for a, b in events),
        "n_events": len(events),
        "overlap_time": overlap,
        "cover_time": cover,
        "n_overlapping": n_overlapping,
        "n_segments": len(asked),
        "listened": heard,
        "n_meeting": float(n_overlapping > 0),
        "bound_time": bound,
    }


def score_votes(events, length, width, hop, votes, *, phase=0.0, edge="truncate", criterion=None, low=0.0, high=1.0):
    """The same for overlapping windows: a cell is present if at least ``votes`` of the windows that cover it are."""
    asked = segments(length, width, phase, hop=hop, edge=edge)
    met = [any(satisfies(event, window, criterion) for event in events) for window in asked]
    tp = fp = elsewhere = overlap = 0.0
    for cell in segments(length, hop, phase):
        covering = [k for k, (a, b) in enumerate(asked) if a <= cell[0] + NEAR * hop and b >= cell[1] - NEAR * hop]
        p = binomial_tail(votes, [high if met[k] else low for k in covering])
        left, right = counted(cell, length)
        inside = sum(shared(event, cell) for event in events if meets(event, cell))
        if inside > 0:
            tp += p * inside
            fp += p * (right - left - inside)
            overlap += right - left
        else:
            elsewhere += p * (right - left)
    found = sum(
        binomial_tail(votes, [high for window in asked if satisfies(event, window, criterion)]) for event in events
    )
    heard = sum(min(b, length) - max(a, 0.0) for a, b in asked)
    return {
        "tp": tp,
        "fp": fp,
        "fp_elsewhere": elsewhere,
        "n_found": found,
        "overlap_time": overlap,
        "n_segments": len(asked),
        "listened": heard,
    }


def phases(events, length, period, starts):
    """The phases at which the score of a grid bends or jumps: where a segment's edge meets one of ``starts``."""
    points = {0.0, period}
    for x in [*starts, 0.0, length, *(t for event in events for t in event)]:
        points.add(min(period, max(0.0, x - math.floor(x / period) * period)))
    return sorted(points)


def expected(events, length, width, *, criterion, edge="truncate"):
    """The expectation of :func:`score` over a uniform phase: Gauss-Legendre between the phases where it bends.

    Times are linear in between, so few points are exact; the means per segment divide by cut widths, which 12 points
    integrate to rounding unless a segment is cut to almost nothing.
    """
    from numpy.polynomial.legendre import leggauss

    nodes, weights = leggauss(12)
    starts = [x for a, b in events for x in (a + criterion * (b - a), b - criterion * (b - a))]
    cuts = phases(events, length, width, starts)
    for a, b in events:  # where the longest overlap changes hands
        for c, d in events:
            if a < c:
                h = (b * (d - c) + (c - width) * (b - a)) / ((d - c) + (b - a))
                cuts.append(h - math.floor(h / width) * width)
    cuts = sorted(cuts)
    total: dict[str, float] = {}
    for low, high in itertools.pairwise(cuts):
        if high - low > 1e-13 * width:
            for x, weight in zip(nodes, weights):
                at = low + (high - low) * (x + 1) / 2
                for name, value in score(events, length, width, phase=at, edge=edge, criterion=criterion).items():
                    total[name] = total.get(name, 0.0) + value * weight * (high - low) / 2 / width
    return total
