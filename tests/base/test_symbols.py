"""The table of symbols and the door that checks them."""

import numpy as np
import pytest

from weakly import InvalidInput
from weakly.base.symbols import SYMBOLS, check, choice, whole


@pytest.mark.parametrize("symbol", SYMBOLS.values(), ids=lambda symbol: symbol.name)
def test_typical_values_lie_in_the_domain(symbol):
    low, high = symbol.typical
    assert low < high
    assert not symbol.excludes(np.array([max(low, 1e-9), high])).any()
    assert symbol.excludes(np.array([np.nan])).all()
    assert f"${symbol.latex}$" in symbol.label


@pytest.mark.parametrize("symbol", SYMBOLS.values(), ids=lambda symbol: symbol.name)
def test_the_ends_are_open_or_closed_as_written(symbol):
    assert bool(symbol.excludes(np.array([symbol.low]))[0]) == (symbol.domain[0] == "(")
    assert bool(symbol.excludes(np.array([symbol.high]))[0]) == (symbol.domain[-1] == ")")
    with pytest.raises(InvalidInput, match=f"{symbol.name} must be .*got"):
        check(symbol.name, symbol.low - 1)


def test_numbers_become_float64():
    assert check("event_length", 1).dtype == np.float64
    assert check("event_length", [1, 2]).dtype == np.float64
    assert check("event_length", np.float32(0.5)).dtype == np.float64


@pytest.mark.parametrize("value", ["1", b"1", None, [1, "a"], object(), {}])
def test_what_is_no_number_is_refused(value):
    with pytest.raises(InvalidInput, match="segment_length must be a number > 0, got"):
        check("segment_length", value)


def test_messages_guess_the_slip():
    with pytest.raises(InvalidInput, match=r"presence_criterion must be in \(0, 1\], got 50; a percentage\?"):
        check("presence_criterion", 50)
    with pytest.raises(InvalidInput, match=r"got -2 at position 3; an offset before its onset\?"):
        check("event_length", [[1, 2], [3, -2]])
    with pytest.raises(InvalidInput, match=r"seconds must be > 0"):
        check("segment_length", 0, called="seconds")
    with pytest.raises(InvalidInput, match="did you mean 'event'"):
        choice("weighting", "evnt", ("event", "segment"))


def test_whole_numbers_are_taken_up_to_their_limits():
    assert [whole("votes", value, least=2, most=4) for value in (2, 3.0, np.int64(4))] == [2, 3, 4]
    for value in (1, 5, 2.5, True, "3", np.nan, None):
        with pytest.raises(InvalidInput, match="votes must be a whole number"):
            whole("votes", value, least=2, most=4)
