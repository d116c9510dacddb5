"""The time for all proofs counts down and never below zero."""

from quickfit.lab.budget import Budget


def test_it_counts_down_from_when_it_was_made():
    now = [100.0]
    budget = Budget(60.0, clock=lambda: now[0])
    assert (budget.left_s, budget.deadline_s) == (60.0, 160.0)
    now[0] += 45.0
    assert budget.left_s == 15.0
    assert budget.has(15.0)
    assert not budget.has(15.1)


def test_it_is_never_below_zero():
    now = [0.0]
    budget = Budget(10.0, clock=lambda: now[0])
    now[0] = 99.0
    assert budget.left_s == 0.0
    assert budget.has(0.0)
    assert not budget.has(0.1)
