"""From answers back to events and people: every probability of what was not seen.

The exact posterior of a timeline rests on one recursion over all timelines of a recording (``kernels``), under a
process of events (:class:`~.renewal.Renewal`: law of lengths, rate, step) and an answer model.

``renewal.TimelinePosterior``
    what every posterior of a timeline offers: ``active`` per step between ``edges``, ``n_events``, ``event_seconds``,
    ``wrong_time``, ``sample``, ``events``, and ``information`` of further segments.
``chain.posterior(segments, present, renewal=, recording_length=, annotator=, annotators=None)``
    the exact one: one recording, its process and annotators known. A minute of recording at a step of .1 to .25 s takes
    a millisecond or two.
``particles.particle_posterior(segments, present, recording_length=, expected=)``
    the same as particles, which also learn how people answer: for queries that are chosen one by one.
``renewal``, ``fitting``
    the process of events: the law of lengths from timelines that recordings cut, and rate and law from answers.
``criterion``, ``law``
    how sensitive people were: the presence criterion with an interval, or why it cannot be known.
"""
