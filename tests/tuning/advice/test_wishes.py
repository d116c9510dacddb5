"""What somebody asks for, and what is said of what makes no sense."""

import math

import pytest

from quickfit.errors import UsageError
from quickfit.tuning.advice.candidates import KINDS
from quickfit.tuning.advice.rows import Kind
from quickfit.tuning.advice.wishes import check_numbers, kind_named, wishes_of
from quickfit.tuning.trials.settings import Setting


def test_nothing_said_means_everything_that_makes_sense():
    wishes = wishes_of(None)
    assert wishes.kinds == set(KINDS)
    assert not wishes.forced


def test_what_is_named_is_tried_in_any_case_and_alone():
    wishes = wishes_of(["xla", "Precision "])
    assert wishes.kinds == wishes.forced == {Kind.XLA, Kind.PRECISION}
    assert wishes_of("xla").kinds == {Kind.XLA}


def test_settings_are_tried_as_they_are_given():
    wishes = wishes_of([Setting(batch=48), Setting()])
    assert wishes.settings == (Setting(batch=48),)
    assert not wishes.kinds
    assert wishes_of(Setting(jit=True)).settings == (Setting(jit=True),)


@pytest.mark.parametrize("settings", [[], [Setting()]])
def test_an_empty_list_is_told(settings):
    with pytest.raises(UsageError, match=r"settings is empty\..*xla, steps, batch"):
        wishes_of(settings)


def test_an_unknown_word_is_told_with_what_there_is():
    with pytest.raises(UsageError) as caught:
        kind_named("step")
    assert "'step' is nothing that can be tried. Did you mean steps?" in str(caught.value)
    assert "xla, steps, batch, precision, threads" in str(caught.value)


@pytest.mark.parametrize("budget_s", [0, -5, 3])
def test_a_budget_that_is_far_too_small_is_told_at_once(budget_s):
    with pytest.raises(UsageError, match=r"is too small.*\n.*--budget 3m"):
        check_numbers(budget_s, None)


@pytest.mark.parametrize("budget_s", [math.nan, math.inf])
def test_a_budget_that_is_no_length_of_time_is_told(budget_s):
    with pytest.raises(UsageError, match=r"is no length of time.\n.*--budget 3m"):
        check_numbers(budget_s, None)


def test_no_steps_left_is_told():
    with pytest.raises(UsageError, match="0 steps left: nothing is left to train"):
        check_numbers(180, 0)
    check_numbers(180, 1)
