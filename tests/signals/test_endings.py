"""How a script ended, read with suspicion."""

import pytest

from quickfit.signals.endings import cache_lock, emptiness, ended_by

from builders import SCRIPT, run


def ended(told):
    return run(facts={"ended_by": told})


def test_the_error_and_its_line_are_read():
    told = {"type": "ValueError", "message": "no", "file": SCRIPT, "line": 6}
    ending = ended_by(ended(told))
    assert (ending.kind, ending.message, ending.where.text) == (
        "ValueError",
        "no",
        "image = load(path)",
    )


def test_an_error_without_a_line_of_the_users_is_one_all_the_same():
    told = {"type": "ValueError", "message": "no", "file": None, "line": None}
    assert ended_by(ended(told)).where is None


@pytest.mark.parametrize(
    "told", [None, 5, [], {}, {"message": None}, {"message": ["no"]}, "an error"], ids=str
)
def test_what_is_no_ending_is_none(told):
    signals = ended(told)
    assert (ended_by(signals), cache_lock(signals), emptiness(signals)) == (None, None, None)


def test_a_run_that_ended_well_has_no_error():
    assert ended_by(run()) is None
