"""Who has a turn when, and what is made of the times."""

import pytest

from compression.weighing.timings import TickingClock, ticking
from quickfit.compression.weighing.turns import MIN_CALLS, WARM_UPS, Clocks, in_turns, timed
from quickfit.errors import UsageError


class Machine:
    """A machine whose clock goes on when a job runs, by as much as the job takes."""

    def __init__(self, *durations_s):
        self.now_s, self.cpu_s = 0.0, 0.0
        self._durations_s = list(durations_s)

    def job(self):
        taken_s = self._durations_s.pop(0) if len(self._durations_s) > 1 else self._durations_s[0]
        self.now_s += taken_s
        self.cpu_s += 2 * taken_s

    @property
    def clocks(self):
        return Clocks(lambda: self.now_s, lambda: self.cpu_s)


def test_everybody_is_warmed_up_and_then_has_one_turn_per_round_every_second_one_backwards():
    calls = []
    jobs = {name: lambda name=name: calls.append(name) for name in "abc"}
    in_turns(jobs, rounds=3, clocks=ticking())
    turn = MIN_CALLS + 1  # the first one of a turn is not counted
    order = "a" * WARM_UPS + "b" * WARM_UPS + "c" * WARM_UPS
    for name in "abc" + "cba" + "abc":
        order += name * turn
    assert "".join(calls) == order


def test_a_turn_tells_the_shortest_and_the_middle_call_without_the_first():
    machine = Machine(9.0, 3.0, 1.0, 2.0, 5.0, 4.0)
    turn = timed(machine.job, 0.1, machine.clocks)
    assert (turn.fastest_s, turn.median_s) == (1.0, 3.0)
    assert turn.cpu_s == pytest.approx(2 * 3.0)


def test_short_calls_are_repeated_until_the_turn_is_over():
    machine, calls = Machine(0.01), []
    timed(lambda: (machine.job(), calls.append(1)), 0.1, machine.clocks)
    assert 10 <= len(calls) - 1 <= 11  # sums of 0.01 are not exact


def test_there_is_one_turn_per_round_for_each_job():
    timings = in_turns({"a": lambda: None, "b": lambda: None}, rounds=4, clocks=ticking())
    assert {name: len(one.turns) for name, one in timings.items()} == {"a": 4, "b": 4}
    assert timings["a"].minimum_s == timings["a"].median_s == 1.0


def test_each_round_is_told():
    told = []
    in_turns({"a": lambda: None}, rounds=2, clocks=ticking(), tell=told.append)
    assert told == ["round 1 of 2", "round 2 of 2"]


def test_one_round_is_refused():
    with pytest.raises(UsageError, match="rounds=1: it takes 2 or more"):
        in_turns({"a": lambda: None}, rounds=1)


def test_the_clocks_are_those_of_the_machine_unless_told():
    assert Clocks().wall() > 0
    assert Clocks().cpu() > 0
    assert TickingClock(2.0)() == 2.0
