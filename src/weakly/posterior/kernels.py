r"""The compiled recursion over all timelines of one recording.

Time runs in steps; boundary i lies between steps i - 1 and i. A state is a boundary at which no event is under way,
together with a mask: one bit for every query that an earlier event may have satisfied and a later one still may. From
boundary i the timeline goes on by an empty step to i + 1 or by an event of l steps to i + l; the answers to the queries
that this settles are a factor that stays the same over a *run* of lengths l. :func:`build` finds the reachable masks
and the runs, once for all rates and laws of lengths; the rest is a loop over runs.

A query [s, e) is settled at boundary ``due``: no event that starts there or later can satisfy it. Its bit is needed
only after ``since``. Queries of one width and criterion form a class, sorted by start; those that an event covers whole
are all satisfied or all not, so their answers enter as running products, and a long event costs no more than a short.

Gaps are of one kind, or long or short, a short one with several stages. The kind stands in a row beside the state: it
decides whether an event starts, and nothing else. Starts are added up over rows before the sum over lengths.

Numbers are kept in range by powers of SCALE: the true value at boundary i is ``value[..., i] * SCALE ** -power[i]``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..base.compiled import kernel
from ..model.annotator import TIE

if TYPE_CHECKING:
    from .renewal import Chain

SCALE = 1e60
_LOG_SCALE = float(np.log(SCALE))
_TOUCH = 1e-9  # of a step: shorter overlaps are none


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


class Runs(NamedTuple):
    """Where timelines can go from each boundary, and what the answers make of it."""

    masks: Any  # (states,): the reachable ones, 0 first
    first: Any  # (n + 1,): the first run that leaves each boundary
    source: Any  # state
    target: Any  # state
    low: Any  # shortest event of the run in steps; 0: an empty step
    high: Any  # longest
    shift: Any  # which of the shifts, in increasing order, or -1 for all of them
    factor: Any  # chance of the answers that are settled, times the chance of the shift


@kernel
def first_after(values: Any, low: int, high: int, limit: float) -> int:
    """The first position in low..high whose value exceeds the limit."""
    while low < high:
        middle = (low + high) // 2
        if values[middle] > limit:
            high = middle
        else:
            low = middle + 1
    return low


@kernel
def _extended(table: Any, size: int) -> Any:
    """The table, or one twice as long if it is full."""
    if size < len(table):
        return table
    bigger = np.empty((2 * len(table), table.shape[1]), table.dtype)
    bigger[: len(table)] = table
    return bigger


@kernel
def _write(row: Any, source: int, target: int, low: int, high: int, shift: int, factor: float) -> None:
    row[0], row[1], row[2], row[3], row[4], row[5] = source, target, low, high, shift, factor


@kernel
def met_by(reach: float, need: float) -> bool:
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
def build(n: int, longest: int, shifts: Any, ask: Questions, room: int) -> Any:
    """Masks, the first run of each boundary, a table of runs as in :class:`Runs`, and 1; or 0 if there are more than
    ``room`` masks, -1 if too many queries overlap."""
    classes, many = len(ask.stops) - 1, len(shifts)
    masks, known, table = np.zeros(room, np.int64), np.zeros(1, np.int64), np.empty(4 * room, np.int64)
    table[:] = -1
    reached = np.zeros((room, n + 1), np.bool_)
    _state(0, masks, table, known)
    reached[0, 0] = True
    first = np.zeros(n + 1, np.int64)
    made, size = np.empty((16 * n + 64, 6)), 0
    left, n_left = np.empty((64, 2), np.int64), 0
    live, n_live = np.empty((classes, 1 + many), np.int64), 0  # class, first query not yet covered per shift
    whole = np.empty((classes, 2 * many))  # product of the answers of covered queries, if satisfied and if not
    now, before = np.zeros(many), np.zeros(many)  # the factor of what lies to the right of i
    now_bits, bits_before = np.zeros((many, 2), np.int64), np.zeros((many, 2), np.int64)  # set there; met at the left
    widest = max(0.0, shifts[many - 1])
    for i in range(n):
        states = known[0]
        for state in range(states):  # an empty step
            if not reached[state, i]:
                continue
            factor, kept = 1.0, 0
            for k in range(classes):
                j = first_after(ask.due, ask.stops[k], ask.stops[k + 1], i)
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
                    return masks, first, made, 0
                reached[target, i + 1] = True
                made, size = _extended(made, size), size + 1
                _write(made[size - 1], state, target, 0, 0, -1, factor)
        n_left, n_live, most = 0, 0, min(longest, n - i)
        for k in range(classes):
            j = first_after(ask.due, ask.stops[k], ask.stops[k + 1], i)
            while j < ask.stops[k + 1] and ask.start[j] < i + widest - _TOUCH:
                if n_left == 62:
                    return masks, first, made, -1
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
            ip, due = i + l, 0
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
                        met = ask.since[j] < ip and met_by(min(b - ask.start[j], ask.end[j] - a), ask.need[k, l])
                        if ask.due[j] <= ip:
                            factor *= ask.yes[j] if met else ask.no[j]
                        elif met:
                            bits |= ask.bit[j]
                            factor *= 0.0 if ask.yes[j] == 0 else 1.0
                        j += 1
                for c in range(n_left):
                    j = left[c, 0]
                    if met_by(min(b - ask.start[j], ask.end[j] - a), ask.need[left[c, 1], l]):
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
                            return masks, first, made, 0
                        for length in range(begun, l):
                            reached[target, i + length] = True
                        made, size = _extended(made, size), size + 1
                        _write(made[size - 1], state, target, begun, l - 1, -1 if alike else shift, factor)
            begun, due_before = l, due
            before[:] = now
            bits_before[:] = now_bits
        first[i + 1] = size
    return masks[: known[0]], first, made[:size], 1


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
    """The greatest value; fills in what goes on from boundary i (``value`` at ``at``) by kind, last in events."""
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
    """Backward value and power, P(active) per step, moves (expected numbers as in ``Chain.go``, and of beginnings in a
    last column), and events by kind (inner, at an end) and length; those that fill the recording at an end, length n.
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
            for l in range(runs.low[t], high + 1):
                part = inner[l] * ended[i + l]
                total += part
                active[i + l] -= share * part
                events[kind, l] += share * part
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
    """Rows (sample, first step, steps, shift) of sampled timelines; ``uniform`` is (samples, steps + 1).

    ``coin`` holds shifts for events whose shift does not matter. Empty steps come first among the ways that leave a
    boundary: most numbers are used up by them, and the lengths of events are gone through only where one begins.
    """
    n, states = chain.n, len(runs.masks)
    rows, kinds = chain.go.shape[0], chain.go.shape[1] - 1
    empty, events = np.empty((n, states), np.int64), np.empty(n, np.int64)  # runs: the empty steps, the first event's
    for i in range(n):
        for state in range(states):
            empty[i, state] = -1
        t = runs.first[i]
        while t < runs.first[i + 1] and runs.high[t] == 0:
            empty[i, runs.source[t]] = t
            t += 1
        events[i] = t
    begun = 0.0
    for row in range(rows):
        begun += chain.begin[row] * back[row, 0, 0]
    drawn, size, room = np.empty((1024, 4), np.int64), 0, np.zeros(len(chain.inner))
    for sample in range(len(uniform)):
        left, row, state, i = uniform[sample, n] * begun, 0, 0, 0
        while row < rows - 1 and left >= chain.begin[row] * back[row, 0, 0]:
            left -= chain.begin[row] * back[row, 0, 0]
            row += 1
        while i < n:
            wanted, total, t = uniform[sample, i] * back[row, state, i], 0.0, empty[i, state]
            to, after, steps, run = -1, 0, 0, t
            if t >= 0:
                weight = runs.factor[t] * (1.0 if len(chain.idle) == 0 else chain.idle[i])
                if rise[i + 1] != rise[i]:
                    weight *= SCALE ** float(rise[i] - rise[i + 1])
                for k in range(kinds):
                    part = chain.go[row, k] * weight * back[k, runs.target[t], i + 1]
                    if part > 0:
                        total, to, after = total + part, k, runs.target[t]
                        if total > wanted:
                            break
            if not total > wanted:
                inner, cut = _weigh(chain, i, room)
                for t in range(events[i], runs.first[i + 1]):
                    for l in range(runs.low[t], runs.high[t] + 1 if runs.source[t] == state else 0):
                        weight = runs.factor[t] * (cut if i + l == n else inner[l])
                        if rise[i + l] != rise[i]:
                            weight *= SCALE ** float(rise[i] - rise[i + l])
                        part = chain.go[row, kinds] * weight * back[chain.after, runs.target[t], i + l]
                        if part > 0:
                            total, to, after, steps, run = total + part, chain.after, runs.target[t], l, t
                            if total > wanted:
                                break
                    if total > wanted:
                        break
            if steps > 0:
                drawn = _extended(drawn, size)
                drawn[size, 0], drawn[size, 1], drawn[size, 2] = sample, i, steps
                drawn[size, 3] = runs.shift[run] if runs.shift[run] >= 0 else coin[sample, i]
                size += 1
            row, state, i = to, after, i + max(1, steps)
    return drawn[:size]


