"""Sentences and decisions from measured numbers."""

import pytest

from quickfit.compression.quantizing.advice import (
    advice_on_speed,
    advice_on_training,
    is_training_worth_it,
)
from quickfit.errors import UsageError


def test_int8_that_is_slower_is_called_so():
    text = advice_on_speed(float_s=0.055e-3, int8_s=0.080e-3)
    assert text.startswith("int8 is 1.5× slower than float32 on this CPU (80 µs against 55 µs).")
    assert "saves space, not time" in text


def test_int8_that_is_faster_is_called_so():
    text = advice_on_speed(float_s=4e-3, int8_s=2e-3)
    assert text == "int8 is 2.0× faster than float32 on this CPU (2.0 ms against 4.0 ms)."


def test_a_difference_within_noise_is_none():
    assert "as fast as float32" in advice_on_speed(float_s=1e-3, int8_s=1.04e-3)


@pytest.mark.parametrize("latency", [0.0, -1.0, float("nan"), float("inf")])
def test_a_latency_that_is_none_is_refused(latency):
    with pytest.raises(UsageError, match=r"int8_s=.*a positive number of seconds"):
        advice_on_speed(1e-3, latency)


@pytest.mark.parametrize(
    ("before", "after", "is_worth_it"),
    [(0.99, 0.97, True), (0.99, 0.98, False), (0.983, 0.983, False), (0.9, 0.95, False)],
)
def test_training_is_offered_from_more_than_a_point(before, after, is_worth_it):
    assert is_training_worth_it(before, after) is is_worth_it
    assert ("fake_quantised()" in advice_on_training(before, after)) is is_worth_it


def test_the_loss_is_told_in_points():
    assert "int8 loses 2.0 points (0.990 → 0.970)" in advice_on_training(0.99, 0.97)
    assert advice_on_training(0.9850, 0.9800).startswith("int8 loses 0.5 points: too little")
    assert advice_on_training(0.98, 0.98) == "int8 loses nothing (0.980 → 0.980)."


def test_percents_are_refused():
    with pytest.raises(UsageError, match=r"float_accuracy=98\.3: an accuracy is from 0 to 1"):
        is_training_worth_it(98.3, 97.1)
