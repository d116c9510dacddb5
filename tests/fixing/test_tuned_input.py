"""How much can be gained by other input, and how much by settings."""

import pytest

from quickfit.fixing.tuned_input import input_gain, input_text, is_limit
from quickfit.launch.target import Target

TARGET = Target(module="proj.main", args=("4",))


def test_a_wait_that_does_not_dominate_is_not_the_limit():
    assert input_text(0.34, TARGET) == (
        "34 % of a step waits for data. Without the wait it is 1.52× as fast at most; settings"
        " gain at most the other 66 %.\nFor the input: quickfit fix -m proj.main 4"
    )


def test_a_wait_of_half_a_step_is_the_limit():
    text = input_text(0.6, TARGET)
    assert text.startswith("Your input is the limit: 60 % of a step waits for data. Without the")
    assert "2.50× as fast at most; settings gain at most the other 40 %." in text
    assert text.endswith("\nFirst: quickfit fix -m proj.main 4")


@pytest.mark.parametrize("share", [None, 0.0, 0.29])
def test_a_short_wait_is_not_worth_a_word(share):
    assert input_text(share, TARGET) == ""


def test_what_was_not_measured_is_no_limit():
    assert (is_limit(None), is_limit(0.49), is_limit(0.5)) == (False, False, True)
    assert (input_gain(None), input_gain(0.5), input_gain(1.0)) == (None, 2.0, None)


def test_a_step_that_only_waits_has_no_number():
    assert "100 % of a step waits for data. Settings gain at most" in input_text(1.0, TARGET)
