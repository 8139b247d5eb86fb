"""The plan in words: three lines and what was assumed first, then the details and what would change them."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from typing import TYPE_CHECKING, Any

from ...base.results import Condition, counted, format_length, hours, percent, seconds
from ...base.symbols import plain_name
from ...methods import METHODS
from ...methods.by_hand import ByHand
from ...methods.model import SingleEventModel
from ...methods.passes import from_to
from ...methods.problem import FOUND, MAX_REPLAYS, LabelingProblem, MethodOutcome
from ...model.annotator import PresenceRule
from .decision import EQUAL, SLIGHT, VERDICTS, Choice, beats, free, goal
from .pilot import Pilot

if TYPE_CHECKING:
    from .plan_result import Plan


def expectation(task: LabelingProblem, made: MethodOutcome) -> str:
    """What to expect of it: the numbers of its row."""
    per = " per recording" if task.n_recordings != 1 else ""
    said = f"{seconds(made.wrong_time)} of wrong time{per} where events last {seconds(task.event_time)}, "
    said += f"{_share(made.event_recall)} events found"
    if not made.asks:
        return said
    said += f", {percent(made.overlap_accuracy)} accuracy near events; {made.n_queries:,.0f} "
    said += f"{'clip' if round(made.n_queries) == 1 else 'clips'} to play, {hours(made.listened)} to review"
    if made.n_marks:
        said += f", {counted(round(made.n_marks), 'event')} marked"
    if task.cost.annotators > 1:
        said += f" for each of {task.cost.annotators} annotators"
    said += f", {hours(3600 * made.hours)} of work"
    return said if task.cost.currency in ("h", "") else f"{said}, {task.cost.words(made.cost)}"


def _share(value: float) -> str:
    return "all" if value >= 1 - 1e-9 else f"{percent(value)} of"


_ROLES = {"plain": "Plain", "by_hand": "By hand", "best": "Best", "yours": "Yours"}
_LINES, _WIDTH = 3, 160  # of the answer, at most
_TOOLS = {"audacity": "Audacity", "raven": "Raven", "labelstudio": "Label Studio"}


def lines(plan: Plan, conditions: list[str]) -> list[str]:
    """The answer: the recommended choice with its verdict, then what was asked about, then the other choices."""
    task, row, order = plan.task, plan.recommended, ("yours", "rule", "plain", "by_hand", "best")
    if share := _share_paid(plan):
        conditions = [f"but the budget pays for {percent(share)}", *conditions]
    unmet = "" if plan.reachable or share else "Not reachable. "
    head = f"{unmet}{', '.join((plan.verdict.capitalize(), *conditions))}. "
    first = next((each for each in plan.choices if each.row == row and each.role != "yours"), None)
    if first is not None:
        said = [_line(task, first, head, _aside(task, first, first))]
    else:
        beaten = f"{row.design.words().kind}, {_wrong(task, row.wrong_time)}"
        said = [f"{head}Ask nobody: no way that was compared beats {beaten}."]
    others = [
        (each.role, _line(task, each, "", _aside(task, each, first))) for each in plan.choices if each is not first
    ]
    if other := plan.other_rule:
        found = f"{_share(other['event_recall'])} events found"
        others.append(("rule", f"If a second of an event is enough: {other['name']}, {hours(3600 * other['hours'])}, "
                       f"{_wrong(task, other['wrong_time'])}, {found} (--rule '{other['rule']}')."))  # fmt: skip
    return [*said, *(text for _, text in sorted(others, key=lambda each: order.index(each[0])))][:_LINES]


def _share_paid(plan: Plan) -> float:
    """The share of the recommended work that the budget pays for; 0 where it pays for all of it."""
    budget, cost = plan.settings["budget"], plan.recommended.cost
    return 0.0 if budget is None or cost <= budget * (1 + 1e-12) else float(budget / cost)


def _wrong(task: LabelingProblem, wrong_time: float) -> str:
    return f"{seconds(wrong_time)} of {seconds(task.event_time)} wrong"


def _line(task: LabelingProblem, choice: Any, head: str, asides: tuple[str, ...]) -> str:
    """A choice in at most 160 characters: it is named before asides are made, and its lengths are left to
    its command where there is no room for both."""
    row, words = choice.row, choice.row.design.words()
    paid = "" if task.cost.currency == "h" else f" ({task.cost.words(row.cost)})"
    work, share = f"{hours(3600 * row.hours)}{paid}, {_wrong(task, row.wrong_time)}", _share(row.event_recall)
    numbers = f"{work}, {share} events found", f"{work}, {share.removesuffix(' of')} found"
    role = _ROLES[choice.role] + (f" ({choice.verdict})" if choice.role == "yours" else "")
    known = () if words.kind == role.lower() else (words.name, words.kind)[: 2 - row.design.is_plain]
    names = [*(f" {name}," for name in known), ""]
    ends = [f"{aside}. {run}{choice.command}" for aside in (*asides, "") for run in ("Run: ", "")]
    if row.design.by_name:
        ends.append(f". With --out plan/: weakly queries recordings/ --plan plan/ --choice {choice.role} --out tasks/")
    n = 2 * len(asides)
    orders = (names[:-1], ends[:n]), (names[:-1], ends[n:]), (names[-1:], ends[:n]), (names[-1:], ends[n:])
    for name, told, end in (each for some, after in orders for each in product(some, numbers, after)):
        if len(said := f"{head}{role}:{name} {told}{end}") <= _WIDTH:
            return said
    return f"{head}{role}:{names[-2:][0]} {numbers[1]}. Its command: --json."


def _aside(task: LabelingProblem, choice: Any, first: Any) -> tuple[str, ...]:
    """What else is to be said of a choice, longer and shorter: from how many events on it takes less work than by hand,
    or in which tools it can be done."""
    row, cost = choice.row, task.cost
    if choice.role == "best":
        where = [_TOOLS[each] for each in row.design.tools if each in _TOOLS]
        told = f"{', '.join(where)}{', by rounds' if row.design.follows_answers else ''}"
        return (f" (in {told or 'weakly label'})",)
    by_hand = first is not None and first.row.design.is_strong and first.row.segment_length is None
    by_hand = by_hand and cost.is_work and cost.seconds_per_event > 0
    if choice.role != "plain" or not by_hand or task.n_classes > 1:
        return ()
    slower = task.recording_length * (1 / cost.speed - 1 / cost.speed_marking)
    work = cost.seconds_per_answer * task.recording_length / row.segment_length + slower
    least = format_length(max(work, 0.0) / cost.seconds_per_event)
    even = f"from {least} event{'' if least == '1' else 's'}"
    return f" (less work than by hand {even} per recording on)", f" (less work {even} on)", f" (faster {even} on)"


def conditions(task: LabelingProblem, pilot: Pilot | None) -> list[str]:
    """What the verdict holds under, in a few words."""
    said = []
    if task.cost.per_query == 0 and task.cost.seconds_per_answer > 0:  # answers are free although they take time
        said.append("if answers are free")
    if pilot is not None and pilot.n_unknown:
        said.append("recording lengths unknown")
    if pilot is not None and pilot.in_place and not _drawn(task):
        said.append("for this pilot alone")
    return said


def assumed(task: LabelingProblem, pilot: Pilot | None, *, one_event: bool, unknown: bool) -> str:
    """What nobody said, in one line."""
    said = []
    if unknown:
        said.append(
            f"a second or half of an event is noticed (--rule, --annotator), {percent(task.slips)} of answers are "
            "slips where a label rests on several of them"
        )
    said.append(task.cost.work)
    if pilot is None:
        said.append(f"event lengths {task.lengths.name}")
    if one_event:
        said.append("one event per recording (--events)")
    return (
        f"A recording holds {seconds(task.event_time)} of events on average; wrong time counts seconds with the wrong "
        f"label. Work is for all recordings. Assumed: {'; '.join(said)}. {' '.join(_not_known(task, pilot))}"
    ).strip()


def details(
    plan: Plan, choice: Choice, *, wanted: tuple[Condition, ...], budget: float | None, pilot: Pilot | None = None
) -> str:
    """The recommended choice in a few sentences, and what would change it."""
    task, chosen = plan.task, choice.row
    said = [
        *_not_known(task, pilot),
        *_first(plan, choice, wanted, budget),
        f"{chosen.design.words().instruction}: {expectation(task, chosen)}.",
    ]
    if not chosen.is_practical:
        said.append(f"Everything would be reviewed {chosen.heard:.0f} times: marking the events by hand is less work.")
    if choice.reachable and chosen.asks and wanted:
        said.append(_cheapest(plan, wanted))
    said += _equal(plan)
    plain = any(row.design.is_plain for row in plan.pool)
    for each in plan.by_criterion:
        vain = ", no better than labelling nothing" if each["wrong_time"] >= task.event_time * (1 - 1e-9) else ""
        wrong = f"{seconds(each['wrong_time'])} wrong{vain}"
        best = f"plain segments are {each['name'].replace(' segments', ' long')}" if plain else f"way is {each['name']}"
        said.append(f"If annotators go by {each['rule']}, the best {best}, {wrong}.")
    if plan.by_criterion:
        said.append(
            "To measure the criterion, have five minutes of annotated recordings labelled and run weakly audit, or "
            "run weakly label --measure."
        )
    if plan.uncertainty:
        said.append(plan.uncertainty["words"])
    if plan.classes and plan.classes["words"] and not plan.recommended.passes:
        said.append(plan.classes["words"])
    return " ".join(said)


def _not_known(task: LabelingProblem, pilot: Pilot | None) -> list[str]:
    """What nobody said of the recordings, and what was done about it."""
    said = []
    if pilot is not None and pilot.n_unknown:
        many, empty = pilot.n_unknown, pilot.n_unknown - int((~pilot.ends_known).sum())
        every = "the " if many == len(pilot.extents) + empty else ""
        which = f"{every or 'one '}recording is" if many == 1 else f"{every}{many:,} recordings are"
        left = f", and {empty:,} without events {'is' if empty == 1 else 'are'} left out" if empty else ""
        said.append(
            f"It is not known how long {which}: each is taken to end with its last event, so that the silence after it "
            f"counts neither as wrong time nor as work{left}; --recording-length gives it."
        )
    if pilot is not None and pilot.in_place and not _drawn(task):
        which = "All" if pilot.in_place == 1 else f"{percent(pilot.in_place)} of"
        said.append(
            f"{which} events begin at the same time or end their recording: where events lie in new recordings is not "
            "known, and the numbers hold for the pilot alone."
        )
    if (longer := _longer(task)) >= 0.0005:
        length = seconds(task.recording_length)
        said.append(f"{percent(longer)} of events are longer than a recording of {length} and are cut to it.")
    return said


def _drawn(task: LabelingProblem) -> bool:
    """Whether events are placed anywhere in recordings, with lengths from their law."""
    return isinstance(task.model, SingleEventModel) or task.model.drawn


def _longer(task: LabelingProblem) -> float:
    """The share of events that are cut because they are longer than a recording."""
    return 1 - float(task.lengths.partial_moments(task.recording_length * (1 + 1e-9))[0]) if _drawn(task) else 0.0


def _budget(task: LabelingProblem, budget: float) -> str:
    """The budget as it was given: rounded, it would pay for more."""
    if task.cost.currency in ("s", "h"):
        return task.cost.words(budget)
    number = f"{budget:,.2f}".removesuffix(".00") if budget >= 1 else f"{budget:.6g}"
    return f"{number} {task.cost.currency or 'cost units'}"


def _apart(value: float, limit: float, *, share: bool = False) -> str:
    """A value with as many digits as it takes to tell it from the limit that it misses.

    >>> _apart(0.8967, 0.9, share=True), _apart(2.004, 2.0), _apart(3.2, 2.0)
    ('89.67 %', '2.004 s', '3.2 s')
    """
    said = percent if share else seconds
    if said(value) != said(limit):
        return said(value)
    return percent(float(f"{value:.6g}"), exact=True) if share else f"{value:.6g} s"


def _cheapest(plan: Plan, wanted: tuple[Condition, ...]) -> str:
    """Among which ways it is the cheapest."""
    row = plan.recommended
    but = ["leave less wrong time than asking nobody"] if beats(row, free(plan.pool)) else []
    but += [f"review everything at most {MAX_REPLAYS} times"] if row.is_practical else []
    of = f", of those that {' and '.join(but)}" if but else ""
    return f"It is the cheapest way compared that meets {' and '.join(goal(each) for each in wanted)}{of}."


def _first(plan: Plan, choice: Choice, wanted: tuple[Condition, ...], budget: float | None) -> list[str]:
    """What the reader must know before the recommendation, where there is such a thing."""
    task, row, said = plan.task, choice.row, []
    paid = "" if budget is None else f" that costs at most {_budget(task, budget)}"
    if choice.limit == "budget":
        said.append(
            f"The budget of {_budget(task, budget or 0.0)} pays for {percent(_share_paid(plan))} of this, which costs "
            f"{_budget(task, row.cost)}: label that share of the recordings, and leave the others."
        )
    elif choice.limit == "target":
        within = f" within {_budget(task, budget)}" if budget is not None else ""
        values = ", ".join(
            f"{plain_name(each.word)} " + _apart(getattr(row, each.word), each.value, share=each.word != "wrong_time")
            for each in wanted
        )
        goals = " and ".join(goal(each) for each in wanted)
        said.append(f"Not reachable: {goals}{within}. The nearest has {values}.")
    elif choice.limit == "found":
        finding = [each for each in plan.pool if each.asks and each.finds]
        finding = [each for each in finding if budget is None or each.cost <= budget * (1 + 1e-12)]
        but = f" and leaves less wrong time than {free(plan.pool).design.words().kind}" if finding else ""
        said.append(
            f"No way{paid or ' that was compared'} finds {percent(FOUND)} of events{but}; this one finds "
            f"{_apart(row.event_recall, FOUND, share=True)}."
        )
    elif row.design.is_trivial:
        share = percent(task.event_time / (task.recording_length * task.n_classes))
        scope = _scope(plan, budget, wanted)
        unmet = "" if choice.reachable else f"Not reachable: {' and '.join(map(goal, wanted))}. "
        said.append(
            f"{unmet}Asking does not pay here: events fill {share} of the time, and no way to ask{scope} has less "
            f"wrong time than {row.design.words().kind}."
        )
    nobody = free(plan.pool)
    if row.asks and not beats(row, nobody):
        said.append(
            f"These labels are no better than none: {nobody.design.words().kind} leaves "
            f"{seconds(nobody.wrong_time)} of wrong time, this {seconds(row.wrong_time)}."
        )
    if not beats(row, nobody) or choice.limit == "found":
        said.append(_remedy(plan))
    elif choice.limit == "" and not row.finds:
        said.append(f"This loses {percent(1 - row.event_recall)} of events.")
    return said


def _scope(plan: Plan, budget: float | None, wanted: tuple[Condition, ...]) -> str:
    """Which ways of asking are no better than asking nobody, where some are."""
    if not any(row.asks and beats(row, plan.recommended) for row in plan.pool):
        return ""
    but = [f"costs at most {_budget(plan.task, budget)}"] if budget is not None else []
    but += [f"meets {' and '.join(goal(each) for each in wanted)}"] if wanted else [
        f"finds {percent(FOUND)} of events", f"reviews everything at most {MAX_REPLAYS} times"
    ]  # fmt: skip
    return f" that {' and '.join(but)}"


def _remedy(plan: Plan) -> str:
    """What would do better, or may: another method, a finer rule, or strong labels."""
    parts, task = [], plan.task
    others = {name for name, kind in METHODS.items() if kind.planned == "always" and kind.tools and kind.by_name
              and not kind.is_plain and not kind.is_strong}  # fmt: skip
    if missing := [name for name in METHODS if name in others and name not in plan.settings["methods"]]:
        parts.append(f"allowing {' and '.join(missing)}")
    finer = [
        each
        for each in plan.sensitivity
        if each["best_event_recall"] >= FOUND and each["best_wrong_time"] < 0.95 * task.event_time
        and each["presence_criterion"] < task.criteria.range[0] - 1e-9
    ]  # fmt: skip
    if finer:
        best = finer[-1]
        parts.append(
            f"a finer rule: if annotators answered present from {percent(best['presence_criterion'])} of an event on, "
            f"{seconds(best['best_segment_length'])} segments would leave {seconds(best['best_wrong_time'])}"
        )
    rule = task.criteria.rule
    if rule is not None and rule == PresenceRule.seconds(need := max(rule.forms[0].seconds, 1e-9)):
        short = float(task.lengths.partial_moments(need * (1 - 1e-9))[0])  # such events never satisfy it
        if short >= 0.005:
            told = f"{percent(short)} of events are shorter than {seconds(need)} and never noticed"
            parts.append(f"a rule of fewer seconds: {told}")
    parts.append("strong labels (marking where events begin and end)")
    return f"What may help: {'; '.join(parts)}."


def _equal(plan: Plan) -> list[str]:
    """Which lengths are as good, as the rows have it, and why this one was taken."""
    row = plan.recommended
    if plan.equal_range is None or plan.objective != "wrong_time" or not row.asks:
        return []
    low, high = plan.equal_range
    if high < 1.02 * low:
        return []
    same = [each for each in (*plan.pool, row) if each.design.is_like(row.design) and low <= each.length <= high]
    noun = row.design.words().noun
    times = [each.wrong_time for each in same]
    equal = f"{noun.capitalize()} {from_to(low, high)} are practically equal"
    if max(times) - min(times) > max(EQUAL * min(times), SLIGHT * plan.task.event_time) * (1 + 1e-9):
        equal = f"The pilot cannot tell {noun} {from_to(low, high)} apart"
    reason = ""
    if row.design.is_plain and row.n_queries <= min(each.n_queries for each in same) * (1 + 1e-9):
        reason = "; this length needs the fewest clips"
    elif row.cost <= min(each.cost for each in same) * (1 + 1e-9):
        reason = "; this length needs the least cost"
    return [f"{equal}{reason}."]


def notes(rows: Iterable[MethodOutcome]) -> list[str]:
    """Where ways stop making sense; those with the same note share a line."""
    shared: dict[str, list[str]] = {}
    for made in rows:
        if made.note:
            shared.setdefault(made.note, []).append(made.name)
    return [f"{'; '.join(names)}: {note}." for note, names in shared.items()]


def warnings(task: LabelingProblem, chosen: MethodOutcome) -> list[str]:
    """What speaks against trusting the recommendation blindly."""
    said = []
    if chosen.asks and not chosen.finds:
        said.append(f"{percent(1 - chosen.event_recall)} of events are never labelled present.")
    if chosen.segment_length is not None and chosen.segment_length >= 0.5 * task.model.longest:
        said.append("A segment is half of a recording or more: what is learnt is hardly when, only whether.")
    return said


def assumptions(task: LabelingProblem, choice: Choice, *, objective: str, wanted: tuple[Condition, ...]) -> list[str]:
    """What the numbers rest on."""
    criteria = task.criteria
    low, high = criteria.range
    told = {
        "known": f"Annotators notice an event once {percent(criteria.middle, exact=True)} of it lies in the segment.",
        "several": f"The presence criterion is one of {criteria.name}, each as likely as the others.",
        "law": f"Presence criteria: {criteria.name}; 90 % of them lie between {low:.2g} and {high:.2g}.",
        "rule": f"A segment is present by the rule {criteria.name}."
        if len(criteria) == 1
        else f"A segment is present by one of {criteria.name}, each as likely as the others.",
    }[criteria.kind]
    strong = ByHand.name in task.methods
    by_hand = (
        " Plain segments, other ways to ask and marking by hand are then compared. The best verdict wins that costs at "
        "most three times what the cheapest does. Among those with that verdict, the least wrong time wins that costs "
        "at most half as much again; with a budget, the least wrong time that it pays for."
    )
    chosen = {
        "wrong_time": f"The choice has the least wrong time of ways that find at least {percent(FOUND)} of events and "
        f"review all at most {MAX_REPLAYS} times. Of ways within {percent(EQUAL)} of it ({percent(SLIGHT)} of the "
        f"event time, what the pilot can tell), it is the cheapest.{by_hand if strong else ''}",
        "overlap": "Chosen: the best accuracy of the segments that meet an event (Theorem 2).",
    }[objective]
    if choice.limit in ("budget", "target"):
        part = "what would be without the budget, which pays for a part of it"
        chosen = f"Chosen: {part if choice.limit == 'budget' else 'what comes nearest to the targets'}."
    elif wanted:
        chosen = (
            "Chosen: the cheapest way that meets the targets, if there is one of those that leave less wrong time than "
            f"asking nobody and review everything at most {MAX_REPLAYS} times."
        )
    each = "event" if round(task.n_events, 2) == 1 else "events"
    said = [
        chosen,
        told,
        f"Event lengths: {task.lengths.name}, mean {seconds(task.lengths.mean)}"
        + (", cut to the recording where they are longer." if _longer(task) > 1e-9 else "."),
        f"The work: {task.n_recordings:,.0f} recording{'s' if task.n_recordings != 1 else ''} of "
        f"{seconds(task.recording_length)} with {format_length(task.n_events)} {each} each"
        + (f", {task.n_classes} classes asked for in one pass." if task.n_classes > 1 else "."),
        f"How good labels become: {task.model.described}.",
        f"Cost: {task.cost.description}. A last, shorter segment counts as a clip.",
    ]
    if not criteria.is_noiseless:
        said.append(f"Answers hold noise ({criteria.name}); halving is worked out with it, node by node.")
    said.append("An event is found if a segment that meets the rule on it is labelled present.")
    limits = [f"{word} labels have at most {percent(wrong)} of the event time wrong and find {percent(found)} of events"
              for word, (wrong, found) in VERDICTS.items()]  # fmt: skip
    said.append(f"The verdict: {'; '.join(limits)}; others are poor, or worse than labelling nothing.")
    if strong:
        said.append("By hand, an edge is marked with a spread of 0.1 s, of a fifth of the event if that is less.")
    return said
