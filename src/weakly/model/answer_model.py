r"""Who answers: the one type behind ``presence_criterion``, ``rule`` and ``annotator``, in every public function.

An :class:`AnswerModel` is one column of results (or, in theory, a whole array of criteria); :class:`AnswerModels` are
the columns that a public function was asked for, or the equally likely possibilities that a plan averages over. Both
are made once, by ``of``, which alone reads the three arguments (:func:`parse` has the grammar). What the rooms read:

* ``required_overlap(d, q)``: seconds of an event that make a segment present (criteria and rules);
* ``probability(h)``: P(present | largest event fraction) of an annotator, ``low`` where no event is;
* ``parts(n)``: deterministic rules with weights and P(present) without and with, for products of answers;

The chance that an event is found is in :mod:`weakly.model.detection`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ..base.errors import InvalidInput
from ..base.symbols import check, numbers
from .annotator import TIE, Annotator, PresenceRule, is_law, items
from .criterion_law import Law

Floats = NDArray[np.float64]
#: What is assumed of people whom nobody measured, in the middle, and at the plausible ends.
UNKNOWN = ("seconds:0.5|fraction:0.3", "seconds:1|fraction:0.5", "seconds:2|fraction:0.7")
#: Criteria that stand for a law of criteria in a posterior.
NODES = 9
_WIDTHS = np.geomspace(0.01, 1000.0, 51)


class Part(NamedTuple):
    """One deterministic rule of a mixture, and the chance of a present answer where the rule says no, and yes."""

    weight: float
    rule: PresenceRule
    low: float
    high: float


class Card(Protocol):
    """A record of how one person answers, as ``weakly label --measure`` writes it."""

    def as_annotator(self) -> Annotator | PresenceRule:
        """The person."""


@dataclass(frozen=True)
class AnswerModel:
    """Who answers: presence criteria (numbers of any shape), a presence rule, or a random annotator; one of them.
    Posteriors and plans also take a rule and an annotator, whose noise is meant then and not the criterion.

    Examples
    --------
    >>> AnswerModel.of(presence_criterion=0.5).required_overlap(event_length=2.0, segment_length=3.0).item()
    1.0
    >>> AnswerModel.of(annotator="beta:2,3").middle
    0.4
    """

    criterion: Floats | None = None
    rule: PresenceRule | None = None
    annotator: Annotator | None = None

    @classmethod
    def of(cls, *, presence_criterion: Any = None, rule: Any = None, annotator: Any = None) -> AnswerModel:
        """The one who answers, from the arguments of a public function; exactly one of them must be given.

        A fraction rule and an annotator without noise and with one criterion are that criterion; criteria may be an
        array of any shape.
        """
        name, value = _given(presence_criterion, rule, annotator)
        if _is_numeric(value):
            return cls(criterion=np.asarray(check("presence_criterion", value), dtype=np.float64))
        models = [model.simplified for model in parse(value, name=name)]
        criteria = [model.criterion for model in models if model.criterion is not None]
        if len(models) == 1:
            return models[0]
        if len(criteria) == len(models):
            return cls(criterion=np.array(criteria, dtype=np.float64))
        raise InvalidInput(f"{name} must be one rule, law or annotator here (criteria may be several), got {value!r}")

    @property
    def simplified(self) -> AnswerModel:
        """Itself, or the criterion that a fraction rule or an annotator without noise and with one criterion is."""
        number = self.single if self.rule is None else self.rule.criterion
        return AnswerModel(criterion=np.asarray(number)) if number is not None and self.is_noiseless else self

    @property
    def name(self) -> str:
        """The answer model in a few words."""
        person = self.rule or self.annotator
        return ", ".join(f"{each:g}" for each in self._criteria) if person is None else person.name

    def _named(self, name: str) -> AnswerModel:
        """A criterion as a rule or, of the argument ``annotator``, a person; anything else as it is."""
        if self.criterion is None:
            return self
        if name == "annotator":
            return AnswerModel(annotator=Annotator(presence_criterion=float(self.criterion)))
        return AnswerModel(rule=PresenceRule.fraction(float(self.criterion)))

    @property
    def _mean(self) -> float:
        """The criterion for tables: NaN for a rule that is none, the mean of a law."""
        if self.rule is not None:
            return np.nan if self.rule.criterion is None else self.rule.criterion
        return self.middle if self.annotator is None else self.annotator.mean

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the criteria; empty for rules and annotators."""
        return () if self.criterion is None else self.criterion.shape

    def at(self, index: tuple[int, ...], shape: tuple[int, ...]) -> AnswerModel:
        """The one who answers in this cell of a broadcast table."""
        return self if self.criterion is None else AnswerModel(criterion=np.broadcast_to(self.criterion, shape)[index])

    @property
    def single(self) -> float | None:
        """The one criterion, if there is one, noise or not; else None (rules, laws, several criteria)."""
        law: Any = self.criterion if self.annotator is None else self.annotator.presence_criterion
        return float(law) if isinstance(law, float | np.ndarray | np.generic) and np.ndim(law) == 0 else None

    @property
    def _criteria(self) -> Floats:
        """The criteria in one row, where they are numbers."""
        return np.ravel(np.asarray(self.criterion if self.annotator is None else self.single))

    @cached_property
    def low(self) -> float:
        """The chance of a present label where no event is."""
        return 0.0 if self.annotator is None else float(self.annotator.probability(0.0))

    @cached_property
    def high(self) -> float:
        """The chance of a present label where a whole event is."""
        return 1.0 if self.annotator is None else float(self.annotator.probability(1.0))

    @property
    def is_noiseless(self) -> bool:
        """Whether what is heard decides the answer: no guesses, lapses or flips."""
        return self.annotator is None or not self.annotator.is_noisy

    @property
    def is_continuous(self) -> bool:
        """Whether the criterion has a law, so that measures bend everywhere."""
        return self.annotator is not None and not isinstance(self.annotator.presence_criterion, float)

    @property
    def is_monotone(self) -> bool:
        """Whether a longer segment around a present one is present: halving then gives the labels of its leaves."""
        if self.rule is None or not self.is_noiseless:
            return self.is_noiseless
        need = self.rule.required_overlap(event_length=np.array([[0.1], [1.0], [10.0]]), segment_length=_WIDTHS)
        return bool(np.all(need[:, 1:] <= need[:, :-1] * (1 + 1e-9)))

    @property
    def range(self) -> tuple[float, float]:
        """The range of criteria that matters: all of several values, the central 90 % of a law; 0 and 1 for a rule."""
        if self.rule is not None:
            return 0.0, 1.0
        values = self._criteria
        if self.annotator is not None and self.is_continuous:
            law = self.annotator.presence_criterion
            values = np.clip(np.asarray(law.ppf([0.05, 0.95]), dtype=np.float64), 1e-9, 1.0)
        return float(values.min()), float(values.max())

    @property
    def middle(self) -> float:
        """The mean criterion, for drawings and starting points; 1/2 for a rule."""
        if self.rule is not None:
            return 0.5
        if self.annotator is not None and self.is_continuous:
            return float(np.clip(self.annotator.mean, 1e-6, 1.0))
        return float(np.mean(self._criteria))

    def parts(self, n: int = 16) -> list[Part]:
        """Deterministic rules with their weights, and the chance of a present answer where the rule says no, and yes.

        A criterion is kept over all answers about a recording, so it stands outside of products of answers. A law is
        ``n`` criteria of equal weight (:meth:`Annotator.criteria`).
        """
        if self.rule is not None:
            return [Part(1.0, self.rule, self.low, self.high)]
        values = self._criteria
        if self.annotator is not None and self.is_continuous:
            values = self.annotator.criteria(n)
        return [Part(1 / len(values), PresenceRule.fraction(float(each)), self.low, self.high) for each in values]

    def required_overlap(self, event_length: Any, segment_length: Any) -> Floats:
        """x_0 in seconds, infinite where no segment can be present; of a noisy annotator with one criterion, that of
        the criterion. Arrays broadcast, with the criteria too."""
        d, q = np.asarray(event_length, dtype=np.float64), np.asarray(segment_length, dtype=np.float64)
        if self.rule is not None:
            return self.rule.required_overlap(event_length=d, segment_length=q)
        criterion: Any = self.single if self.criterion is None else self.criterion
        need = np.asarray(criterion * d, dtype=np.float64)
        return np.where(need <= np.minimum(d, q) * (1 + TIE), need, np.inf)

    def probability(self, event_fraction: Any) -> Floats:
        """P(present | largest event fraction); not for rules, which ask for seconds."""
        h = np.asarray(event_fraction, dtype=np.float64)
        if self.annotator is not None:
            return self.annotator.probability(h)
        assert self.criterion is not None
        return (h >= self.criterion * (1 - TIE)).astype(np.float64)


