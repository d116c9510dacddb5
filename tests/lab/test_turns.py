"""Taking turns, with real processes; and the arithmetic of the marks they leave."""

import os
import sys
import time

import psutil
import pytest

from quickfit.lab.child import Child
from quickfit.lab.turns import (
    Block,
    Comparison,
    Mark,
    Pace,
    compare,
    interleave,
    order_beside,
    take_turns,
)

from launch.sessions import PATIENCE_S

pytestmark = pytest.mark.skipif(not hasattr(os, "killpg"), reason="needs process groups")


@pytest.fixture
def groups():
    """Two stopped children of one idle process each."""
    command = [sys.executable, "-c", "import signal; signal.pause()"]
    with Child(command) as first, Child(command) as second:
        first.pause()
        second.pause()
        yield [first, second]


def running(groups):
    """Return which groups are not stopped, once every signal has arrived."""

    def look():
        states = [psutil.Process(child.pid).status() for child in groups]
        return [n for n, state in enumerate(states) if state != psutil.STATUS_STOPPED]

    deadline = time.monotonic() + PATIENCE_S
    while len(look()) > 1 and time.monotonic() < deadline:
        pass
    return look()


def test_exactly_one_runs_at_any_time_and_every_second_round_goes_backwards(groups):
    seen = []
    blocks = take_turns(groups, rounds=2, block_s=1.0, sleep=lambda s: seen.append(running(groups)))
    assert seen == [[0], [1], [1], [0]]
    assert [block.who for block in blocks] == [0, 1, 1, 0]


def test_what_runs_on_command_is_asked_in_turns():
    asked, rounds = [], []

    def turn(name):
        return lambda: asked.append(name) or len(asked)

    found = interleave({"a": turn("a"), "b": turn("b")}, rounds=2, tell=rounds.append)
    assert asked == ["a", "b", "b", "a"]
    assert found == {"a": [1, 4], "b": [2, 3]}
    assert rounds == [1, 2]


def test_leaves_all_stopped(groups):
    take_turns(groups, rounds=1, block_s=1.0, sleep=lambda s: None)
    assert wait_until_stopped(groups)


def test_leaves_all_stopped_when_interrupted(groups):
    def interrupt(seconds):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        take_turns(groups, rounds=1, block_s=1.0, sleep=interrupt)
    assert wait_until_stopped(groups)


def test_tells_after_every_round(groups):
    told = []
    take_turns(groups, rounds=3, block_s=1.0, sleep=lambda s: None, tell=told.append)
    assert told == [1, 2, 3]


def wait_until_stopped(groups):
    deadline = time.monotonic() + PATIENCE_S
    while running(groups) and time.monotonic() < deadline:
        pass
    return running(groups) == []


def marks(begin_s, step_s, count, *, cpu_s=0.01):
    return [Mark(begin_s + n * step_s, n * cpu_s, n) for n in range(count)]


def test_counts_only_steps_inside_the_own_blocks():
    blocks = [Block(0, 0.0, 1.0), Block(1, 1.0, 2.0), Block(1, 2.0, 3.0), Block(0, 3.0, 4.0)]
    slow = [*marks(0.15, 0.2, 5), *marks(3.15, 0.2, 5)]
    fast = [*marks(1.15, 0.1, 9), *marks(2.15, 0.1, 9)]
    result = compare(blocks, (slow, fast))
    assert (result.first.steps, result.second.steps) == (8, 16)
    assert result.first.step_s == pytest.approx(0.2)
    assert result.second.step_cpu_s == pytest.approx(0.01)
    assert result.speed_up == pytest.approx(2.0)
    assert result.ratios == pytest.approx((2.0, 2.0))


def test_the_pause_between_two_blocks_is_no_step():
    blocks = [Block(0, 0.0, 1.0), Block(1, 1.0, 2.0), Block(1, 2.0, 3.0), Block(0, 3.0, 4.0)]
    one_mark_per_block = [Mark(0.5, 1.0, 1), Mark(3.5, 2.0, 2)]
    result = compare(blocks, (one_mark_per_block, marks(1.2, 0.1, 5)))
    assert result.first.steps == 0
    assert result.ratios == ()
    assert result.empty == (2, 1)


def test_drops_the_first_moments_of_a_block():
    early_and_late = [Mark(0.05, 0.0, 0), Mark(0.5, 1.0, 1), Mark(0.9, 2.0, 2)]
    result = compare([Block(0, 0.0, 1.0), Block(1, 1.0, 2.0)], (early_and_late, []))
    assert result.first == Pace(1, pytest.approx(0.4), pytest.approx(1.0))


def test_spread_is_the_median_distance_from_the_median():
    pace = Pace(1, 1.0, 1.0)
    assert Comparison(pace, pace, (1.8, 2.0, 2.3)).spread == pytest.approx(0.2)
    assert Comparison(pace, pace, ()).spread == 0.0


def test_swapped_tells_the_same_the_other_way_round():
    slow, fast = Pace(1, 0.2, 0.2), Pace(2, 0.1, 0.1)
    swapped = Comparison(fast, slow, (0.4, 0.5), (1, 2)).swapped()
    assert swapped.speed_up == pytest.approx(2.0)
    assert swapped.ratios == pytest.approx((2.5, 2.0))
    assert swapped.empty == (2, 1)


@pytest.mark.parametrize("number", [0, 1])
@pytest.mark.parametrize("count", range(9))
def test_everybody_is_next_to_the_turn_of_the_baseline_it_is_compared_with(count, number):
    order = order_beside(count, number)
    for place in range(count):
        at = order.index((place, False))
        base = order.index(((place + 1) // 2, True))
        assert abs(at - base) == 1


def test_rounds_end_where_there_is_no_more_time():
    found = interleave({"a": lambda: 1}, rounds=5, has_time=lambda number: number <= 2)
    assert found == {"a": [1, 1]}
