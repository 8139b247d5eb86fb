"""From answers back to events and people: every probability of what was not seen.

The exact posterior of a timeline rests on one recursion over all timelines of a recording (``kernels``), under a
process of events (:class:`~.renewal.Renewal`: law of lengths, rate, step) and a way of answering (``hearing``).

``chain.posterior(segments, present, renewal=, recording_length=, annotator=, annotators=None)``
    one recording: queries and answers in, a :class:`~.chain.Posterior` out, with ``active``, ``edges``, ``n_events``,
    ``event_seconds``, ``wrong_time``, ``log_likelihood``, ``sample``; and for further segments, exactly, ``satisfied``,
    ``present`` and ``information``. A minute of recording at a step of .1 to .25 s takes a millisecond or two.
``chain.expected_wrong_time(segments, renewal=, recording_length=, annotator=, n=200, rng=)``
    wrong seconds per recording that remain when these segments are answered, and the standard error.
``fitting``
    the rate of events and their law of lengths, from the answers of many recordings.
``particles``, ``telling``, ``belief``
    timelines as particles, which also learn how people hear: for queries that are chosen one by one.
``criterion``, ``law``
    how sensitive people were: the presence criterion with an interval, or why it cannot be known.
"""
