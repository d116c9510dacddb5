"""Each way to be stuck is told apart from the others, and from what is only slow."""

import pytest

from quickfit.liveness import in_processes, reasons
from quickfit.liveness.reasons import reason
from scenes import MOVING, STUCK, TWINS, cause_of


@pytest.fixture(autouse=True)
def nobody_listens(monkeypatch):
    """Answer for the peers of a cluster: no connection leaves a test."""
    missing = in_processes.missing_workers
    asked = [m if m is not missing else _without_network for m in reasons._MECHANISMS]
    monkeypatch.setattr(reasons, "_MECHANISMS", tuple(asked))


def _without_network(scene):
    return in_processes.missing_workers(scene, answers=lambda peer: False)


@pytest.mark.parametrize("name", STUCK)
def test_says_why_it_does_not_move(name):
    found = reason(STUCK[name])
    assert found is not None
    assert found.cause == cause_of(name)
    assert len(found.evidence) >= 2
    assert found.advice


@pytest.mark.parametrize("name", MOVING)
def test_says_what_takes_long_and_gets_there(name):
    found = reason(MOVING[name])
    assert found is not None
    assert (found.cause, found.moves) == (name, True)
    assert len(found.evidence) >= 2


@pytest.mark.parametrize("name", TWINS)
def test_says_nothing_of_the_twin_that_is_slow_and_moves(name):
    found = reason(TWINS[name])
    assert found is None or found.moves


def test_the_same_cause_at_the_same_line_is_the_same_reason():
    one, other = reason(STUCK["held-lock"]), reason(STUCK["held-lock"])
    assert one.key == other.key == ("held-lock", "train.py:3")
    assert reason(STUCK["swap-thrash"]).key != one.key
