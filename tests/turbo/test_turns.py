"""Which way the next call or pass takes, from what each way took so far."""

import pytest

from quickfit.turbo.turns import CallTurns, PassTurns


def call_times(turns, count, *, on_s, off_s):
    """Make calls and return the ways they took."""
    ways = []
    for _ in range(count):
        ways.append(turns.next_is_on())
        turns.add_call(on_s if ways[-1] else off_s, is_on=ways[-1])
    return ways


def test_calls_take_both_ways_in_blocks_and_then_the_faster_one():
    turns = CallTurns()
    ways = call_times(turns, 200, on_s=0.001, off_s=0.1)
    assert ways[:24] == 3 * [False, False, False, False, True, True, True, True]
    assert all(ways[24:])
    assert turns.is_faster
    assert turns.saved_s == pytest.approx(0.099 * (ways.count(True) - 4))  # the first block warms


def test_a_block_of_off_calls_now_and_then_keeps_the_comparison_honest():
    turns = CallTurns()
    ways = call_times(turns, 1000, on_s=0.001, off_s=0.1)
    assert [ways[start : start + 5] for start in (200, 400, 600, 800)] == 4 * [4 * [False] + [True]]
    assert ways[24:].count(False) == 16


@pytest.mark.parametrize("on_s", [pytest.param(0.1, id="slower"), pytest.param(0.0098, id="even")])
def test_what_is_not_faster_is_taken_back(on_s):
    turns = CallTurns()
    ways = call_times(turns, 60, on_s=on_s, off_s=0.01)
    assert turns.is_faster is False
    assert not any(ways[24:])


def test_calls_that_trace_are_not_counted():
    turns = CallTurns()
    call_times(turns, 8, on_s=9.0, off_s=9.0)
    assert (turns.on.count, turns.off.count, turns.is_faster, turns.saved_s) == (0, 0, None, None)


def test_times_of_a_million_calls_take_little_memory():
    turns = CallTurns()
    call_times(turns, 20_000, on_s=0.001, off_s=0.1)
    assert len(turns.on.times_s) <= 4096
    assert turns.on.count > 19_000


def take_passes(turns, count, *, on_s, off_s, steps=10):
    """Take passes and return the ways they took."""
    ways = []
    for _ in range(count):
        is_on = turns.next_is_on()
        ways.append(is_on)
        # The pass that fills the memory does all the work.
        step_s = on_s if is_on and turns.fill_s is not None else off_s
        turns.add_pass(is_on=is_on, step_s=step_s, steps=steps, seconds=step_s * steps)
    return ways


def test_the_first_pass_fills_the_memory_and_is_what_later_ones_are_compared_with():
    turns = PassTurns(starts_on=True)
    assert take_passes(turns, 4, on_s=0.1, off_s=1.0) == [True] * 4
    assert turns.is_faster
    assert turns.baseline_s == 1.0
    assert turns.saved_s == pytest.approx(0.9 * 30)


def test_passes_off_are_mixed_in_where_they_are_cheap():
    turns = PassTurns(starts_on=True)
    ways = take_passes(turns, 60, on_s=0.5, off_s=1.0)
    assert ways[:10] == [True] * 10
    assert 2 <= ways.count(False) <= 6
    assert turns.off.count == 10 * ways.count(False)


def test_a_pass_is_off_first_where_nothing_is_known_of_its_size():
    turns = PassTurns()
    assert take_passes(turns, 4, on_s=0.1, off_s=1.0) == [False, True, True, True]
    assert turns.is_faster
    assert (turns.on.count, turns.off.count) == (20, 10)


def test_a_memory_that_does_not_help_is_given_up():
    turns = PassTurns(starts_on=True)
    assert take_passes(turns, 5, on_s=0.99, off_s=1.0) == [True, True, False, False, False]
    assert turns.is_faster is False


def test_a_pass_that_was_never_taken_is_asked_for_again():
    turns = PassTurns(starts_on=True)
    assert [turns.next_is_on() for _ in range(3)] == [True] * 3
    assert turns.passes == 0
