"""Annotations of many recordings, column-wise, with every recording's length and whether it was annotated.

A recording without events is data: it is kept, counted and written like any other. ``events`` holds what is there,
``answers`` what annotators said of segments, ``timelines`` the flat arrays that compiled code works on.
"""

from .answers import Answers as Answers
from .events import COLUMNS as COLUMNS
from .events import Events as Events
from .events import late_words as late_words
from .table import Reading as Reading
from .timelines import Timelines as Timelines