@dataclass(frozen=True, eq=False)
class AnswerModels:
    """One or several who answer, each as likely as the others.

    The columns of a table of results; a plan, whose expected times are linear in the answers, averages over them.
    """

    members: tuple[AnswerModel, ...]
    is_unknown: bool = False
    per_answer: bool = False  # in posteriors: a member is drawn for every answer, not kept throughout a recording

    @classmethod
    def of(
        cls, *, presence_criterion: Any = None, rule: Any = None, annotator: Any = None, unknown: Any = None
    ) -> AnswerModels:
        """From the arguments of a public function, each one or several: exactly one of them must be given, at most one
        if ``unknown``, criteria to assume where nothing is told, is given."""
        if unknown is not None and presence_criterion is None and rule is None and annotator is None:
            return cls(tuple(parse(unknown)), is_unknown=True)
        name, value = _given(presence_criterion, rule, annotator)
        if isinstance(value, AnswerModels):
            return value
        if isinstance(value, AnswerModel):
            return cls((value._named(name),))
        if _is_numeric(value) and np.size(value) == 0:
            raise InvalidInput(f"{name} must hold at least one number in (0, 1], got none")
        if _is_numeric(value) and np.ndim(value) > 1:
            raise InvalidInput(f"{name} must be one number or a list, got shape {np.shape(value)}")
        models = parse(value, name=name)
        if name == "presence_criterion" and all(model.criterion is not None for model in models):
            return cls(tuple(models))
        # Beside rules and people a criterion is a rule or a person as well, so that columns have one kind of name.
        return cls(tuple(model._named(name) for model in models))

    @cached_property
    def criteria(self) -> Floats | None:
        """The criteria, which are computed all at once, if everybody has one and no noise."""
        if any(model.criterion is None for model in self):
            return None
        return np.array([model.criterion for model in self], dtype=np.float64)

    @property
    def distinct(self) -> AnswerModels:
        """The same without repetitions, criteria in order; rules and people who come down to one are that criterion."""
        models = [model.simplified for model in self]
        if all(model.criterion is not None for model in models):
            values = np.unique(np.array([model.criterion for model in models], dtype=np.float64))
            return AnswerModels(tuple(parse(values)), self.is_unknown)
        return AnswerModels(tuple(dict.fromkeys(self.members)))

    def __len__(self) -> int:
        return len(self.members)

    def __iter__(self) -> Iterator[AnswerModel]:
        return iter(self.members)

    @property
    def weights(self) -> Floats:
        """How likely each is: all alike."""
        return np.full(len(self), 1 / len(self))

    @property
    def kind(self) -> str:
        """What is known: a criterion (known), several, nothing (unknown), a law, or that a rule is used."""
        if any(model.rule is not None for model in self):
            return "rule"
        if self.is_continuous:
            return "law"
        return "unknown" if self.is_unknown else "known" if len(self) == 1 else "several"

    @property
    def name(self) -> str:
        """All of them in a few words."""
        return ", ".join(model.name for model in self)

    @property
    def rule(self) -> PresenceRule | None:
        """The first presence rule, if there is one."""
        return next((model.rule for model in self if model.rule is not None), None)

    @property
    def annotators(self) -> list[Annotator]:
        """The random annotators, if there are some."""
        return [model.annotator for model in self if model.annotator is not None]

    @property
    def single(self) -> float | None:
        """The criterion, if one is known and answers hold no noise."""
        return float(self.criteria[0]) if self.criteria is not None and self.criteria.size == 1 else None

    @property
    def is_noiseless(self) -> bool:
        """:attr:`AnswerModel.is_noiseless` of all."""
        return all(model.is_noiseless for model in self)

    @property
    def is_continuous(self) -> bool:
        """:attr:`AnswerModel.is_continuous` of any."""
        return any(model.is_continuous for model in self)

    @cached_property
    def is_monotone(self) -> bool:
        """:attr:`AnswerModel.is_monotone` of all."""
        return all(model.is_monotone for model in self)

    @property
    def range(self) -> tuple[float, float]:
        """:attr:`AnswerModel.range` of all."""
        low, high = zip(*(model.range for model in self))
        return min(low), max(high)

    @property
    def middle(self) -> float:
        """The mean of :attr:`AnswerModel.middle`."""
        return float(np.array([model.middle for model in self]) @ self.weights)

    def only(self, values: Any) -> AnswerModels:
        """The same people with these known criteria instead, a column each."""
        values = np.atleast_1d(np.asarray(values, dtype=np.float64))
        people = [replace(each, presence_criterion=float(value)) for each in self.annotators for value in values]
        return AnswerModels.of(annotator=people) if people else AnswerModels.of(presence_criterion=values)

    def with_rates(self, *, guess_rate: float = 0.0, lapse_rate: float = 0.0, flip_rate: float = 0.0) -> AnswerModels:
        """The same criteria and laws of people who guess, lapse or are recorded wrongly this often; no rule does."""
        if not (guess_rate or lapse_rate or flip_rate):
            return self
        if self.rule is not None:
            raise InvalidInput(f"guess_rate, lapse_rate and flip_rate go with a criterion, not a rule, got {self.name}")
        people = [model._named("annotator").annotator or Annotator() for model in self]
        noisy = [replace(p, guess_rate=guess_rate, lapse_rate=lapse_rate, flip_rate=flip_rate) for p in people]
        return AnswerModels.of(annotator=noisy)

    @property
    def as_rule(self) -> PresenceRule:
        """The one rule or criterion, where nothing else will do."""
        if len(parts := self.parts(2)) != 1 or not self.is_noiseless:
            raise InvalidInput(f"one rule or criterion without noise is needed here, got {self.name}")
        return parts[0].rule

    def with_noise(self, guess_rate: float, lapse_rate: float) -> AnswerModels:
        """The same rules and criteria, a law as :data:`NODES` of them, of people who guess and lapse this often."""
        noise = Annotator(guess_rate=guess_rate, lapse_rate=lapse_rate)
        members = tuple(AnswerModel(rule=part.rule, annotator=noise) for part in self.parts(NODES))
        return AnswerModels(members, per_answer=self.per_answer)

    @property
    def low(self) -> float:
        """:attr:`AnswerModel.low` of the first."""
        return self.members[0].low

    @property
    def high(self) -> float:
        """:attr:`AnswerModel.high` of the first."""
        return self.members[0].high

    @property
    def seconds(self) -> float | None:
        """The shortest overlap in seconds that a rule asks for, if one does."""
        forms = [form for model in self if model.rule is not None for form in model.rule.forms]
        return min((form.seconds for form in forms if form.seconds > 0), default=None)

    def parts(self, n: int = 16) -> list[Part]:
        """:meth:`AnswerModel.parts` of all, with weights that add to one."""
        share = 1 / len(self)
        return [part._replace(weight=share * part.weight) for model in self for part in model.parts(n)]

    def kinks(self, event_length: Floats, segment_length: float) -> Floats:
        """The overlaps (events, any number) at which an answer changes; none for a law of criteria."""
        rules = [part.rule for model in self if not model.is_continuous for part in model.parts()]
        needs = [rule.required_overlap(event_length=event_length, segment_length=segment_length) for rule in rules]
        return np.column_stack(needs) if needs else np.empty((len(event_length), 0))

    @cached_property
    def sorted(self) -> tuple[tuple[Floats, NDArray[np.int64], Floats], NDArray[np.int64] | slice]:
        """What kernels read of criteria, none where there are none: (sorted and lowered by the tolerance for ties, how
        many of these are at most k / 1024, sorted); and where each criterion stands among the sorted ones.

        The table makes "how many criteria does this event fraction satisfy" a step or two, however many there are.
        """
        criteria = np.empty(0) if self.criteria is None else self.criteria
        order = np.argsort(criteria, kind="stable")
        limits = criteria[order] * (1 - TIE)
        table = np.searchsorted(limits, np.arange(1025) / 1024, side="right")
        place = slice(None) if (order[1:] > order[:-1]).all() else np.argsort(order)  # of a slice nothing is copied
        return (limits, table, criteria[order]), place

    @cached_property
    def labels(self) -> tuple[Any, ...]:
        """What tells the columns apart."""
        return tuple(model.name for model in self) if self.criteria is None else tuple(self.criteria.tolist())

    def frame(self) -> dict[str, list[Any]]:
        """The columns of a table that say what each result column is."""
        if self.criteria is not None:
            return {"presence_criterion": self.criteria.tolist()}
        columns: dict[str, list[Any]] = {"presence_criterion": [model._mean for model in self]}
        for name in ("rule", "annotator"):
            if any(getattr(model, name) is not None for model in self):
                columns[name] = ["" if getattr(model, name) is None else model.name for model in self]
        return columns


