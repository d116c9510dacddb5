"""The time for making candidates."""

import pytest

from quickfit.compression.shrinking.budget import Budget
from quickfit.errors import UsageError


class Clock:
    now = 100.0

    def __call__(self):
        return self.now


def test_there_is_room_until_the_next_one_would_take_time_from_measuring():
    clock = Clock()
    budget = Budget(100, clock)
    assert budget.has_room()
    budget.begin()
    clock.now += 30
    budget.end()
    assert budget.has_room()  # 30 gone, 30 more make 60 of 70
    clock.now += 11
    assert not budget.has_room()
    assert budget.spent_s == 41


@pytest.mark.parametrize("total_s", [0, -1, float("nan")])
def test_a_budget_is_a_number_of_seconds(total_s):
    with pytest.raises(UsageError, match="it is a number of seconds above 0"):
        Budget(total_s)


def test_short_ones_fit_where_long_ones_do_not():
    clock = Clock()
    budget = Budget(100, clock)
    for sort, taken_s in (("file", 2), ("model", 30)):
        budget.begin()
        clock.now += taken_s
        budget.end(sort)
    clock.now += 28  # 60 of 70 are gone
    assert budget.has_room("file")
    assert not budget.has_room("model")
    assert not budget.has_room("new")
