"""The work to plan: recordings of every class, who answers, at what price; and each way to label it as a row."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from ..base.parallel import in_order, threads
from ..base.results import WORDS, percent, seconds
from ..engine.tally import BASE, RAW, Tally
from ..model.cost import Cost
from ..model.lengths import Lengths
from .criteria import Criteria
from .halving import FIELDS
from .model import B, Floats, Measured, Model, MultiClassModel, R, RecordingModel, SingleEventModel, Sums, depth_of
from .outcome import UNASKED, LabelingDesign, MethodOutcome

T = TypeVar("T")
COMMON = (1.0, 3.0, 5.0, 10.0)  # the segment lengths that people use, in seconds
PER_CELL = (2, 4)  # windows over each moment
#: Two digits that people like, about 7 % apart: lengths are chosen among them.
_ROUND = np.array([*range(10, 20), 20, 22, 24, 25, 26, 28, 30, 32, 35, 38, 40, 42, 45, 48, *range(50, 100, 5)])
_MOST = 120  # lengths of fixed segments that are looked at
_FULL = 8  # windows that are then worked out on all events
_WORTH_THREADS = 20_000  # events from which threads pay
_TOUCHED = 5e6  # leaves that events may meet
_CELLS = 2e6  # hops that events may last, all together: finer windows would take long
#: Events per recording, classes and shares of wrong answers up to which noisy searches are simulated.
_CROWD, _FEW_CLASSES, _NOISE = 8, 3, 0.1
_MANY_CLASSES = 30  # with more of them fewer windows are looked at
_HOPS = 12  # hops of windows that are looked at


def round_lengths(low: float, high: float, most: int) -> Floats:
    """Lengths from low to high with two digits, thinned evenly to at most so many.

    >>> round_lengths(0.9, 1.25, 10).tolist()
    [0.9, 0.95, 1.0, 1.1, 1.2]
    """
    decades = np.arange(np.floor(np.log10(low)) - 1, np.ceil(np.log10(high)) + 1)
    # Powers of ten below one are divided by, as 9e-1 is not 0.9.
    values = np.array([mark * 10.0**k if k >= 0 else mark / 10.0**-k for k in decades for mark in _ROUND])
    values = values[(values >= low * (1 - 1e-9)) & (values <= high * (1 + 1e-9))]
    if values.size > most:
        values = values[np.unique(np.linspace(0, values.size - 1, most).round().astype(int))]
    return values


@dataclass(frozen=True)
class LabelingProblem:
    """Everything that the ways to label are compared on."""

    models: dict[str, Model]
    criteria: Criteria
    cost: Cost
    lengths: Lengths
    scale: float = 1.0  # the whole work over what the models hold

    @property
    def model(self) -> Model:
        """The model of the first class: what all of them share."""
        return next(iter(self.models.values()))

    @property
    def n_classes(self) -> int:
        """How many classes are asked for in one pass."""
        return len(self.models)

    @property
    def n_recordings(self) -> float:
        """Recordings in the whole work."""
        return self.model.count * self.scale

    @property
    def total(self) -> float:
        """Seconds in the whole work."""
        return self.model.time * self.scale

    @property
    def recording_length(self) -> float:
        """The mean length of a recording."""
        return self.model.time / self.model.count

    @cached_property
    def _ground(self) -> Floats:
        """The sums that no design changes, all classes together."""
        part = self.all.measure(LabelingDesign("fixed", self.model.longest), self.criteria)
        return np.asarray(self.all.sums(part)[1].sum(axis=0))

    @property
    def n_events(self) -> float:
        """Events per recording, all classes together, what overlaps as one."""
        return float(self._ground[B["n_events"]]) / self.model.count

    @property
    def event_time(self) -> float:
        """Seconds of event per recording, all classes together."""
        return float(self._ground[B["event_time"]]) / self.model.count

    def only(self, *labels: str) -> LabelingProblem:
        """The same work for some of the classes."""
        return replace(self, models={label: self.models[label] for label in labels})

    @cached_property
    def all(self) -> SingleEventModel | MultiClassModel:
        """All classes at once."""
        if isinstance(self.model, SingleEventModel):
            return self.model
        return MultiClassModel.of([each for each in self.models.values() if isinstance(each, RecordingModel)])

    # --- rows ------------------------------------------------------------------------------------------------------

    def row(self, design: LabelingDesign, *, note: str = "") -> MethodOutcome:
        """One way to label, as it will be asked."""
        if design.method in (*UNASKED, "oracle"):
            return self._limit(design)
        (row,) = self.rows([design])
        return replace(row, note="; ".join(each for each in (note, row.note) if each))

    def rows(self, designs: Iterable[LabelingDesign]) -> list[MethodOutcome]:
        """Several ways of fixed segments or windows, worked out side by side."""
        designs = list(designs)
        return self.rows_of(designs, self._each(self.sums, designs))

    def sums(self, design: LabelingDesign) -> Sums:
        """The sums of one design per class, the seconds heard in its passes, and the error of the wrong time."""
        if design.passes:
            return in_passes([self.only(*labels).sums(own) for labels, own in design.passes])
        if design.method == "bisection":
            level = int(np.ceil(np.log2((design.start_length or 0.0) / (design.segment_length or 1.0)) - 1e-6))
            return self.halved(float(design.segment_length or 0.0), level)[1]
        search = design.method == "boundary"
        if search:
            parts = [model.measure(design, self.criteria) for model in self.models.values()]
            raw, base = (np.stack(each) for each in zip(*(part.sums for part in parts)))
        else:
            parts = [self.all.measure(design, self.criteria)]
            raw, base = self.all.sums(parts[0])
        drawn = getattr(self.model, "drawn", search and not (self.criteria.certain and self._known))
        listened = base[:, B["listened"]]
        # The first segments are heard once for all classes, what is searched for each of them.
        heard = listened.sum() - base[1:, B["time"]].sum() if search else listened[0]
        return raw, base, float(heard), _error(parts[0]) if drawn else 0.0

    @property
    def _known(self) -> bool:
        """Whether the recordings are known, all of them."""
        return isinstance(self.model, RecordingModel) and not self.model.drawn

    def _each(self, function: Callable[[Any], T], items: Iterable[Any]) -> list[T]:
        """The function of every item; on all processors where the recordings are many."""
        if self._ground[B["n_events"]] < _WORTH_THREADS:
            return [function(item) for item in items]
        with threads() as workers:
            return list(in_order(function, [(item,) for item in items], executor=workers))

    def halvings(self, leaves: Iterable[float], known: Mapping[float, Sums] | None = None) -> list[MethodOutcome]:
        """Halving down to each leaf that something can be halved to, from where it is cheapest; of fixed segments of
        that length the sums may be known."""
        leaves = [leaf for leaf in leaves if depth_of(self.model, leaf) > 0]
        made = self._each(lambda leaf: self.halved(leaf, alone=(known or {}).get(leaf)), leaves)
        return self.rows_of([design for design, _ in made], [sums for _, sums in made])

    def halved(self, leaf: float, level: int | None = None, alone: Sums | None = None) -> tuple[LabelingDesign, Sums]:
        """The design and the sums of halving to a leaf, from so many levels above it or from where it is cheapest."""
        alone, depth = alone or self.sums(LabelingDesign("fixed", leaf)), depth_of(self.model, leaf)
        line, errors = self.all.halved(leaf, depth, self.criteria, alone)
        heard, asked = (line[:, :, FIELDS.index(word)] for word in ("listened", "n_queries"))
        if level is None:
            level = 1 + int(np.argmin(self.cost.of(listened=heard.sum(axis=0), n_queries=asked.sum(axis=0))[1:]))
        level = min(depth, max(1, level))
        raw, base = alone[0].copy(), alone[1].copy()
        for name in ("tp", "fp", "fp_elsewhere", "n_found"):
            raw[:, R[name]] = line[:, level, FIELDS.index(name)]
        base[:, B["n_segments"]] = asked[:, level]
        design = LabelingDesign("bisection", leaf, start_length=min(leaf * 2.0**level, self.model.longest))
        return design, (raw, base, float(heard[:, level].sum()), float(errors[level]))

    def rows_of(self, designs: list[LabelingDesign], sums: list[Sums]) -> list[MethodOutcome]:
        """Rows from sums over the classes, by the one tally of the house."""
        sums = [(raw.sum(axis=0), base.sum(axis=0), heard, error) for raw, base, heard, error in sums]
        tally = Tally.empty(np.array([each.segment_length for each in designs], dtype=np.float64), ("plan",))
        for k, (raw, base, _, _) in enumerate(sums):
            tally.fold(k, np.asarray(raw).reshape(1, 1, len(RAW)), np.asarray(base).reshape(1, len(BASE)))
        words = tally.metrics()
        widths = np.array([each.segment_length or 0.0 for each in designs])
        limits = widths / self.criteria.plausible[1] * (1 + 1e-9)
        beyond = 1 - self.lengths.partial_moments(limits)[0]
        made = []
        for k, (design, (_, base, heard, error)) in enumerate(zip(designs, sums)):
            values: dict[str, Any] = {word: float(words[word][k, 0]) for word in WORDS}
            values["wrong_time"] *= self.n_classes  # per recording, all classes together
            queries, listened = _tidy(float(base[B["n_segments"]]) * self.scale), _tidy(heard * self.scale)
            row = MethodOutcome(
                name=design.name,
                **{each: getattr(design, each) for each in design.__dataclass_fields__},
                **values,
                n_queries=queries,
                listened=listened,
                cost=float(self.cost.of(listened=listened, n_queries=queries)),
                wrong_time_se=error,
                heard=listened / self.total,
            )
            notes = self._notes(row)
            if beyond[k] > 0.005 and row.segment_length is not None and self.criteria.kind != "rule":
                longer = f"{percent(float(beyond[k]))} of events are longer than {seconds(float(limits[k]))}"
                notes.insert(0, f"{longer}: no segment holds enough")
            made.append(replace(row, note="; ".join(notes)))
        return made

    def _notes(self, made: MethodOutcome) -> list[str]:
        notes = []
        if made.method == "windows":
            times = round(made.heard, 1)
            said = {1.0: "once", 2.0: "twice", 4.0: "four times"}.get(times, f"{times:g} times")
            notes.append(f"hears everything {said}")
        if not made.doable:
            notes.append(f"hears everything {made.heard:.0f} times: marking the events by hand is less work")
        if made.method == "boundary":
            notes.append("every question follows from the last answer: for weakly label, not for a list of clips")
        if made.passes and len(made.passes) < 13:
            notes.append("; ".join(f"{', '.join(labels)}: {own.name}" for labels, own in made.passes))
        if made.event_recall < 0.9:
            notes.append(f"misses {percent(1 - made.event_recall)} of events")
        if made.wrong_time >= self.event_time * (1 - 1e-9):
            notes.append("as much wrong time as if nothing were labelled present, or more")
        return notes

    def _limit(self, design: LabelingDesign) -> MethodOutcome:
        """Nothing or everything labelled present without asking; or the true boundaries, which nobody knows."""
        base, count = self._ground, self.model.count
        time, event = self.model.time * self.n_classes, float(base[B["event_time"]])
        events = float(base[B["n_events"]])
        said = {"nothing": 0.0, "everything": time, "oracle": event}[design.method]
        true = min(said, event)
        wrong = said + event - 2 * true
        asked = (2 * events + count * self.n_classes) * self.scale if design.method == "oracle" else 0.0
        heard = self.total if design.method == "oracle" else 0.0
        return MethodOutcome(
            name=design.name,
            method=design.method,
            segment_length=None,
            hop=None,
            votes=None,
            start_length=None,
            overlap_accuracy=1.0 if design.method == "oracle" else float("nan"),
            event_recall=0.0 if design.method == "nothing" else 1.0,
            precision=true / said if said else float("nan"),
            recall=true / event if event else float("nan"),
            recording_accuracy=1 - wrong / time,
            wrong_time=wrong / count,
            n_queries=asked,
            listened=heard,
            cost=float(self.cost.of(listened=heard, n_queries=asked)),
            attainable=design.method != "oracle",
            note={
                "nothing": "nobody is asked: what any labels must beat",
                "everything": "nobody is asked: what any labels must beat",
                "oracle": "needs the true boundaries: a limit, not a way to work",
            }[design.method],
        )

    # --- what is worth a look --------------------------------------------------------------------------------------

    @cached_property
    def grid(self) -> Floats:
        """Segment lengths worth a look, from far too short to the longest recording."""
        high = self.model.longest
        low = self.criteria.plausible[0] if self.criteria.kind != "rule" else 0.2
        shortest = 0.3 * max(low, 1e-3) * max(float(self.lengths.quantile(0.02)), 1e-3 * self.lengths.mean)
        low = min(max(shortest, 1e-4 * self.lengths.mean, 2e-6, 1e-7 * high), high / 2)
        usual = [each for each in COMMON if each <= high]
        even = high / np.arange(1, 7)  # a recording in whole parts
        most = _MOST if self._busy < _WORTH_THREADS else _MOST // 2
        return np.unique(np.concatenate((round_lengths(low, high, most), usual, even[even >= low])))

    @property
    def _busy(self) -> float:
        """How long a look takes, in events: classes and laws of criteria count too."""
        law = _WORTH_THREADS if self.criteria.smooth else 0
        return float(self._ground[B["n_events"]]) + 500 * (self.n_classes - 1) + law

    @cached_property
    def fixed_sums(self) -> list[Sums]:
        """The sums of fixed segments at every length of the grid, per class."""
        return self._each(self.sums, [LabelingDesign("fixed", float(width)) for width in self.grid])

    @cached_property
    def fixed_rows(self) -> list[MethodOutcome]:
        """Fixed segments at every length of the grid."""
        return self.rows_of([LabelingDesign("fixed", float(width)) for width in self.grid], self.fixed_sums)

    def best_overlap(self) -> float:
        """The segment length with the best accuracy near events: Theorem 2 where it applies, else from the grid."""
        single = self.criteria.single
        if single is not None and self.n_classes == 1:
            from ..theory.optimum import optimal_segment_length

            best = float(optimal_segment_length(event_length=self.lengths, presence_criterion=single))
            if best <= self.model.longest and not getattr(self.model, "drawn", False):
                return best
        values = np.array([row.overlap_accuracy for row in self.fixed_rows])
        k = int(np.nanargmax(values))
        low, high = self.grid[max(k - 1, 0)], self.grid[min(k + 1, self.grid.size - 1)]
        fine = self.rows([LabelingDesign("fixed", float(width)) for width in np.geomspace(low, high, 9)])
        return float(max([*fine, self.fixed_rows[k]], key=lambda row: row.overlap_accuracy).segment_length or 0.0)

    def window_designs(self) -> list[LabelingDesign]:
        """Overlapping windows around the hops at which their edges fall on the event's."""
        least = [row for row in self.fixed_rows if row.event_recall >= 0.9] or self.fixed_rows
        centre = float(min(least, key=lambda row: row.wrong_time).segment_length or 1.0)
        made = []
        cells = min(_CELLS, max(1e4, 40 * float(self._ground[B["n_events"]])))
        for per_cell in PER_CELL:
            hops = round_lengths(max(0.12 * centre, 2e-6), 1.5 * centre, 10_000)
            hops = hops[(hops * per_cell <= self.model.longest) & (hops >= self._ground[B["event_time"]] / cells)]
            slow = self.criteria.smooth or self.n_classes > _MANY_CLASSES  # laws of criteria, and many classes
            most = _HOPS // 3 if slow else _HOPS
            if hops.size > most:
                hops = hops[np.unique(np.linspace(0, hops.size - 1, most).round().astype(int))]
            made += [
                LabelingDesign("windows", float(hop * per_cell), hop=float(hop), votes=votes)
                for hop in hops
                for votes in range(1, per_cell + 1)
            ]
        return made

    def candidates(self, methods: tuple[str, ...]) -> list[MethodOutcome]:
        """Every way to label that can be chosen."""
        rows: list[MethodOutcome] = []
        if "fixed" in methods:
            rows += self.fixed_rows
        if "windows" in methods:
            rows += self.window_rows()
        if "bisection" in methods:
            rows += self.halvings(self._leaves(), dict(zip(self.grid.tolist(), self.fixed_sums)))
        if "boundary" in methods:
            rows += self.search_rows()
        return rows

    def search_rows(self) -> list[MethodOutcome]:
        """Boundary searches after segments that find the events: tried on a part, the best worked out on all."""
        _, _, low, high = self.criteria.parts()[0]
        small = self.n_events <= _CROWD and self.n_classes <= _FEW_CLASSES and max(low, 1 - high) <= _NOISE
        if not (self.criteria.certain or small):
            return []  # what is asked again and again takes people, and a simulation, too long
        found = [row for row in self.fixed_rows if row.event_recall >= 0.9] or self.fixed_rows
        centre = float(min(found, key=lambda row: row.wrong_time).segment_length or 1.0)
        high = max(8 * centre, float(self.lengths.quantile(0.9)))
        widths = [w for row in found if 0.7 * centre <= (w := row.segment_length or 0.0) <= high] or [centre]
        widths = [widths[k] for k in np.unique(np.linspace(0, len(widths) - 1, 5).round().astype(int))]
        short = float(self.lengths.quantile(0.25))
        designs = [
            LabelingDesign("boundary", float(width), tolerance=tolerance)
            for width in widths
            if (tolerance := _round(0.06 * short)) < width
        ]
        part = self.few
        if not self.criteria.certain:
            part = replace(part, criteria=self.criteria.only(self.criteria.middle).sure())
        elif part is self:
            return self.rows(designs)
        draft = sorted(part.rows(designs), key=_order)
        many = self._busy >= _WORTH_THREADS or not self.criteria.certain
        return self.rows([row.design for row in draft[: 1 if many else 2]])

    @cached_property
    def few(self) -> LabelingProblem:
        """The same work with so few recordings or lengths that many ways can be tried; itself where there are few."""
        events = float(self._ground[B["n_events"]]) * (4 if self.criteria.smooth else 1)  # laws take long
        few = {label: model.draft(events) for label, model in self.models.items()}
        return self if all(few[label] is model for label, model in self.models.items()) else replace(self, models=few)

    def window_rows(self) -> list[MethodOutcome]:
        """Overlapping windows, each with the votes that serve it best. Of many events, a part tells which are worth a
        look; what is shown is worked out on all of them."""
        draft = _best_votes(self.few.rows(self.window_designs()))
        if self.few is self:
            return draft
        draft.sort(key=_order)
        slow = (self._busy >= _WORTH_THREADS) + self.criteria.smooth + (self.lengths.values is None)
        return self.rows([row.design for row in draft[: _FULL >> slow]])

    def _leaves(self) -> list[float]:
        """Leaves worth halving down to: near the best fixed segments, and a few others for small budgets."""
        ordered = sorted(self.fixed_rows, key=_order)
        near = [row for row in ordered if row.wrong_time <= 1.2 * ordered[0].wrong_time]
        few = 2 if self._busy >= _WORTH_THREADS or self.criteria.smooth else 6
        near = near[:: max(1, len(near) // few)]
        wide = self.grid[:: max(1, self.grid.size // few)]
        leaves = sorted({float(row.segment_length or 0.0) for row in near} | set(wide.tolist()))
        least = float(self._ground[B["event_time"]]) / _TOUCHED  # finer leaves would take long
        return [leaf for leaf in leaves if leaf >= least] or leaves[-1:]


def _best_votes(rows: list[MethodOutcome]) -> list[MethodOutcome]:
    """Of windows that differ only in the votes needed, the one with the least wrong time among those that find most."""
    best: dict[tuple[Any, Any], MethodOutcome] = {}
    for row in rows:
        key = row.segment_length, row.hop
        if key not in best or _order(row) < _order(best[key]):
            best[key] = row
    return list(best.values())


def _order(row: MethodOutcome) -> tuple[bool, float]:
    return row.event_recall < 0.9 - 1e-9, row.wrong_time


def _round(value: float) -> float:
    """The nearest length with one digit."""
    return float(f"{value:.0e}")


def wrong_seconds(raw: Floats, base: Floats) -> Floats:
    """Seconds with the wrong label, per unit."""
    said = raw[:, R["tp"]] + raw[:, R["fp"]] + raw[:, R["fp_elsewhere"]]
    return np.asarray(said + base[:, B["event_time"]] - 2 * raw[:, R["tp"]])


def _tidy(value: float) -> float:
    """The number without what rounding left of a sum of weights: whole counts stay whole."""
    return round(value) + 0.0 if abs(value - round(value)) <= 1e-9 * max(1.0, value) else value


def _error(part: Measured) -> float:
    """The standard error of the mean wrong time over drawn recordings."""
    wrong, count = wrong_seconds(part.raw, part.base), part.weight.sum()
    mean = np.sum(part.weight * wrong) / count
    return float(np.sqrt(np.sum(part.weight * (wrong - mean) ** 2)) / count)


def in_passes(parts: Sequence[Sums]) -> Sums:
    """The sums of classes that are asked for in several passes."""
    raw, base = (np.concatenate([each[k] for each in parts]) for k in (0, 1))
    return raw, base, sum(each[2] for each in parts), float(np.hypot.reduce([each[3] for each in parts]))


def in_recordings(task: LabelingProblem, design: LabelingDesign, shift: float = 0.0) -> Floats:
    """Wrong seconds, right and all seconds near events, events found and events, per recording (rows) of known ones;
    on fixed segments or windows, from 0 or from a share of a hop."""
    passes = design.passes
    if design.method == "boundary" and task.n_classes > 1:
        passes = tuple(((label,), design) for label in task.models)
    if passes:
        return np.asarray(sum(in_recordings(task.only(*labels), own, shift) for labels, own in passes))
    assert isinstance(task.all, MultiClassModel)
    part = task.all.measure(design, task.criteria, shift * float(design.hop or design.segment_length or 0.0))
    return task.all.in_recordings(contributions(part))


def contributions(part: Measured) -> Floats:
    """Wrong seconds, right and all seconds near events, events found and events, per unit (rows)."""
    raw, base = part.raw, part.base
    right = raw[:, R["tp"]] + base[:, B["overlap_time"]] - base[:, B["cover_time"]] - raw[:, R["fp"]]
    return np.column_stack(
        (wrong_seconds(raw, base), right, base[:, B["overlap_time"]], raw[:, R["n_found"]], base[:, B["n_events"]])
    )
