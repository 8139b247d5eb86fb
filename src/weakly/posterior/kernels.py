r"""The compiled recursion over all timelines of one recording.

Time runs in steps; boundary i lies between steps i - 1 and i. A state is a boundary at which no event is under way,
together with a mask: one bit for every query that an earlier event may have satisfied and a later one still may. From
boundary i the timeline goes on by an empty step to i + 1 or by an event of l steps to i + l; the answers to the queries
that this settles are a factor that stays the same over a *run* of lengths l. :mod:`.runs` finds the reachable masks and
the runs, once for all rates and laws of lengths; everything here (forward, backward with expected counts, samples,
chances of further queries) is a loop over runs.

Gaps are of one kind, or long or short, a short one with several stages. The kind stands in a row beside the state: it
decides whether an event starts, and nothing else. Starts are added up over rows before the sum over lengths.

Numbers are kept in range by powers of SCALE: the true value at boundary i is ``value[..., i] * SCALE ** -power[i]``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..base.compiled import kernel
from .runs import Questions, Runs, first_after, longer_table, met_by

SCALE = 1e60
_LOG_SCALE = float(np.log(SCALE))


class Chain(NamedTuple):
    """What the timelines of a recording weigh, apart from the answers.

    Rows: one for each kind of gap, the first ones; where there are several, one more for an event that has just ended.
    """

    n: int  # steps
    begin: Any  # (rows,): weight of a beginning without event
    go: Any  # (rows, kinds + 1): chance of an empty step in each kind of gap; last, that an event starts
    after: int  # the row of an event that has just ended
    inner: Any  # (L + 1,): chance of an event of l steps that no end cuts
    ends: Any  # (L + 1,): of one that begins with the recording, or that its end cuts
    whole: float  # of one that fills the recording
    shifts: Any  # where in its step an event begins, each as likely as the next
    idle: Any  # (n,): evidence for no event in each step; none: no evidence
    loud: Any  # (n,): evidence for an event


@kernel
def _weigh(chain: Chain, i: int, room: Any) -> Any:
    """Weights by length of the events that start at boundary i and end before the recording, and of the cut one."""
    inner, most = chain.ends if i == 0 else chain.inner, chain.n - i
    cut = 0.0
    if most < len(inner):
        cut = chain.whole if i == 0 else chain.ends[most]
    if len(chain.loud) == 0:
        return inner, cut
    part = 1.0
    for l in range(1, min(len(inner) - 1, most) + 1):
        part *= chain.loud[i + l - 1]
        room[l] = inner[l] * part
    return room, cut * part


@kernel
def _leave(chain: Chain, value: Any, at: int, i: int, leave: Any) -> float:
    """Fill in what goes on from boundary i, which ``value`` holds at ``at``, as an empty step of each kind, and last as
    an event; the greatest value."""
    rows, kinds = chain.go.shape[0], chain.go.shape[1] - 1
    idle = 1.0 if len(chain.idle) == 0 else chain.idle[i]
    top = 0.0
    for state in range(value.shape[1]):
        for k in range(kinds + 1):
            leave[k, state] = 0.0
        for row in range(rows):
            held = value[row, state, at]
            if held > 0:
                top = max(top, held)
                for k in range(kinds):
                    leave[k, state] += held * chain.go[row, k] * idle
                leave[kinds, state] += held * chain.go[row, kinds]
    return top


@kernel
def forward(chain: Chain, runs: Runs) -> Any:
    """Value (rows, states, boundaries), power, the log-likelihood, and the last boundary that a timeline reached."""
    n, longest, states = chain.n, len(chain.inner) - 1, len(runs.masks)
    rows, kinds = chain.go.shape[0], chain.go.shape[1] - 1
    value, power = np.zeros((rows, states, n + 1)), np.zeros(n + 1, np.int64)
    room, leave = np.zeros(longest + 1), np.zeros((kinds + 1, states))
    value[:, 0, 0] = chain.begin
    now, reached = 0, 0
    for i in range(n):
        top = _leave(chain, value, i, i, leave)
        if 0 < top < 1 / SCALE:
            now += 1
            for row in range(rows):
                for state in range(states):
                    for later in range(i, min(n, i + longest) + 1):
                        value[row, state, later] *= SCALE
            _leave(chain, value, i, i, leave)
        power[i] = now
        if top <= 0:
            continue
        reached = i
        inner, cut = _weigh(chain, i, room)
        for t in range(runs.first[i], runs.first[i + 1]):
            source, target, high = runs.source[t], runs.target[t], runs.high[t]
            if high == 0:
                for k in range(kinds):
                    value[k, target, i + 1] += leave[k, source] * runs.factor[t]
                continue
            held, ended = leave[kinds, source] * runs.factor[t], value[chain.after, target]
            if high == n - i:
                ended[n] += held * cut
                high -= 1
            for l in range(runs.low[t], high + 1):
                ended[i + l] += held * inner[l]
    power[n] = now
    total = 0.0
    for row in range(rows):
        total += value[row, 0, n]
    log_likelihood = np.log(total) - now * _LOG_SCALE if total > 0 else -np.inf
    return value, power, log_likelihood, n if total > 0 else reached


@kernel
def backward(chain: Chain, runs: Runs, value: Any, power: Any, log_likelihood: float) -> Any:
    """Backward value and power, P(active) per step, moves, and events by kind (inner, at an end) and length.

    Moves are expected numbers as in ``Chain.go``, with that of beginnings in each row as a last column. Events that
    fill the recording stand in row 1 at length n.
    """
    n, longest, states = chain.n, len(chain.inner) - 1, len(runs.masks)
    rows, kinds = chain.go.shape[0], chain.go.shape[1] - 1
    back, rise = np.zeros((rows, states, n + 1)), np.zeros(n + 1, np.int64)
    active, events, moves = np.zeros(n + 1), np.zeros((2, longest + 1)), np.zeros((rows, kinds + 2))
    room, leave, come = np.zeros(longest + 1), np.zeros((kinds + 1, states)), np.zeros((kinds + 1, states))
    back[:, 0, n] = 1.0
    now = 0
    for i in range(n - 1, -1, -1):
        rise[i] = now
        inner, cut = _weigh(chain, i, room)
        _leave(chain, value, i, i, leave)
        come[:, :] = 0.0
        # In two factors: one alone could leave the range of floating point.
        half = np.exp(-0.5 * ((power[i] + now) * _LOG_SCALE + log_likelihood))
        kind = 1 if i == 0 else 0
        for t in range(runs.first[i], runs.first[i + 1]):
            source, target, high = runs.source[t], runs.target[t], runs.high[t]
            if high == 0:
                idle = runs.factor[t] * (1.0 if len(chain.idle) == 0 else chain.idle[i])
                for k in range(kinds):
                    come[k, source] += idle * back[k, target, i + 1]
                continue
            share, ended = leave[kinds, source] * half * half * runs.factor[t], back[chain.after, target]
            total = 0.0
            if high == n - i:
                total += cut * ended[n]
                active[n] -= share * cut * ended[n]
                events[1, high] += share * cut * ended[n]
                high -= 1
            if share > 0:
                for l in range(runs.low[t], high + 1):
                    part = inner[l] * ended[i + l]
                    total += part
                    active[i + l] -= share * part
                    events[kind, l] += share * part
            else:
                for l in range(runs.low[t], high + 1):
                    total += inner[l] * ended[i + l]
            active[i] += share * total
            come[kinds, source] += runs.factor[t] * total
        top = 0.0
        for row in range(rows):
            for state in range(states):
                held, total = value[row, state, i] * half, 0.0
                for k in range(kinds + 1):
                    part = chain.go[row, k] * come[k, state]
                    total += part
                    moves[row, k] += held * (part * half)
                back[row, state, i] = total
                top = max(top, total)
        if i == 0:
            for row in range(rows):
                moves[row, kinds + 1] = value[row, 0, 0] * half * back[row, 0, 0] * half
        if 0 < top < 1 / SCALE:
            now += 1
            for later in range(i, min(n, i + longest) + 1):
                rise[later] += 1
                for row in range(rows):
                    for state in range(states):
                        back[row, state, later] *= SCALE
    for i in range(1, n):
        active[i] += active[i - 1]
    return back, rise, active[:n], moves, events


@kernel
def draw(chain: Chain, runs: Runs, back: Any, rise: Any, uniform: Any, coin: Any) -> Any:
    """Rows (sample, first step, steps, shift) of sampled timelines by time; ``uniform`` is (samples, steps + 1).

    All samples go through the boundaries together. ``coin`` holds shifts for events whose shift does not matter.
    """
    n, samples, states = chain.n, len(uniform), len(runs.masks)
    n_rows, kinds = chain.go.shape[0], chain.go.shape[1] - 1
    head, following = np.empty((n_rows, states, n + 1), np.int64), np.empty(samples, np.int64)
    head[:, :, :] = -1
    following[:] = -1
    begun = 0.0
    for row in range(n_rows):
        begun += chain.begin[row] * back[row, 0, 0]
    for sample in range(samples):
        left, row = uniform[sample, n] * begun, 0
        while row < n_rows - 1 and left >= chain.begin[row] * back[row, 0, 0]:
            left -= chain.begin[row] * back[row, 0, 0]
            row += 1
        following[sample] = head[row, 0, 0]
        head[row, 0, 0] = sample
    drawn, size = np.empty((1024, 4), np.int64), 0
    most = 0
    for i in range(n):
        most = max(most, runs.first[i + 1] - runs.first[i])
    most = most * len(chain.inner) + kinds
    summed, chosen = np.empty(most), np.empty((most, 3), np.int64)
    room = np.zeros(len(chain.inner))
    for i in range(n):
        inner, cut = _weigh(chain, i, room)
        for state in range(states):
            for row in range(n_rows):
                if head[row, state, i] < 0:
                    continue
                total, many = 0.0, 0
                for t in range(runs.first[i], runs.first[i + 1]):
                    if runs.source[t] != state:
                        continue
                    target = runs.target[t]
                    if runs.high[t] == 0:
                        idle = runs.factor[t] * (1.0 if len(chain.idle) == 0 else chain.idle[i])
                        if rise[i + 1] != rise[i]:
                            idle *= SCALE ** float(rise[i] - rise[i + 1])
                        for k in range(kinds):
                            total += chain.go[row, k] * idle * back[k, target, i + 1]
                            summed[many], chosen[many, 0], chosen[many, 1], chosen[many, 2] = total, t, 0, k
                            many += 1
                        continue
                    start = chain.go[row, kinds] * runs.factor[t]
                    for l in range(runs.low[t], runs.high[t] + 1):
                        part = start * (cut if i + l == n else inner[l]) * back[chain.after, target, i + l]
                        if rise[i + l] != rise[i]:
                            part *= SCALE ** float(rise[i] - rise[i + l])
                        total += part
                        summed[many], chosen[many, 0], chosen[many, 1], chosen[many, 2] = total, t, l, chain.after
                        many += 1
                sample = head[row, state, i]
                while sample >= 0:
                    after = following[sample]
                    place = min(many - 1, first_after(summed, 0, many, uniform[sample, i] * total))
                    t, l = chosen[place, 0], chosen[place, 1]
                    ip = i + max(1, l)
                    if l > 0:
                        if size == len(drawn):
                            drawn = longer_table(drawn)
                        drawn[size, 0], drawn[size, 1], drawn[size, 2] = sample, i, l
                        drawn[size, 3] = runs.shift[t] if runs.shift[t] >= 0 else coin[sample, i]
                        size += 1
                    following[sample] = head[chosen[place, 2], runs.target[t], ip]
                    head[chosen[place, 2], runs.target[t], ip] = sample
                    sample = after
    return drawn[:size]


@kernel
def unsatisfied(
    chain: Chain,
    runs: Runs,
    value: Any,
    power: Any,
    back: Any,
    rise: Any,
    log_likelihood: float,
    further: Questions,
) -> Any:
    """The chance that no event satisfies each of some further queries, one query at a time.

    Only timelines near a query change its chance: the forward value is made again from ``since`` on without the events
    that satisfy it, and meets the backward value at ``due``.
    """
    n, longest, states = chain.n, len(chain.inner) - 1, len(runs.masks)
    rows, kinds = chain.go.shape[0], chain.go.shape[1] - 1
    chance = np.zeros(len(further.start))
    free = np.empty((len(chain.shifts), longest + 1))  # 1 where an event does not satisfy the query
    room, leave = np.zeros(longest + 1), np.zeros((kinds + 1, states))
    for k in range(len(further.stops) - 1):
        for j in range(further.stops[k], further.stops[k + 1]):
            since, due = further.since[j], further.due[j]
            begin = max(0, min(since, due - 1) - longest + 1)
            again = np.zeros((rows, states, max(0, due - since)))  # at since + 1 .. due - 1, in the power of ``begin``
            for i in range(begin, due):
                inner, cut = _weigh(chain, i, room)
                for shift in range(len(chain.shifts)):
                    u = chain.shifts[shift]
                    a = max(0.0, i + u)
                    for l in range(1, min(longest, n - i) + 1):
                        b = min(float(n), i + l + u)
                        met = met_by(min(b - further.start[j], further.end[j] - a), further.need[k, l])
                        free[shift, l] = 0.0 if met else 1.0
                scaled = SCALE ** float(power[begin] - power[i]) if i <= since else 1.0
                if i <= since:
                    _leave(chain, value, i, i, leave)
                else:
                    _leave(chain, again, i - since - 1, i, leave)
                for t in range(runs.first[i], runs.first[i + 1]):
                    source, target = runs.source[t], runs.target[t]
                    for l in range(runs.low[t], runs.high[t] + 1):
                        ip = i + max(1, l)
                        if ip < due and ip <= since:
                            continue
                        if l == 0:
                            for kind in range(kinds):
                                held = leave[kind, source] * scaled * runs.factor[t]
                                if ip < due:
                                    again[kind, target, ip - since - 1] += held
                                elif held > 0:
                                    half = np.exp(-0.5 * ((power[begin] + rise[ip]) * _LOG_SCALE + log_likelihood))
                                    chance[j] += (held * half) * (back[kind, target, ip] * half)
                            continue
                        held = leave[kinds, source] * scaled * runs.factor[t]
                        weight = cut if ip == n else inner[l]
                        if runs.shift[t] >= 0:
                            weight *= free[runs.shift[t], l]
                        else:
                            open_share = 0.0
                            for shift in range(len(chain.shifts)):
                                open_share += free[shift, l]
                            weight *= open_share / len(chain.shifts)
                        if weight == 0 or held == 0:
                            continue
                        if ip < due:
                            again[chain.after, target, ip - since - 1] += held * weight
                        else:
                            half = np.exp(-0.5 * ((power[begin] + rise[ip]) * _LOG_SCALE + log_likelihood))
                            chance[j] += (held * half) * (weight * back[chain.after, target, ip] * half)
    return chance
