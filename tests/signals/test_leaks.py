"""Growth of memory that goes on, told from growth that ends."""

import math
import random

import pytest

from memory_runs import LOOP, filling, flat, memory_run, rising
from quickfit.causes.memory.tensor_list_growth import detect
from quickfit.errors import SignalMissing
from quickfit.signals.leaks import (
    device_leak,
    device_memory,
    first_epoch_left,
    goes_on,
    memory_leak,
    planned_steps,
    pools_bytes,
    rate_interval,
)

from builders import START_S


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


def row(device, used, peak):
    return {"device": device, "at_s": 1000.0, "bytes": used, "peak_bytes": peak}


def test_the_fullest_device_is_told():
    signals = memory_run()
    signals.recording.main.tables["device_memory"] = [
        *(row("GPU:0", 5, 9), row("GPU:0", 7, 12)),
        *(row("GPU:1", 5, None), row("GPU:1", 6, None)),
    ]
    found = device_memory(signals)
    assert (found.device, found.bytes, found.peak_bytes, found.grown) == ("GPU:0", 7, 12, 2)


def test_without_readings_there_is_none():
    assert device_memory(memory_run()) is None


def growing(per_s, **given):
    signals = memory_run(source=LOOP, objects={"tensors": (50, 250)}, **given)
    signals.recording.main.tables["device_memory"] = [
        {"device": "GPU:0", "at_s": START_S + at_s, "bytes": int(1e9 + per_s * at_s),
         "peak_bytes": None}
        for at_s in range(2, 42, 2)
    ]  # fmt: skip
    return signals


def test_tensors_that_are_kept_on_a_gpu_are_told_although_the_machine_has_memory():
    finding = detect(growing(2e6))
    assert finding.exhaustion.what == "GPU memory"
    assert finding.exhaustion.each == pytest.approx(2e5, rel=0.05)
    assert finding.exhaustion.in_s is None


def test_flat_memory_of_a_gpu_is_no_leak():
    assert device_leak(growing(1e4)) is None
    assert detect(growing(1e4)) is None


def planned(steps, **given):
    signals = memory_run(seconds=20, **given)
    signals.recording.main.tables["loops"][0]["facts"] |= {"steps": steps}
    return signals


def test_steps_left_of_the_first_epoch():
    assert first_epoch_left(planned(500)) == 300
    assert first_epoch_left(planned(150)) == 0


def test_a_second_epoch_or_no_plan_leaves_nothing_to_tell():
    assert first_epoch_left(planned(500, epochs=2)) is None
    assert first_epoch_left(planned(None)) is None


def test_one_call_of_many_steps_counts_as_one():
    signals = planned(500)
    signals.recording.main.tables["loops"][0]["facts"]["steps_per_execution"] = 8
    assert planned_steps(signals) == 63
