"""Tests of the answer about 16 bits and how it reads."""

import pytest

from quickfit.measuring.intervals import Measured
from quickfit.tuning.precision.advice import Answer, advice_of
from quickfit.tuning.precision.hardware import Outlook, Prospect
from quickfit.tuning.precision.measuring import Comparison, Refused, Side
from quickfit.tuning.precision.survey import Reason
from quickfit.tuning.trials.answers import Learned

GOOD = Prospect("mixed_bfloat16", Outlook.GOOD, "this CPU multiplies in bfloat16")
NONE = Prospect("mixed_bfloat16", Outlook.NONE, "this CPU has no units for 16 bits")
UNKNOWN = Prospect("mixed_float16", Outlook.UNKNOWN, "nobody knows")


def measured(low, mean, high, pairs=3):
    full = Side(0.001, 0.002, 100_000_000, Learned(960, 0.7, 0.51))
    half = Side(0.001 / mean, 0.002 / mean, 60_000_000, Learned(960, 0.7, 0.52))
    return Comparison(Measured(low, mean, high, pairs), full, half, 32)


SLOWER = measured(0.0, 0.25, float("inf"), pairs=1)


def test_a_proven_gain_is_a_yes_with_the_lines():
    advice = advice_of(GOOD, [], measured(1.2, 1.3, 1.4))
    assert advice.answer is Answer.YES
    assert advice.policy == "mixed_bfloat16"
    assert advice.lines[0].startswith('keras.config.set_dtype_policy("mixed_bfloat16")')


@pytest.mark.parametrize("prospect", [GOOD, UNKNOWN])
def test_without_a_measurement_promising_hardware_is_a_maybe(prospect):
    advice = advice_of(prospect, [], None)
    assert advice.answer is Answer.MAYBE
    assert advice.policy == "float32"
    assert advice.lines


def test_without_units_it_is_a_no_without_a_measurement_too():
    advice = advice_of(NONE, [], None)
    assert (advice.answer, advice.policy, advice.lines) == (Answer.NO, "float32", ())


def test_the_lower_bound_decides():
    assert advice_of(GOOD, [], measured(1.05, 1.2, 1.3)).answer is Answer.YES
    assert advice_of(GOOD, [], measured(1.049, 1.2, 1.3)).answer is Answer.MAYBE
    assert advice_of(GOOD, [], measured(0.98, 1.02, 1.06)).answer is Answer.NO


def test_a_gain_that_is_not_proven_is_a_no_where_the_hardware_has_no_units():
    assert advice_of(NONE, [], measured(0.9, 1.1, 1.3)).answer is Answer.NO


def test_a_measured_gain_counts_more_than_what_the_hardware_promises():
    assert advice_of(NONE, [], measured(1.2, 1.3, 1.4)).answer is Answer.YES


def test_a_no_names_the_slowdown_that_was_measured():
    text = repr(advice_of(NONE, [], SLOWER))
    assert text.splitlines()[0] == "16 bits: no, float32"
    assert "measured: mixed_bfloat16 trains 4.0× slower (250/s against 1,000/s samples" in text
    assert "4.0× the CPU time; one pair of processes)" in text


def test_the_loss_after_equal_samples_stands_beside_the_speed():
    text = repr(advice_of(GOOD, [], measured(1.2, 1.3, 1.4)))
    assert "loss after 960 samples: 0.7 → 0.51 in float32, 0.7 → 0.52 in mixed_bfloat16" in text
    assert "memory at the most: 100 MB in float32, 60 MB in mixed_bfloat16" in text
    assert "1.2× to 1.4× over 3 pairs of processes" in text


def test_a_small_gain_is_said_not_to_count():
    text = repr(advice_of(GOOD, [], measured(0.98, 1.02, 1.06)))
    assert "1.02× as fast" in text
    assert text.splitlines()[2].endswith(", which is no gain that counts")


def test_a_gain_that_is_not_proven_is_said_to_be_so():
    text = repr(advice_of(GOOD, [], measured(0.9, 1.3, 1.9)))
    assert ", not proven: the lower end must reach 1.05×" in text


def test_a_model_that_does_not_train_in_16_bits_is_a_no_with_its_own_words():
    advice = advice_of(GOOD, [], Refused("error: TypeError: a matmul of two types"))
    assert advice.answer is Answer.NO
    assert advice.measured is None
    assert "does not train in mixed_bfloat16 as it is: error: TypeError: a matmul" in repr(advice)


def test_a_model_that_is_in_16_bits_already_is_led_back_where_they_cost():
    advice = advice_of(NONE, [], SLOWER, current="mixed_float16")
    assert (advice.tried, advice.policy) == ("mixed_float16", "float32")
    assert "to change it back:" in repr(advice)
    assert 'keras.config.set_dtype_policy("float32")' in repr(advice)


def test_a_model_that_is_in_16_bits_already_stays_so_where_they_gain():
    advice = advice_of(GOOD, [], measured(1.2, 1.3, 1.4), current="mixed_float16")
    assert (advice.policy, advice.lines) == ("mixed_float16", ())


def test_findings_of_the_model_are_among_the_reasons():
    advice = advice_of(GOOD, [Reason("size", "the model is small")], None)
    assert "  - the model is small" in repr(advice)
    assert "  to try it:" in repr(advice)
