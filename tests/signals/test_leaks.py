"""Growth of memory that goes on, told from growth that ends."""

import math
import random

import pytest

from memory_runs import filling, flat, memory_run, rising
from quickfit.errors import SignalMissing
from quickfit.signals.leaks import goes_on, memory_leak, pools_bytes, rate_interval


def swinging(level, by, seed=1):
    """Return a level with noise on it: batches that come and go."""
    draws = random.Random(seed)
    return lambda at_s: level(at_s) + draws.uniform(-by, by)


def test_growth_is_told_with_its_rate_and_its_end():
    leak = memory_leak(memory_run(rss=rising(2e6, 6e8)))
    assert leak.per_step == pytest.approx(2e5, rel=0.03)
    assert leak.in_s == pytest.approx((8e9 - 6.82e8) / 2e6, rel=0.01)
    assert leak.asked.total == pytest.approx(leak.growth.total)
    assert [fact.unit for fact in leak.evidence()] == ["bytes", "bytes"]


def test_the_limit_of_a_container_is_what_counts():
    facts = {"memory_limit_bytes": 10**9, "memory_bytes": 64 * 10**9}
    signals = memory_run(rss=rising(2e6, 6e8), cgroup_bytes=flat(9e8), facts=facts)
    assert memory_leak(signals).in_s == pytest.approx(50, rel=0.01)


@pytest.mark.parametrize(
    "rss",
    [
        pytest.param(swinging(rising(3e6, 6e8), 2e7), id="a leak between batches that swing"),
        pytest.param(lambda at_s: 6e8 + 2e7 * (at_s // 4), id="in lumps"),
    ],
)
def test_a_leak_is_seen_through(rss):
    assert memory_leak(memory_run(rss=rss)) is not None


@pytest.mark.parametrize(
    "rss",
    [
        pytest.param(flat(6e8), id="flat"),
        pytest.param(swinging(flat(6e8), 1e8), id="it swings"),
        pytest.param(rising(2e5, 6e8), id="8 MB in 40 s: as healthy runs have it"),
        pytest.param(filling(1e7, 25, 6e8), id="a cache that is full"),
        pytest.param(lambda at_s: 6e8 + 2e8 * (1 - math.exp(-at_s / 8)), id="pools that fill"),
        pytest.param(lambda at_s: 6e8 + 1e8 * (at_s > 20), id="one jump"),
        pytest.param(lambda at_s: 6e8 + 1e8 * (at_s > 20) + 1e8 * (at_s > 30), id="two jumps"),
        pytest.param(lambda at_s: 6e8 + 2e7 * (at_s % 10), id="comes and goes"),
        pytest.param(rising(-2e6, 9e8), id="shrinks"),
    ],
)
def test_what_ends_is_no_leak(rss):
    assert memory_leak(memory_run(rss=rss)) is None


def test_pages_that_had_been_asked_for_are_no_leak():
    signals = memory_run(rss=rising(5e6, 6e8), asked=flat(4e9))
    assert not memory_leak(signals).is_asked
    assert signals.leak is None
    # An older recording does not tell, and a leak it is.
    signals = memory_run(rss=rising(5e6, 6e8))
    for row in signals.recording.main.tables["machine"]:
        row["data_bytes"] = None
    assert memory_leak(signals).asked is None
    assert memory_leak(signals).is_asked


def test_pages_of_a_mapped_file_are_not_counted():
    assert memory_leak(memory_run(rss=rising(5e6, 6e8), file_bytes=rising(5e6))) is None


def test_large_growth_is_certain_after_a_few_readings_and_small_growth_is_not():
    # 9 MB with every step, in ten readings; 50 kB with every step, in eighty.
    assert memory_leak(memory_run(seconds=7, rss=rising(9e7, 6e8))) is not None
    assert memory_leak(memory_run(seconds=12, rss=rising(5e5, 6e8))) is None
    assert memory_leak(memory_run(seconds=40, rss=rising(5e5, 6e8))) is None


def test_without_readings_nothing_is_said():
    with pytest.raises(SignalMissing, match="readings of memory"):
        memory_leak(memory_run(seconds=4, rss=rising(9e7, 6e8)))


def test_the_rate_has_an_interval_that_its_parts_give():
    leak = memory_leak(memory_run(rss=rising(2e6, 6e8)))
    assert leak.low == pytest.approx(2e5, rel=0.05)
    assert leak.high == pytest.approx(2e5, rel=0.05)
    leak = memory_leak(memory_run(rss=swinging(rising(3e6, 6e8), 2e7)))
    assert leak.low < 3e5 < leak.high


def wandering(seed):
    """Return a level that goes up or down by chance, from reading to reading."""
    draws, level, points = random.Random(seed), 0.0, []
    for step in range(64):
        level += draws.gauss(0, 1e7)
        points.append((float(step), level))
    return points


def test_what_wanders_is_seldom_taken_for_growth():
    intervals = [rate_interval(wandering(seed)) for seed in range(300)]
    assert sum(low > 0 for low, _ in intervals) <= 0.08 * len(intervals)
    # What else a leak must do, it hardly ever does too.
    told = [seed for seed in range(300) if rate_interval(wandering(seed))[0] > 0
            and goes_on(wandering(seed))]  # fmt: skip
    assert len(told) <= 0.05 * 300


def test_pools_explain_less_in_a_longer_time():
    assert pools_bytes(3) == 1e8
    assert pools_bytes(30) == 3e7
    assert pools_bytes(3600) == 9e6


def test_parts_without_readings_say_nothing():
    assert not goes_on([(0.0, 1.0), (1.0, 2.0), (9.0, 9.0)])
    assert not goes_on([(5.0, float(n)) for n in range(20)])
