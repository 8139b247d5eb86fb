r"""Which answers timelines settle on their way: the reachable masks and the runs of lengths, compiled.

A query [s, e) is settled at boundary ``due``: no event that starts there or later can satisfy it. Its bit is needed
only after ``since``. Queries of one width and criterion form a class, sorted by start; those that an event covers whole
are all satisfied or all not, so their answers enter as running products, and a long event costs no more than a short.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..base.compiled import kernel
from ..model.annotator import TIE

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
def longer_table(table: Any) -> Any:
    bigger = np.empty((2 * len(table), table.shape[1]), table.dtype)
    bigger[: len(table)] = table
    return bigger


@kernel
def _longer(values: Any) -> Any:
    bigger = np.empty(2 * len(values), values.dtype)
    bigger[: len(values)] = values
    return bigger


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
                    return _as_runs(masks, first, ints, factors), 0
                reached[target, i + 1] = True
                if size == len(ints):
                    ints = longer_table(ints)
                    factors = _longer(factors)
                ints[size, 0], ints[size, 1], ints[size, 2], ints[size, 3], ints[size, 4] = state, target, 0, 0, -1
                factors[size] = factor
                size += 1
        n_left, n_live = 0, 0
        most = min(longest, n - i)
        for k in range(classes):
            j = first_after(ask.due, ask.stops[k], ask.stops[k + 1], i)
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
                            return _as_runs(masks, first, ints, factors), 0
                        for length in range(begun, l):
                            reached[target, i + length] = True
                        if size == len(ints):
                            ints = longer_table(ints)
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
