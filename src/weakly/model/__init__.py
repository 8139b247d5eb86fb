"""What is there and who answers: events, answers, laws of lengths, rules, people, prices, and where segments lie.

``intervals`` (sets of time), ``events`` and ``answers`` (tables), ``event_arrays`` (one class as flat arrays),
``features`` (a signal over time), ``lengths`` (laws of event lengths), ``annotator`` (rules and people: the one place
where an overlap equals the criterion), ``answer_model`` (the one type behind ``presence_criterion=``, ``rule=`` and
``annotator=``), ``crowd`` (several people, compiled), ``placement`` (segments and windows), ``cost`` (prices).

>>> from weakly.model.annotator import PresenceRule
>>> PresenceRule.fraction(0.5).criterion
0.5
"""
