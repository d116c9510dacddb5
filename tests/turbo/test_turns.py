"""Which way the next call takes, from what each way took so far."""

import pytest

from quickfit.turbo.turns import CallTurns


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
