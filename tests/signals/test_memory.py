"""Level and growth of memory, and what grows."""

import dataclasses

import pytest

from quickfit.signals.memory import _is_steady, _pooled, growing_lines, growth, memory_use
from quickfit.signals.steps import Step, Steps

from builders import SCRIPT, START_S, run

SECONDS, STEPS_PER_S = 60, 10


def steps():
    """Return ten steps a second for a minute."""
    times = [START_S + place / STEPS_PER_S for place in range(1, SECONDS * STEPS_PER_S + 1)]
    step_s = 1 / STEPS_PER_S
    return Steps(
        tuple(
            Step(n, 1, at_s - step_s, at_s, step_s, step_s, 0.0, 0.0, 0.0, is_first_of_epoch=n == 1)
            for n, at_s in enumerate(times, start=1)
        ),
        warmup=5,
    )


def process(rows=(), *, allocations=(), objects=(), devices=(), facts=None):
    """Return a process with the given readings."""
    signals = run(facts=facts or {})
    tables = signals.process.tables
    tables["machine"], tables["allocations"] = list(rows), list(allocations)
    tables["objects"], tables["device_memory"] = list(objects), list(devices)
    return signals.process


def machine(values, name="rss_bytes", **others):
    """Return one reading per half second, of a quantity that a function of time gives."""
    empty = {"rss_bytes": 5 * 10**8, "python_blocks": None, "cgroup_bytes": None, **others}
    return [
        {**empty, "at_s": START_S + half / 2, name: values(half / 2)} for half in range(2 * SECONDS)
    ]


def held(values, line=7, blocks=None):
    """Return what a line held every two seconds."""
    return [
        {
            "at_s": START_S + at_s,
            "file": SCRIPT,
            "line": line,
            "bytes": int(values(at_s)),
            "blocks": int((blocks or values)(at_s)),
        }
        for at_s in range(0, SECONDS, 2)
    ]


def location(file, line):
    return run().location(file, line)


def test_growth_is_told_per_step_and_per_second():
    use = memory_use(process(machine(lambda at_s: int(5e8 + 1e6 * at_s))), steps())
    assert use.is_growing
    assert use.rss.per_s == pytest.approx(1e6)
    assert use.rss.per_step == pytest.approx(1e5, rel=0.01)
    assert use.rss_bytes == pytest.approx(5e8 + 1e6 * 59.5)


@pytest.mark.parametrize(
    "values",
    [
        pytest.param(lambda at_s: 5e8, id="flat"),
        pytest.param(lambda at_s: 5e8 + 3e4 * at_s, id="creeps up by 2 MB a minute"),
        pytest.param(lambda at_s: 5e8 + 2e8 * min(at_s, 15) / 15, id="a cache that fills"),
        pytest.param(lambda at_s: 5e8 + 1e8 * (at_s > 40), id="one jump"),
        pytest.param(lambda at_s: 5e8 + 1e8 * (at_s % 10) / 10, id="comes and goes"),
        pytest.param(lambda at_s: 5e8 - 1e6 * at_s, id="shrinks"),
    ],
)
def test_memory_does_not_grow_where(values):
    use = memory_use(process(machine(lambda at_s: int(values(at_s)))), steps())
    assert not use.is_growing
    assert use.exhausted_in_s is None


def test_the_container_limit_tells_when_memory_runs_out():
    rows = machine(lambda at_s: int(5e8 + 1e6 * at_s), cgroup_bytes=900_000_000)
    facts = {"memory_limit_bytes": 10**9, "memory_bytes": 16 * 10**9}
    use = memory_use(process(rows, facts=facts), steps())
    assert (use.limit_bytes, use.used_bytes) == (10**9, 9 * 10**8)
    assert use.exhausted_in_s == pytest.approx(100)


@pytest.mark.parametrize("limit", [None, 10**18, "much"])
def test_without_a_limit_the_machine_is_the_limit(limit):
    facts = {"memory_limit_bytes": limit, "memory_bytes": 10**9}
    use = memory_use(process(machine(lambda at_s: 5 * 10**8), facts=facts), steps())
    assert (use.limit_bytes, use.used_bytes) == (10**9, 5 * 10**8)


def test_an_older_recording_has_a_level_and_nothing_else():
    rows = [{"at_s": START_S + at_s, "rss_bytes": 10**9} for at_s in range(SECONDS)]
    use = memory_use(process(rows), steps())
    assert (use.rss_bytes, use.python_blocks, use.limit_bytes) == (10**9, None, None)
    assert use.objects == {}


def test_no_reading_is_no_answer():
    rows = [{"at_s": START_S + 3, "rss_bytes": None}]
    assert memory_use(process(rows), steps()) is None
    assert memory_use(process(), steps()) is None


