"""What is there and who answers: events, answers, laws of lengths, rules, people, prices, and where segments lie.

``intervals`` (sets of time; one class, or features, as flat arrays; segments and windows), ``events`` and ``answers``
(tables), ``lengths`` (laws of event lengths), ``criterion_law`` (laws of criteria), ``annotator`` (rules and people:
the one place where an overlap equals the criterion), ``answer_model`` (the one type behind ``presence_criterion=``,
``rule=`` and ``annotator=``), ``detection`` (whether an event is found), ``cost`` (prices).

>>> from weakly.model.annotator import PresenceRule
>>> PresenceRule.fraction(0.5).criterion
0.5
"""
