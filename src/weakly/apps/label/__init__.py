"""`weakly label`: hear a segment, press a key, and know how good the labels are.

``session`` (who hears what next, over the campaign's store), ``media`` (the sound and the picture of a segment),
``card`` and ``measure`` (how a person hears), ``live`` (how good the labels are by now), ``team``, ``access`` (tokens),
``app`` (the addresses) and ``campaign`` (from recordings to the page and to the exports). ``client`` asks from Python.
"""

from .client import Client
from .profile import AnnotatorProfile, CriterionPosterior

__all__ = ["AnnotatorProfile", "Client", "CriterionPosterior"]