def test_objects_are_compared_between_two_counts():
    rows = [
        {"at_s": START_S + at_s, "kind": kind, "alive": alive, "bytes": None}
        for at_s, kind, alive in [
            *((5, "tensors", 40), (5, "variables", 16)),
            *((30, "tensors", 290), (30, "variables", 16), (30, "graphs", 9)),
        ]
    ]
    use = memory_use(process(machine(lambda at_s: 10**9), objects=rows), steps())
    assert use.objects["tensors"].is_steady
    assert use.objects["tensors"].per_step == pytest.approx(1.0)
    assert not use.objects["variables"].is_steady
    assert "graphs" not in use.objects


def test_devices_tell_their_peak():
    rows = [
        {"device": "GPU:0", "at_s": START_S, "bytes": 5, "peak_bytes": 9},
        {"device": "GPU:1", "at_s": START_S, "bytes": 5, "peak_bytes": None},
    ]
    use = memory_use(process(machine(lambda at_s: 10**9), devices=rows), steps())
    assert use.device_bytes == {"GPU:0": 9, "GPU:1": 5}


def test_a_line_that_keeps_a_tensor_per_step_is_named():
    rows = held(lambda at_s: 125 * STEPS_PER_S * at_s, blocks=lambda at_s: STEPS_PER_S * at_s)
    rows += held(lambda at_s: 10**6, line=9)
    (line,) = growing_lines(process(allocations=rows), steps(), location)
    assert (line.location.file, line.location.line) == (SCRIPT, 7)
    assert line.growth.per_step == pytest.approx(125, rel=0.02)
    assert line.blocks_per_step == pytest.approx(1.0, rel=0.02)


def test_the_fastest_line_comes_first():
    rows = held(lambda at_s: 2000 * at_s, line=3) + held(lambda at_s: 9000 * at_s, line=4)
    found = growing_lines(process(allocations=rows), steps(), location)
    assert [line.location.line for line in found] == [4, 3]


def test_a_line_grows_with_the_steps_not_with_the_time():
    # Nothing happens for twenty seconds in the middle: neither steps nor growth.
    taken = steps()
    is_quiet = lambda at_s: START_S + 20 < at_s <= START_S + 40  # noqa: E731
    kept = tuple(step for step in taken.steps if not is_quiet(step.end_s))
    taken = dataclasses.replace(taken, steps=kept)
    rows = held(lambda at_s: 3000 * (min(at_s, 20) + max(at_s - 40, 0)))
    assert len(growing_lines(process(allocations=rows), taken, location)) == 1


@pytest.mark.parametrize(
    "values",
    [
        pytest.param(lambda at_s: 5e6, id="large but flat"),
        pytest.param(lambda at_s: 16 * STEPS_PER_S * at_s, id="what a healthy fit holds on to"),
        pytest.param(lambda at_s: 32 * STEPS_PER_S * at_s, id="one number per step"),
        pytest.param(lambda at_s: 1e6 * min(at_s, 14), id="fills in warm-up"),
        pytest.param(lambda at_s: 1e6 * (at_s % 8), id="comes and goes"),
        pytest.param(lambda at_s: 1e6 * (at_s > 50), id="one jump"),
    ],
)
def test_no_line_is_named_where(values):
    assert growing_lines(process(allocations=held(values)), steps(), location) == []


def test_a_run_without_the_flag_names_no_line():
    assert growing_lines(process(), steps(), location) == []


def test_readings_of_one_step_are_put_together():
    assert _pooled([1, 2, 2, 2, 5], [10.0, 20.0, 21.0, 22.0, 50.0]) == [(1, 10), (2, 22), (5, 50)]


def test_many_readings_become_few_points():
    assert len(_pooled(list(range(1000)), [float(n) for n in range(1000)])) == 8


@pytest.mark.parametrize(
    ("done", "values", "is_steady"),
    [
        pytest.param([0, 10, 20, 30, 40], [0, 1, 2, 3, 4], True, id="even"),
        pytest.param([0, 10, 70, 75, 90], [0, 1, 7, 7.5, 9], True, id="uneven readings"),
        pytest.param([0, 10, 20, 30, 40], [0, 0, 0, 4, 4], False, id="a jump"),
        pytest.param([0, 10, 20, 30, 40], [0, 3, 1, 5, 4], False, id="a wave"),
        pytest.param([0, 10, 20, 30, 40], [4, 3, 2, 1, 0], False, id="a fall"),
        pytest.param([0, 10, 20], [0, 1, 2], False, id="too few"),
        pytest.param([7, 7, 7, 7, 7], [0, 1, 2, 3, 4], False, id="no steps"),
    ],
)
def test_growth_is_steady_only_if_it_goes_on(done, values, is_steady):
    assert _is_steady(done, [float(value) for value in values]) is is_steady


@pytest.mark.parametrize("points", [[], [(0.0, 1.0)], [(0.0, 1.0), (1.0, 2.0), (2.0, 3.0)]])
def test_too_few_readings_are_no_growth(points):
    assert growth(points, run().steps) is None
