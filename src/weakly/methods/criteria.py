"""Who answers, as a plan needs it: one criterion, several plausible ones, a law, an annotator with noise, a rule."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base.errors import InvalidInput
from ..base.symbols import check
from ..model.annotator import Annotator, PresenceRule
from ..model.answer_model import AnswerModels, describe

Floats = NDArray[np.float64]
#: What a plan assumes of a criterion that nobody measured.
UNKNOWN = (0.3, 0.5, 0.7)
_WIDTHS = np.geomspace(0.01, 1000.0, 51)
_NODES = 16  # criteria that stand for a law where answers to nested segments must share one


@dataclass(frozen=True, eq=False)
class Criteria:
    """Observers and what each weighs: expected times are linear in the answers, so a plan averages over them."""

    who: AnswerModels
    weights: Floats
    name: str
    kind: str  # "known", "several", "unknown", "law" or "rule"

    @classmethod
    def of(cls, presence_criterion: Any = None, rule: Any = None, annotator: Any = None) -> Criteria:
        """From the arguments of a public function: at most one of them; none means that the criterion is unknown."""
        if isinstance(presence_criterion, Criteria):
            return presence_criterion
        if isinstance(presence_criterion, Annotator):
            presence_criterion, annotator = None, presence_criterion
        if hasattr(presence_criterion, "cdf") and hasattr(presence_criterion, "ppf"):
            presence_criterion, annotator = None, Annotator(presence_criterion=presence_criterion)
        given = [value for value in (presence_criterion, rule, annotator) if value is not None]
        if len(given) > 1:
            raise InvalidInput("give one of presence_criterion, rule and annotator, not several")
        if rule is not None:
            made = PresenceRule.parse(rule) if isinstance(rule, str) else rule
            if not isinstance(made, PresenceRule):
                raise InvalidInput(f"rule must be a PresenceRule or text such as seconds:1, got {rule!r}")
            if made.criterion is None:
                return cls(AnswerModels.of(rule=made), np.ones(1), made.name, "rule")
            presence_criterion = made.criterion
        if annotator is not None:
            if not isinstance(annotator, Annotator):
                raise InvalidInput(f"annotator must be an Annotator, got {annotator!r}")
            if not annotator.is_certain:
                kind = "known" if isinstance(annotator.presence_criterion, float) else "law"
                return cls(AnswerModels.of(annotator=annotator), np.ones(1), describe(annotator), kind)
            presence_criterion = annotator.presence_criterion
        kind = "unknown" if presence_criterion is None else "several"
        values = UNKNOWN if presence_criterion is None else presence_criterion
        values = np.unique(np.atleast_1d(check("presence_criterion", values)).astype(np.float64))
        if values.size == 0:
            raise InvalidInput("presence_criterion must hold at least one number in (0, 1], got none")
        kind = "known" if values.size == 1 else kind
        weights = np.full(values.size, 1 / values.size)
        return cls(AnswerModels.of(presence_criterion=values), weights, ", ".join(f"{each:g}" for each in values), kind)

    @classmethod
    def parse(cls, text: str) -> Criteria:
        """Criteria from the text of a law, ``beta:2,3`` or ``norm:0.4,scale=0.05``; numbers are read elsewhere.

        >>> round(Criteria.parse("beta:2,3").middle, 3)
        0.4
        """
        from ..model.lengths import Lengths

        try:
            law = Lengths.parse(text).frozen
        except InvalidInput as error:
            raise InvalidInput(str(error).replace("event_length", "presence_criterion")) from error
        return cls.of(law)

    @property
    def rule(self) -> PresenceRule | None:
        """The presence rule, if it is not a criterion."""
        return self.who.members[0].rule if self.who.members else None

    @property
    def annotators(self) -> list[Annotator]:
        """The random annotators, if there are some."""
        return [each.annotator for each in self.who.members if each.annotator is not None]

    @property
    def annotator(self) -> Annotator | None:
        """The random annotator, if there is one."""
        return self.annotators[0] if self.annotators else None

    @property
    def single(self) -> float | None:
        """The criterion, if one is known and answers hold no noise."""
        values = self.who.criteria
        return float(values[0]) if values is not None and values.size == 1 else None

    @property
    def certain(self) -> bool:
        """Whether what is heard decides the answer: no guesses, lapses or flips."""
        return self.annotator is None or not self.annotator.is_noisy

    @property
    def nested(self) -> bool:
        """Whether a longer segment around a present one is present: halving then gives the labels of its leaves."""
        if self.rule is None:
            return self.certain
        need = self.rule.required_overlap(event_length=np.array([[0.1], [1.0], [10.0]]), segment_length=_WIDTHS)
        return bool(np.all(need[:, 1:] <= need[:, :-1] * (1 + 1e-9)))

    @property
    def plausible(self) -> tuple[float, float]:
        """The range of criteria that matters: all of several values, the central 90 % of a law; 0 and 1 for a rule."""
        if self.who.criteria is not None:
            return float(self.who.criteria.min()), float(self.who.criteria.max())
        if self.annotator is None:
            return 0.0, 1.0
        law = self.annotator.presence_criterion
        if isinstance(law, float):
            return law, law
        low, high = np.clip(np.asarray(law.ppf([0.05, 0.95]), dtype=np.float64), 1e-9, 1.0)
        return float(low), float(high)

    @property
    def middle(self) -> float:
        """The mean criterion, for drawings and starting points; 1/2 for a rule."""
        if self.who.criteria is not None:
            return float(self.who.criteria @ self.weights)
        if self.annotator is None:
            return 0.5
        law = self.annotator.presence_criterion
        return law if isinstance(law, float) else float(np.clip(law.mean(), 1e-6, 1.0))

    def only(self, values: Any) -> Criteria:
        """The same people with these known criteria instead, a column each."""
        values = np.atleast_1d(np.asarray(values, dtype=np.float64))
        weights = np.full(values.size, 1 / values.size)
        if self.annotator is None:
            return Criteria(AnswerModels.of(presence_criterion=values), weights, "", "several")
        each = [replace(self.annotator, presence_criterion=float(value)) for value in values]
        return Criteria(AnswerModels.of(annotator=each), weights, "", "several")

    def sure(self) -> Criteria:
        """The same criteria of people who never guess or lapse."""
        if self.annotator is None:
            return self
        return Criteria.of([each.presence_criterion for each in self.annotators])

    def parts(self) -> list[tuple[float, PresenceRule, float, float]]:
        """Deterministic rules with their weights, and the chance of a present answer where the rule says no, and yes.

        A criterion is kept over all answers about a recording, so it stands outside of products of answers.
        """
        if self.who.criteria is not None:
            return [(float(weight), rule, 0.0, 1.0) for weight, rule in zip(self.weights, self._rules)]
        if self.rule is not None:
            return [(1.0, self.rule, 0.0, 1.0)]
        made = []
        for weight, annotator in zip(self.weights, self.annotators):
            low, *_, high = annotator.label_chances
            values = _voted_criteria(annotator)
            made += [(weight / len(values), PresenceRule.fraction(each), float(low), float(high)) for each in values]
        return made

    def kinks(self, event_length: Floats, segment_length: float) -> Floats:
        """The overlaps (events, any number) at which an answer changes; none for a smooth law of criteria."""
        d = np.asarray(event_length, dtype=np.float64)
        found = [rule.required_overlap(event_length=d, segment_length=segment_length) for rule in self._rules]
        return np.column_stack(found) if found else np.empty((len(d), 0))

    @cached_property
    def _rules(self) -> list[PresenceRule]:
        """The presence rule, or that of every criterion that is a number."""
        if self.rule is not None:
            return [self.rule]
        people = [each.presence_criterion for each in self.annotators if isinstance(each.presence_criterion, float)]
        return [PresenceRule.fraction(each) for each in (people if self.who.criteria is None else self.who.criteria)]

    @property
    def smooth(self) -> bool:
        """Whether criteria have a law, so that measures bend everywhere."""
        return any(not isinstance(each.presence_criterion, float) for each in self.annotators)


def _voted_criteria(annotator: Annotator) -> list[float]:
    """Criteria of equal weight that stand for the law of the vote's criterion: the j-th smallest of k voters'."""
    from scipy.special import betaincinv

    law = annotator.presence_criterion
    if isinstance(law, float):
        return [law]
    j, k = annotator.votes or (1, 1)
    levels = betaincinv(j, k - j + 1, (np.arange(_NODES) + 0.5) / _NODES)
    return [float(each) for each in np.clip(np.asarray(law.ppf(levels), dtype=np.float64), 1e-9, 1.0)]
