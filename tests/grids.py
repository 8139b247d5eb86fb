"""What the tests of grids share: recordings to draw, and a grid asked and compared."""

import pytest
from hypothesis import strategies as st
from scipy import stats

from weakly.engine import grid
from weakly.engine.tally import EXPOSURE, SCORES
from weakly.model.annotator import Annotator
from weakly.model.intervals import Edge, Placement

EV3 = [(1.0, 2.2), (2.9, 3.3), (7.0, 9.5)]
CRITERIA = [1e-3, 0.1, 0.3, 0.45, 0.5, 0.8, 0.9, 1.0]


@st.composite
def recordings(draw, whole=False):
    """Events of a recording on a grid of 0.05 s (touching, on boundaries) or anywhere; one to twelve of them."""
    length = draw(st.sampled_from([1.0, 2.5, 10.0, 40.0]))
    ticks = 0.05
    if draw(st.booleans()) or whole:
        n = round(length / ticks)
        points = draw(st.lists(st.integers(0, n), min_size=2, max_size=24, unique=True))
        points = sorted(points)[: len(points) // 2 * 2]
        pairs = [(ticks * a, min(length, ticks * b)) for a, b in zip(points[::2], points[1::2])]
    else:
        shares = sorted(draw(st.lists(st.floats(0, 1), min_size=2, max_size=16, unique=True)))
        pairs = [(length * a, length * b) for a, b in zip(shares[::2], shares[1::2]) if b - a > 1e-4]
    return pairs, length


def on_grid(timelines, width, who, *, phase=0.0, edge="truncate"):
    return grid.measure(timelines, width, who, Placement(phase, Edge.of(edge), None, None))


def measured(result, r=0, c=0):
    raw, base = result
    return dict(zip(SCORES, raw[r, c])) | dict(zip(EXPOSURE, base[r]))


def agrees(found, wanted, tolerance=1e-9):
    for name, value in wanted.items():
        assert found[name] == pytest.approx(value, rel=tolerance, abs=tolerance), name


ANNOTATORS = [
    Annotator(presence_criterion=0.5),
    Annotator(presence_criterion=0.5, flip_rate=0.1),
    Annotator(presence_criterion=stats.beta(2, 3), guess_rate=0.1, lapse_rate=0.05),
    Annotator(presence_criterion=stats.beta(2, 3), votes=(2, 3)),
]