def _given(presence_criterion: Any, rule: Any, annotator: Any) -> tuple[str, Any]:
    """Which of the three arguments was given, and its value."""
    values = {"presence_criterion": presence_criterion, "rule": rule, "annotator": annotator}
    names = [name for name, value in values.items() if value is not None]
    if len(names) != 1:
        got = " and ".join(names) or "none"
        raise InvalidInput(f"give exactly one of presence_criterion, rule and annotator, got {got}")
    return names[0], values[names[0]]


def _is_numeric(value: Any) -> bool:
    """Whether a value is a number or an array of them, to be read as a whole."""
    if isinstance(value, (list, tuple)):
        return all(_is_numeric(item) for item in value)
    return isinstance(value, (int, float, np.number)) or getattr(getattr(value, "dtype", None), "kind", "O") in "iuf"


def parse(value: Any, *, name: str = "presence_criterion") -> list[AnswerModel]:
    """The grammar of who answers, the same in ``presence_criterion``, ``rule`` and ``annotator``: a number; a frozen
    scipy law; a :class:`PresenceRule`; an :class:`Annotator`; a card of one; text, which holds one or several numbers,
    ranges of them (low:high:count), laws and rules separated by commas; or a list of any of these.

    >>> [model.name for model in parse("0.3,0.5,seconds:1|fraction:0.5,beta:2,3,any")]
    ['0.3', '0.5', 'seconds:1|fraction:0.5', 'criterion beta(2, 3)', 'any']
    >>> parse(["norm:0.4,scale=0.05"])[0].middle
    0.4
    """
    if hasattr(value, "as_annotator"):
        value = value.as_annotator()
    if isinstance(value, PresenceRule):
        return [AnswerModel(rule=value)]
    if hasattr(value, "cdf") and hasattr(value, "ppf"):
        value = Annotator(presence_criterion=value)
    if isinstance(value, Annotator):
        return [AnswerModel(annotator=value)]
    if isinstance(value, str):
        return [model for text in items(value) for model in _of_text(text, name)]
    if isinstance(value, (list, tuple)) and len(value):
        return [model for item in value for model in parse(item, name=name)]
    if _is_numeric(value):
        return [AnswerModel(criterion=np.asarray(number)) for number in np.ravel(check("presence_criterion", value))]
    raise InvalidInput(
        f"{name} must be a number, a law, a PresenceRule, an Annotator, text such as seconds:1 or a list of these, "
        f"got {value!r}"
    )


def _of_text(text: str, name: str) -> list[AnswerModel]:
    """A number, a range of numbers, a rule or a law."""
    from .lengths import Lengths

    if not text[:1].isalpha() and "|" not in text:
        return parse(numbers(text, name=name))
    try:
        if not is_law(text):
            return [AnswerModel(rule=PresenceRule.parse(text))]
        return [AnswerModel(annotator=Annotator(presence_criterion=Lengths.parse(text).frozen))]
    except InvalidInput as error:
        raise InvalidInput(str(error).replace("rule must", f"{name} must").replace("event_length", name)) from error


_Item = float | str | Law | PresenceRule | Annotator | Card
#: What public functions take as ``presence_criterion``, ``rule`` and ``annotator``: one, or several (:func:`parse`).
AnswerLike = _Item | Sequence[_Item] | NDArray[Any] | AnswerModel | AnswerModels
