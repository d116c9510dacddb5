"""What counts as better."""

import math

import pytest

from quickfit.compression.distilling.scoring import Score, by_function
from quickfit.errors import UsageError


def test_more_right_answers_beat_a_lower_loss():
    assert Score((0.9, -5.0), "").beats(Score((0.8, -0.1), ""))


def test_with_as_many_right_answers_the_loss_decides_and_a_draw_beats_nothing():
    assert Score((0.9, -1.0), "").beats(Score((0.9, -2.0), ""))
    assert not Score((0.9, -1.0), "").beats(Score((0.9, -1.0), ""))


def test_a_function_is_asked_and_nan_is_worse_than_everything():
    assert by_function(lambda model: model / 2, 1.5) == Score((0.75,), "0.75")
    nothing = by_function(lambda model: math.nan, None)
    assert Score((-1e9,), "").beats(nothing)
    assert not nothing.beats(nothing)


def test_a_function_that_returns_no_number_is_told():
    with pytest.raises(UsageError, match=r"validation\(\) returned \{'a': 1\}, and a number"):
        by_function(lambda model: {"a": 1}, None)
