"""A budget in which nothing can be measured is refused with the number that is needed."""

import io

import pytest

from quickfit.errors import UsageError
from quickfit.fixing.tuned_budget import LEAST_S, Pace, Watching, check_budget, check_least
from quickfit.lab.budget import Budget
from quickfit.launch.target import Target

MODULE = Target(module="proj.main", args=("4",))


def budget(seconds, watched_s=0.0):
    """Return a budget of which watching has taken some."""
    now = [0.0]
    made = Budget(seconds, clock=lambda: now[0])
    now[0] = watched_s
    return made


def test_a_setting_needs_its_results_and_three_pairs():
    pace = Pace(10.0, 0.5)
    assert pace.setting_s == (10 + 16) + 3 * (10 + 10)
    assert pace.all_s(2) == 26 + 2 * 86


def test_too_little_is_refused_with_what_is_needed():
    with pytest.raises(UsageError) as caught:
        check_budget(MODULE, budget(90.0, 50.0), Pace(10.0, 0.5), 2)
    assert str(caught.value) == (
        "proj.main: a budget of 90 s is too small for it. It takes 10 s to its first step, and was"
        " watched for 50 s; to prove one setting, its results and 3 pairs, takes about 1 min 52 s"
        " more, and all 2 of them about 3 min 18 s.\n"
        "Give more:\n    quickfit tune --budget 248s -m proj.main 4"
    )


def test_one_setting_is_not_told_about_the_others():
    with pytest.raises(UsageError, match=r"takes about 1 min 52 s more\.\n"):
        check_budget(MODULE, budget(90.0), Pace(10.0, 0.5), 1)


def test_enough_for_one_is_enough():
    check_budget(MODULE, budget(112.0), Pace(10.0, 0.5), 7)


def test_what_watching_took_is_not_there_for_settings():
    check_budget(MODULE, budget(162.0, 50.0), Pace(10.0, 0.5), 1)
    with pytest.raises(UsageError, match="was watched for 51 s"):
        check_budget(MODULE, budget(162.0, 51.0), Pace(10.0, 0.5), 1)


def test_watching_ends_with_the_budget():
    told = io.StringIO()
    Watching(told, MODULE, budget(60.0, 59.0)).tell("12 steps")
    assert told.getvalue() == "quickfit: 12 steps · 1.0 s of the budget left\n"
    with pytest.raises(UsageError) as caught:
        Watching(told, MODULE, budget(60.0, 60.0)).tell("13 steps")
    assert str(caught.value) == (
        "proj.main: the budget of 60 s was over while the script was still being watched"
        " (13 steps).\nGive more:\n    quickfit tune --budget 240s -m proj.main 4"
    )


def test_where_nothing_can_be_tried_no_time_is_needed():
    check_budget(MODULE, budget(1.0), Pace(10.0), 0)


def test_what_is_too_little_for_any_script_is_known_before_it_is_watched():
    check_least(MODULE, LEAST_S)
    with pytest.raises(UsageError) as caught:
        check_least(MODULE, 5.0)
    assert str(caught.value) == (
        "proj.main: a budget of 5.0 s is too small: no trial of a script is begun with less than"
        " 40 s left.\nA small script needs some minutes:\n"
        "    quickfit tune --budget 10m -m proj.main 4"
    )
