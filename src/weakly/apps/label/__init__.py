"""`weakly label`: hear a segment, press a key, and know how good the labels are.

``session`` (who hears what next, over the campaign's store), ``follow_up`` (what is asked after answers; how a person
hears), ``media`` (the sound and the picture of a segment), ``live`` (how good the labels are by now), ``access``
(tokens), ``routes`` (the addresses) and ``launch`` (from recordings to the page and to the exports). ``client`` asks
from Python.
"""

from .client import Client
from .follow_up import AnnotatorProfile

__all__ = ["AnnotatorProfile", "Client"]
