"""From answers back to events: the exact posterior of a timeline, given what annotators said of its segments.

Everything rests on one recursion over all timelines of a recording (:mod:`.kernels`), under a process of events
(:class:`Renewal`: law of lengths, rate, step) and a way of answering (an ``Annotator`` or a ``PresenceRule``).

What others build on:

``posterior(segments, present, renewal=, recording_length=, annotator=, annotators=None)``
    one recording: queries and answers in, a :class:`Posterior` out. A minute of recording at a step of .1 to .25 s
    takes a millisecond or two, so run it again whenever an answer comes in.
``Posterior.active, .edges``
    P(an event is under way) per step, and the ends of the steps in seconds; ``.n_events``, ``.event_seconds``,
    ``.wrong_time`` (expected seconds of wrong label, if each step gets its likelier one), ``.log_likelihood``.
``Posterior.satisfied(segments)``, ``.present(segments)``, ``.information(segments)``
    for many further segments at once and exactly: P(the rule is satisfied), P(the answer is present), and the bits that
    the answer is expected to tell about the timeline.
``Posterior.sample(n, rng=)``
    whole timelines: sample, onset, offset.
``expected_wrong_time(segments, renewal=, recording_length=, annotator=, n=200, rng=)``
    for plans: wrong seconds per recording that remain when these segments are answered, and the standard error.
``outlook(timelines, asking, who=, lengths=None, shortest=, rng=)``
    for plans and evaluations: what ``infer`` makes of the answers about known events, held against them; ``windows``
    and ``halving`` of :mod:`.outlook` say what is asked.
``Renewal(lengths, event_rate, step)``
    the process; ``Renewal.from_hazard`` where the rate is per second without event; ``Mixed`` where recordings differ.
``infer(answers, ...)``
    many recordings and classes, with the rate, the law of lengths and the criterion estimated where they are left out.
"""

from .estimation import infer
from .hearing import Hearing
from .outlook import Outlook, outlook
from .posterior import Contradiction, Posterior, expected_wrong_time, posterior
from .renewal import Mixed, Renewal
from .result import Inference

__all__ = [
    "Contradiction",
    "Hearing",
    "Inference",
    "Mixed",
    "Outlook",
    "Posterior",
    "Renewal",
    "expected_wrong_time",
    "infer",
    "outlook",
    "posterior",
]
