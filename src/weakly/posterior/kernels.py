r"""The compiled recursion over all timelines of one recording.

Time runs in steps; boundary i lies between steps i - 1 and i. A state is a boundary at which no event is under way,
together with a mask: one bit for every query that an earlier event may have satisfied and a later one still may. From
boundary i the timeline goes on by an empty step to i + 1 or by an event of l steps to i + l; the answers to the queries
that this settles are a factor that stays the same over a *run* of lengths l. :func:`build` finds the reachable masks
and the runs, once for all rates and laws of lengths; everything else (forward, backward with expected counts, samples,
chances of further queries) is a loop over runs.

A query [s, e) is settled at boundary ``due``: no event that starts there or later can satisfy it. Its bit is needed
only after ``since``. Queries of one width and criterion form a class, sorted by start; those that an event covers whole
are all satisfied or all not, so their answers enter as running products, and a long event costs no more than a short.

Numbers are kept in range by powers of SCALE: the true value at boundary i is ``value[:, i] * SCALE ** -power[i]``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..base.compiled import kernel
from ..model.annotator import TIE

SCALE = 1e60
_LOG_SCALE = float(np.log(SCALE))
_TOUCH = 1e-9  # of a step: shorter overlaps are none


class Chain(NamedTuple):
    """What the timelines of a recording weigh, apart from the answers."""

    n: int  # steps
    begin: float  # weight of an event-free beginning
    off: float  # weight of an empty step
    inner: Any  # (L + 1,): weight of an event of l steps that no end cuts
    first: Any  # (L + 1,): of one that begins with the recording
    last: Any  # (L + 1,): of one that the end of the recording cuts
    whole: float  # of one that fills the recording
    shifts: Any  # where in its step an event begins, each as likely as the next


class Questions(NamedTuple):
    """The answered queries of a recording, sorted by class and start; times in steps."""

    stops: Any  # (classes + 1,): the first query of each class
    need: Any  # (classes, L + 1): overlap that an event of l steps needs
    covered: Any  # (classes, L + 1): whether an event of l steps that covers the query satisfies it
    start: Any
    end: Any
    since: Any
    due: Any
    bit: Any  # 0 where no bit is needed
    yes: Any  # chance of the answers if satisfied
    no: Any  # and if not


@kernel
def _first_after(values: Any, low: int, high: int, limit: float) -> int:
    """The first position in low..high whose value exceeds the limit."""
    while low < high:
        middle = (low + high) // 2
        if values[middle] > limit:
            high = middle
        else:
            low = middle + 1
    return low


class Runs(NamedTuple):
    """Where timelines can go from each boundary, and what the answers make of it."""

    masks: Any  # (states,): the reachable ones, 0 first
    first: Any  # (n + 1,): the first run that leaves each boundary
    source: Any  # state
    target: Any  # state
    low: Any  # shortest event of the run in steps; 0: an empty step
    high: Any  # longest
    shift: Any  # which of the shifts, or -1 for all of them
    factor: Any  # chance of the answers that are settled, times the chance of the shift


@kernel
def _longer_table(table: Any) -> Any:
    bigger = np.empty((2 * len(table), table.shape[1]), table.dtype)
    bigger[: len(table)] = table
    return bigger


@kernel
def _longer(values: Any) -> Any:
    bigger = np.empty(2 * len(values), values.dtype)
    bigger[: len(values)] = values
    return bigger


@kernel
def _met(reach: float, need: float) -> bool:
    return reach > _TOUCH and reach >= need * (1 - TIE)


@kernel
def _state(mask: int, masks: Any, table: Any, known: Any) -> Any:
    """The number of a mask, a new one if need be; -1 if there is no room."""
    size = len(table)
    place = (mask * 0x9E3779B1 + (mask >> 17)) % size
    while table[place] >= 0:
        if masks[table[place]] == mask:
            return table[place]
        place = (place + 1) % size
    if known[0] == len(masks):
        return -1
    masks[known[0]] = mask
    table[place] = known[0]
    known[0] += 1
    return table[place]


@kernel
def _as_runs(masks: Any, first: Any, ints: Any, factors: Any) -> Any:
    return Runs(masks, first, ints[:, 0], ints[:, 1], ints[:, 2], ints[:, 3], ints[:, 4], factors)


@kernel
def build(n: int, longest: int, shifts: Any, ask: Questions, room: int) -> Any:
    """The runs of a recording, and 1; or 0 if there are more than ``room`` masks, -1 if too many queries overlap."""
    classes, many = len(ask.stops) - 1, len(shifts)
    masks, known, table = np.zeros(room, np.int64), np.zeros(1, np.int64), np.empty(4 * room, np.int64)
    table[:] = -1
    reached = np.zeros((room, n + 1), np.bool_)
    _state(0, masks, table, known)
    reached[0, 0] = True
    first = np.zeros(n + 1, np.int64)
    ints, factors, size = np.empty((16 * n + 64, 5), np.int32), np.empty(16 * n + 64), 0
    left, n_left = np.empty((64, 2), np.int64), 0
    live, n_live = np.empty((classes, 1 + many), np.int64), 0  # class, first query not yet covered per shift
    whole = np.empty((classes, 2 * many))  # product of the answers of covered queries, if satisfied and if not
    now, before = np.zeros(many), np.zeros(many)  # the factor of what lies to the right of i
    now_bits, bits_before = np.zeros((many, 2), np.int64), np.zeros((many, 2), np.int64)  # set there; met at the left
    widest = 0.0
    for u in shifts:
        widest = max(widest, u)
    for i in range(n):
        states = known[0]
        for state in range(states):  # an empty step
            if not reached[state, i]:
                continue
            factor, kept = 1.0, 0
            for k in range(classes):
                j = _first_after(ask.due, ask.stops[k], ask.stops[k + 1], i)
                while j < ask.stops[k + 1] and (ask.since[j] < i or ask.due[j] == i + 1):
                    held = ask.since[j] < i and (masks[state] & ask.bit[j]) != 0
                    if ask.due[j] == i + 1:
                        factor *= ask.yes[j] if held else ask.no[j]
                    elif held:
                        kept |= ask.bit[j]
                    j += 1
            if factor > 0:
                target = _state(kept, masks, table, known)
                if target < 0:
                    return _as_runs(masks, first, ints, factors), 0
                reached[target, i + 1] = True
                if size == len(ints):
                    ints = _longer_table(ints)
                    factors = _longer(factors)
                ints[size, 0], ints[size, 1], ints[size, 2], ints[size, 3], ints[size, 4] = state, target, 0, 0, -1
                factors[size] = factor
                size += 1
        n_left, n_live = 0, 0
        most = min(longest, n - i)
        for k in range(classes):
            j = _first_after(ask.due, ask.stops[k], ask.stops[k + 1], i)
            while j < ask.stops[k + 1] and ask.start[j] < i + widest - _TOUCH:
                if n_left == 62:
                    return _as_runs(masks, first, ints, factors), -1
                left[n_left, 0], left[n_left, 1] = j, k
                n_left += 1
                j += 1
            if j < ask.stops[k + 1] and min(ask.since[j], ask.due[j] - 1) < i + most:
                live[n_live, 0] = k
                for shift in range(many):
                    live[n_live, 1 + shift] = j
                    whole[n_live, 2 * shift], whole[n_live, 2 * shift + 1] = 1.0, 1.0
                n_live += 1
        begun, due_before = 0, -1
        for l in range(1, most + 2):  # one more, to write the last run
            ip = i + l
            due = 0
            for c in range(n_left):
                due |= (1 << c) if ask.due[left[c, 0]] <= ip else 0
            same = l <= most and due == due_before
            for shift in range(many if l <= most else 0):
                u = shifts[shift]
                a, b = max(0.0, i + u), min(float(n), ip + u)
                factor, bits, met_left = 1.0, 0, 0
                for c in range(n_live):
                    k, j = live[c, 0], live[c, 1 + shift]
                    stop = ask.stops[k + 1]
                    while j < stop and ask.due[j] <= ip and ask.end[j] <= b + _TOUCH:
                        whole[c, 2 * shift] *= ask.yes[j]
                        whole[c, 2 * shift + 1] *= ask.no[j]
                        j += 1
                    live[c, 1 + shift] = j
                    factor *= whole[c, 2 * shift] if ask.covered[k, l] else whole[c, 2 * shift + 1]
                    while j < stop and (ask.since[j] < ip or ask.due[j] <= ip):
                        met = ask.since[j] < ip and _met(min(b - ask.start[j], ask.end[j] - a), ask.need[k, l])
                        if ask.due[j] <= ip:
                            factor *= ask.yes[j] if met else ask.no[j]
                        elif met:
                            bits |= ask.bit[j]
                            factor *= 0.0 if ask.yes[j] == 0 else 1.0
                        j += 1
                for c in range(n_left):
                    j = left[c, 0]
                    if _met(min(b - ask.start[j], ask.end[j] - a), ask.need[left[c, 1], l]):
                        met_left |= 1 << c
                now[shift], now_bits[shift, 0], now_bits[shift, 1] = factor, bits, met_left
                same &= factor == before[shift] and bits == bits_before[shift, 0] and met_left == bits_before[shift, 1]
            if same:
                continue
            if begun > 0:  # write the run that ends here
                alike = True
                for shift in range(1, many):
                    alike &= before[shift] == before[0]
                    alike &= bits_before[shift, 0] == bits_before[0, 0] and bits_before[shift, 1] == bits_before[0, 1]
                for shift in range(1 if alike else many):
                    base = before[shift] * (1.0 if alike else 1.0 / many)
                    met_left = bits_before[shift, 1]
                    for state in range(states if base > 0 else 0):
                        if not reached[state, i]:
                            continue
                        factor, kept = base, bits_before[shift, 0]
                        for c in range(n_left):
                            j = left[c, 0]
                            held = (met_left >> c) & 1 or (ask.since[j] < i and (masks[state] & ask.bit[j]) != 0)
                            if (due_before >> c) & 1:
                                factor *= ask.yes[j] if held else ask.no[j]
                            elif held:
                                kept |= ask.bit[j]
                                factor *= 0.0 if ask.yes[j] == 0 else 1.0
                        if factor <= 0:
                            continue
                        target = _state(kept, masks, table, known)
                        if target < 0:
                            return _as_runs(masks, first, ints, factors), 0
                        for length in range(begun, l):
                            reached[target, i + length] = True
                        if size == len(ints):
                            ints = _longer_table(ints)
                            factors = _longer(factors)
                        ints[size, 0], ints[size, 1], ints[size, 2], ints[size, 3] = state, target, begun, l - 1
                        ints[size, 4] = -1 if alike else shift
                        factors[size] = factor
                        size += 1
            begun, due_before = l, due
            before[:] = now
            bits_before[:] = now_bits
        first[i + 1] = size
    return _as_runs(masks[: known[0]], first, ints[:size].copy(), factors[:size].copy()), 1


@kernel
def _weigh(chain: Chain, i: int) -> Any:
    """Weights by length of the events that start at boundary i and end before the recording, and of the cut one."""
    inner = chain.first if i == 0 else chain.inner
    l = chain.n - i
    if l >= len(chain.inner):
        return inner, 0.0
    return inner, chain.whole if i == 0 else chain.last[l]


@kernel
def forward(chain: Chain, runs: Runs) -> Any:
    """Value and power per boundary, the log-likelihood, and the last boundary that a timeline reached."""
    n, longest, states = chain.n, len(chain.inner) - 1, len(runs.masks)
    value, power = np.zeros((states, n + 1)), np.zeros(n + 1, np.int64)
    value[0, 0] = chain.begin
    now, reached = 0, 0
    for i in range(n):
        top = 0.0
        for state in range(states):
            top = max(top, value[state, i])
        if 0 < top < 1 / SCALE:
            now += 1
            for state in range(states):
                for later in range(i, min(n, i + longest) + 1):
                    value[state, later] *= SCALE
        power[i] = now
        if top <= 0:
            continue
        reached = i
        inner, cut = _weigh(chain, i)
        for t in range(runs.first[i], runs.first[i + 1]):
            held, target, high = value[runs.source[t], i] * runs.factor[t], runs.target[t], runs.high[t]
            if high == 0:
                value[target, i + 1] += held * chain.off
                continue
            if high == n - i:
                value[target, n] += held * cut
                high -= 1
            for l in range(runs.low[t], high + 1):
                value[target, i + l] += held * inner[l]
    power[n] = now
    total = value[0, n]
    log_likelihood = np.log(total) - now * _LOG_SCALE if total > 0 else -np.inf
    return value, power, log_likelihood, n if total > 0 else reached


@kernel
def backward(chain: Chain, runs: Runs, value: Any, power: Any, log_likelihood: float) -> Any:
    """Backward value and power, P(active) per step, empty steps, and events by kind (inner, first, last) and length.

    Events that fill the recording stand in row 1 at length n.
    """
    n, longest, states = chain.n, len(chain.inner) - 1, len(runs.masks)
    back, rise = np.zeros((states, n + 1)), np.zeros(n + 1, np.int64)
    active, events = np.zeros(n + 1), np.zeros((3, longest + 1))
    back[0, n] = 1.0
    empty, now = 0.0, 0
    for i in range(n - 1, -1, -1):
        rise[i] = now
        inner, cut = _weigh(chain, i)
        # In two factors: one alone could leave the range of floating point.
        half = np.exp(-0.5 * ((power[i] + now) * _LOG_SCALE + log_likelihood))
        kind = 1 if i == 0 else 0
        for t in range(runs.first[i], runs.first[i + 1]):
            source, target, high = runs.source[t], runs.target[t], runs.high[t]
            held = value[source, i] * half
            share = held * half * runs.factor[t]
            if high == 0:
                back[source, i] += runs.factor[t] * chain.off * back[target, i + 1]
                empty += share * chain.off * back[target, i + 1]
                continue
            total = 0.0
            if high == n - i:
                total += cut * back[target, n]
                active[n] -= share * cut * back[target, n]
                events[1 if i == 0 else 2, high] += share * cut * back[target, n]
                high -= 1
            if share > 0:
                for l in range(runs.low[t], high + 1):
                    part = inner[l] * back[target, i + l]
                    total += part
                    active[i + l] -= share * part
                    events[kind, l] += share * part
            else:
                for l in range(runs.low[t], high + 1):
                    total += inner[l] * back[target, i + l]
            active[i] += share * total
            back[source, i] += runs.factor[t] * total
        top = 0.0
        for state in range(states):
            top = max(top, back[state, i])
        if 0 < top < 1 / SCALE:
            now += 1
            for later in range(i, min(n, i + longest) + 1):
                rise[later] += 1
                for state in range(states):
                    back[state, later] *= SCALE
    for i in range(1, n):
        active[i] += active[i - 1]
    return back, rise, active[:n], empty, events


@kernel
def draw(chain: Chain, runs: Runs, back: Any, rise: Any, uniform: Any, coin: Any) -> Any:
    """Rows (sample, first step, steps, shift) of sampled timelines in order of time; ``uniform`` is (samples, steps).

    All samples go through the boundaries together. ``coin`` holds shifts for events whose shift does not matter.
    """
    n, samples, states = chain.n, len(uniform), len(runs.masks)
    head, following = np.empty((states, n + 1), np.int64), np.empty(samples, np.int64)
    head[:, :] = -1
    following[:] = -1
    for sample in range(samples):
        following[sample] = head[0, 0]
        head[0, 0] = sample
    rows, size = np.empty((1024, 4), np.int64), 0
    most = 0
    for i in range(n):
        most = max(most, runs.first[i + 1] - runs.first[i])
    summed, chosen = np.empty(most * len(chain.inner)), np.empty((most * len(chain.inner), 2), np.int64)
    for i in range(n):
        inner, cut = _weigh(chain, i)
        for state in range(states):
            if head[state, i] < 0:
                continue
            total, many = 0.0, 0
            for t in range(runs.first[i], runs.first[i + 1]):
                if runs.source[t] != state:
                    continue
                for l in range(runs.low[t], runs.high[t] + 1):
                    ip = i + max(1, l)
                    weight = chain.off if l == 0 else cut if ip == n else inner[l]
                    part = runs.factor[t] * weight * back[runs.target[t], ip]
                    if rise[ip] != rise[i]:
                        part *= SCALE ** float(rise[i] - rise[ip])
                    total += part
                    summed[many], chosen[many, 0], chosen[many, 1] = total, t, l
                    many += 1
            sample = head[state, i]
            while sample >= 0:
                after = following[sample]
                place = min(many - 1, _first_after(summed, 0, many, uniform[sample, i] * total))
                t, l = chosen[place, 0], chosen[place, 1]
                ip = i + max(1, l)
                if l > 0:
                    if size == len(rows):
                        rows = _longer_table(rows)
                    rows[size, 0], rows[size, 1], rows[size, 2] = sample, i, l
                    rows[size, 3] = runs.shift[t] if runs.shift[t] >= 0 else coin[sample, i]
                    size += 1
                following[sample] = head[runs.target[t], ip]
                head[runs.target[t], ip] = sample
                sample = after
    return rows[:size]


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
    chance = np.zeros(len(further.start))
    free = np.empty((len(chain.shifts), longest + 1))  # 1 where an event does not satisfy the query
    for k in range(len(further.stops) - 1):
        for j in range(further.stops[k], further.stops[k + 1]):
            since, due = further.since[j], further.due[j]
            begin = max(0, min(since, due - 1) - longest + 1)
            again = np.zeros((states, max(0, due - since)))  # at since + 1 .. due - 1, in the power of ``begin``
            for i in range(begin, due):
                inner, cut = _weigh(chain, i)
                for shift in range(len(chain.shifts)):
                    u = chain.shifts[shift]
                    a = max(0.0, i + u)
                    for l in range(1, min(longest, n - i) + 1):
                        b = min(float(n), i + l + u)
                        met = _met(min(b - further.start[j], further.end[j] - a), further.need[k, l])
                        free[shift, l] = 0.0 if met else 1.0
                scaled = SCALE ** float(power[begin] - power[i])
                for t in range(runs.first[i], runs.first[i + 1]):
                    source, target = runs.source[t], runs.target[t]
                    held = value[source, i] * scaled if i <= since else again[source, i - since - 1]
                    held *= runs.factor[t]
                    if held == 0:
                        continue
                    for l in range(runs.low[t], runs.high[t] + 1):
                        ip = i + max(1, l)
                        if ip < due and ip <= since:
                            continue
                        weight = chain.off if l == 0 else cut if ip == n else inner[l]
                        if l > 0:
                            if runs.shift[t] >= 0:
                                weight *= free[runs.shift[t], l]
                            else:
                                open_share = 0.0
                                for shift in range(len(chain.shifts)):
                                    open_share += free[shift, l]
                                weight *= open_share / len(chain.shifts)
                        if weight == 0:
                            continue
                        if ip < due:
                            again[target, ip - since - 1] += held * weight
                        else:
                            half = np.exp(-0.5 * ((power[begin] + rise[ip]) * _LOG_SCALE + log_likelihood))
                            chance[j] += (held * half) * (weight * back[target, ip] * half)
    return chance