@kernel
def unsatisfied(
    chain: Chain, runs: Runs, value: Any, power: Any, back: Any, rise: Any, log_likelihood: float, further: Questions
) -> Any:
    """The chance that no event satisfies each of some further queries, one query at a time.

    Only timelines near a query change its chance: the forward value is made again from ``since`` on without the events
    that satisfy it, and meets the backward value at ``due``.
    """
    n, longest, states = chain.n, len(chain.inner) - 1, len(runs.masks)
    rows, kinds, many = chain.go.shape[0], chain.go.shape[1] - 1, len(chain.shifts)
    chance = np.zeros(len(further.start))
    room, leave = np.zeros(longest + 1), np.zeros((kinds + 1, states))
    free = np.empty((many + 1, longest + 1))  # 1 where an event does not satisfy the query; last, the mean over shifts
    for k in range(len(further.stops) - 1):
        for j in range(further.stops[k], further.stops[k + 1]):
            since, due = further.since[j], further.due[j]
            begin = max(0, min(since, due - 1) - longest + 1)
            again = np.zeros((rows, states, max(0, due - since)))  # at since + 1 .. due - 1, in the power of ``begin``
            for i in range(begin, due):
                inner, cut = _weigh(chain, i, room)
                for l in range(1, min(longest, n - i) + 1):
                    free[many, l] = 0.0
                    for shift in range(many):
                        a, b = max(0.0, i + chain.shifts[shift]), min(float(n), i + l + chain.shifts[shift])
                        met = met_by(min(b - further.start[j], further.end[j] - a), further.need[k, l])
                        free[shift, l] = 0.0 if met else 1.0
                        free[many, l] += free[shift, l]
                    free[many, l] /= many
                scaled = SCALE ** float(power[begin] - power[i]) if i <= since else 1.0
                if i <= since:
                    _leave(chain, value, i, i, leave)
                else:
                    _leave(chain, again, i - since - 1, i, leave)
                for t in range(runs.first[i], runs.first[i + 1]):
                    source, target = runs.source[t], runs.target[t]
                    for l in range(runs.low[t], runs.high[t] + 1):
                        ip, weight = i + max(1, l), 1.0
                        if ip < due and ip <= since:
                            continue
                        if l > 0:
                            weight = (cut if ip == n else inner[l]) * free[runs.shift[t], l]  # -1: the last one
                        for kind in range(kinds if l == 0 else 1):
                            to = kind if l == 0 else chain.after
                            held = leave[kind if l == 0 else kinds, source] * scaled * runs.factor[t]
                            if weight == 0 or held == 0:
                                continue
                            if ip < due:
                                again[to, target, ip - since - 1] += held * weight
                            else:
                                half = np.exp(-0.5 * ((power[begin] + rise[ip]) * _LOG_SCALE + log_likelihood))
                                chance[j] += (held * half) * (weight * back[to, target, ip] * half)
    return chance
