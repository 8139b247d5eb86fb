"""From answers back to events and people: every probability of what was not seen.

The exact posterior of a timeline rests on one recursion over all timelines of a recording (``kernels``), under a
process of events (:class:`~.renewal.Renewal`: law of lengths, rate, step) and an answer model.

``renewal.TimelinePosterior``
    what every posterior of a timeline offers: ``active`` per step between ``edges``, ``n_events``, ``event_seconds``,
    ``wrong_time``, ``sample``, ``events``, and ``information`` of further segments.
``chain.prepare(segments, present, renewal=, recording_length=, annotator=, annotators=None).posterior(renewal)``
    the exact one: one recording, its process and annotators known. A minute of recording at a step of .1 to .25 s takes
    a millisecond or two.
``particles.particle_posterior(segments, present, recording_length=, expected=)``
    the same as particles, which also learn how people answer: for queries that are chosen one by one.
``renewal``, ``fitting``, ``rates``, ``class_answers``, ``class_posterior``
    the process of events: the law of lengths from timelines that recordings cut; gaps (of one kind, or of two where
    events come in bouts; with a rate that may differ from recording to recording) and law from the answers of many
    recordings; a class with all of its recordings, whether its answers look like those of the process, and what would
    be made of answers that nobody has given yet.
``detector``
    scores of a detector as evidence.
``criterion``, ``law``
    how sensitive people were: the presence criterion with an interval, or why it cannot be known.
"""
