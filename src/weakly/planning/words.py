"""The plan in words: the answer first, then what was assumed and what would change it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..cost import hours
from .methods import percent, seconds
from .targets import Choice, Target
from .task import Row, Task


def count(value: float) -> str:
    """A number of things as people say it.

    >>> count(2139.6), count(1.0)
    ('2,140', '1')
    """
    return f"{value:,.0f}"


def instruction(made: Row) -> str:
    """What to do, for one row of the comparison."""
    width, settings = made["segment_length"], made["settings"]
    if made["method"] == "windows":
        hop, needed, per_cell = settings["hop"], settings["votes_needed"], settings["windows_per_cell"]
        votes = f"{needed} of the {per_cell} windows over it {'is' if needed == 1 else 'are'}"
        return f"Label {seconds(width)} windows, one every {seconds(hop)}, and call a moment present if {votes}"
    if made["method"] == "bisection" and settings["levels"] > 0:
        start = seconds(settings["start_length"])
        return f"Ask {start} segments and halve those that are present, down to {seconds(width)}"
    if width is None:
        return f"Label the segments of the {made['name']}"
    return f"Label {seconds(width)} segments"


def expectation(task: Task, made: Row) -> str:
    """What to expect of it."""
    work = (
        f"expect {percent(made['overlap_accuracy'])} accuracy near events, find {_share(made['event_recall'])} events, "
        f"{count(made['n_queries'])} queries, {hours(made['listened'])} of listening"
    )
    if task.cost.annotators > 1:
        work += f" for each of {task.cost.annotators} annotators"
    return f"{work}, {task.cost.words(made['cost'])}" if task.cost.query_cost_share is None else work


def _share(value: float) -> str:
    return "all" if value >= 1 - 1e-9 else f"{percent(value)} of"


def alternatives(task: Task, chosen: Row, rows: list[Row]) -> list[str]:
    """What another method would change, where it changes something."""
    said = []
    halving = next((made for made in rows if made["method"] == "bisection"), None)
    same = halving is not None and abs(halving["segment_length"] / (chosen["segment_length"] or 1) - 1) < 1e-6
    if halving and same and chosen["method"] == "fixed" and halving["settings"]["levels"] > 0:
        saved = 1 - halving["cost"] / chosen["cost"]
        if saved > 0.02:
            said.append(
                f"Halving from {seconds(halving['settings']['start_length'])} gives the same labels for "
                f"{count(halving['n_queries'])} queries and {percent(saved)} less cost."
            )
    windows = [made for made in rows if made["method"] == "windows"]
    if windows and chosen["method"] != "windows" and chosen["wrong_time"] > 0:
        made = windows[0]
        ratio = made["wrong_time"] / chosen["wrong_time"]
        if ratio < 0.95:
            settings = made["settings"]
            said.append(
                f"Overlapping windows ({seconds(made['segment_length'])} every {seconds(settings['hop'])}) would "
                f"{_less(ratio)} for {_times(made['n_queries'] / chosen['n_queries'])} the queries."
            )
    return said


def _less(ratio: float) -> str:
    return "halve the wrong time" if 0.45 <= ratio <= 0.55 else f"cut the wrong time by {percent(1 - ratio)}"


def _times(ratio: float) -> str:
    if 0.95 <= ratio < 1.05:
        return "as many of"
    return "twice" if 1.9 <= ratio <= 2.1 else f"{ratio:.1f} times"


def answer(
    task: Task, choice: Choice, rows: list[Row], *, wanted: tuple[Target, ...], budget: float | None, advice: list[str]
) -> str:
    """The whole answer, a few sentences."""
    chosen = choice.row
    core = f"{instruction(chosen)}: {expectation(task, chosen)}."
    if not choice.reachable:
        goal = " and ".join(each.text for each in wanted) or f"a budget of {task.cost.words(budget or 0.0)}"
        within = f" within {task.cost.words(budget)}" if wanted and budget is not None else ""
        if choice.limit == "budget":
            least = task.cost.words(chosen["cost"])
            most = task.cost.words(budget or 0.0)
            core = f"Not reachable: nothing can be labelled for {most}; the cheapest costs {least}. {core}"
        else:
            values = ", ".join(f"{each.word} {_value(each.word, chosen)}" for each in wanted)
            core = f"Not reachable: {goal}{within}. The best is {values}. {core}"
    elif wanted:
        core += f" It is the cheapest way that meets {' and '.join(each.text for each in wanted)}."
    elif budget is not None:
        core += f" It is the best that {task.cost.words(budget)} can buy."
    return " ".join([core, *alternatives(task, chosen, rows), *advice])


def notes(rows: Iterable[Row]) -> list[str]:
    """Where methods stop making sense; methods with the same note share a line."""
    shared: dict[str, list[str]] = {}
    for made in rows:
        if made["note"]:
            shared.setdefault(made["note"], []).append(made["name"])
    return [f"{'; '.join(names)}: {note}." for note, names in shared.items()]


def _value(word: str, made: Row) -> str:
    return seconds(made[word]) if word == "wrong_time" else percent(made[word])


def assumptions(task: Task, *, inputs: dict[str, Any], wanted: tuple[Target, ...]) -> list[str]:
    """What the numbers rest on."""
    low, high = task.criteria.plausible
    criterion = {
        "known": f"Annotators notice an event once {percent(task.criteria.middle)} of it lies in the segment.",
        "several": f"The presence criterion is one of {task.criteria.name}, each as likely as the others.",
        "law": f"Presence criteria follow {task.criteria.name}; 90 % of them lie between {low:.2g} and {high:.2g}.",
    }[task.criteria.kind]
    goal = {
        "overlap": "accuracy of the segments that meet an event (read it beside the share of events found)",
        "recording": "accuracy over the whole recording, which is the least wrong time",
    }[task.objective]
    said = [
        f"The segment length maximises the {goal}.",
        criterion,
        f"Event lengths: {inputs['lengths']}, mean {seconds(task.lengths.mean)}.",
        f"The work: {count(task.n_recordings)} recording{'s' if task.n_recordings != 1 else ''} of "
        f"{seconds(task.recording_length)} with {task.n_events:.3g} event{'s' if task.n_events != 1 else ''} each"
        + (f", {task.n_classes} classes asked for in one pass." if task.n_classes > 1 else "."),
        f"How good labels become: {task.model.described}.",
        f"Cost: {task.cost.description}. A last, shorter segment counts as a query.",
    ]
    if task.criteria.always or task.criteria.never:
        said.append(
            f"{percent(task.criteria.always)} of answers are present and {percent(task.criteria.never)} absent "
            "whatever is heard."
        )
    said.append(
        "Overlapping windows are tuned for the least wrong time; their accuracy near events counts cells of one hop "
        "and is blind to false presence further away, so compare methods by wrong_time."
    )
    said.append(
        "The oracle hears the true boundaries; it and change points are limits, and are not recommended by themselves."
    )
    return said
