"""Slowdowns: found in what grows, never in what the machine or the data does."""

import pytest

from drift_runs import drifting, flat, rising
from quickfit.errors import SignalMissing
from quickfit.lab.statistics import Trend
from quickfit.signals.drift import (
    EPOCH_PARTS,
    HOST_PARTS,
    PARTS,
    Drift,
    claimed,
    load_grew,
    without_load,
)

N = 600
GROWING = {
    "callbacks": {"callbacks": rising(0.0005, 0.02, N)},
    "input": {"input": rising(0.005, 0.04, N)},
    "between": {"between": rising(0.0005, 0.02, N), "kind": "custom"},
}
STEADY = {
    "nothing else": {},
    "a callback": {"callbacks": flat(0.005)},
    "a generator": {"input": flat(0.02)},
    "a loop of the script": {"between": flat(0.005), "kind": "custom"},
}
LOADS = {
    "comes and stays": lambda step: 2.0 if step > 300 else 1.0,
    "comes and goes": lambda step: 2.0 if 200 < step < 400 else 1.0,
    "comes twice": lambda step: 1.0 + (step > 150) * 0.6 + (step > 400) * 0.8,
    "rises": lambda step: 1 + step / N,
}


@pytest.mark.parametrize("part", GROWING)
def test_a_part_that_grows_is_named(part):
    slow = drifting(**GROWING[part]).slowdown
    assert (slow.why, slow.part) == ("part", part)
    assert slow.share > 0.9
    assert slow.last_s > 2 * slow.first_s
    assert slow.certain_at < 400
    assert not slow.sleeps


@pytest.mark.parametrize("part", GROWING)
@pytest.mark.parametrize("load", LOADS)
def test_a_part_that_grows_is_named_beside_others(part, load):
    slow = drifting(**GROWING[part], slower=LOADS[load]).slowdown
    assert (slow.why, slow.part) == ("part", part)


@pytest.mark.parametrize("run", STEADY)
def test_nothing_is_said_of_a_run_that_stays_the_same(run):
    assert drifting(**STEADY[run]).slowdown is None


@pytest.mark.parametrize("run", STEADY)
@pytest.mark.parametrize("load", LOADS)
def test_load_is_never_a_part_of_the_script(run, load):
    slow = drifting(**STEADY[run], slower=LOADS[load]).slowdown
    assert slow is None or slow.why == "machine"


@pytest.mark.parametrize("part", GROWING)
def test_a_part_that_sleeps_longer_and_longer_is_named_on_a_quiet_machine(part):
    slow = drifting(**GROWING[part], sleeps=True).slowdown
    assert (slow.part, slow.sleeps) == (part, True)


@pytest.mark.parametrize("part", ["callbacks", "between"])
def test_a_part_that_grows_is_named_on_a_machine_that_is_always_busy(part):
    slow = drifting(**GROWING[part], slower=flat(2.0)).slowdown
    assert (slow.why, slow.part, slow.sleeps) == ("part", part, False)


def test_a_part_that_waits_is_not_named_while_the_load_grows():
    given = {"callbacks": rising(0.0005, 0.02, N), "sleeps": True}
    slow = drifting(**given, slower=LOADS["rises"]).slowdown
    assert slow.why != "part"


def test_batches_that_get_longer_are_the_reason_and_no_code():
    grown = {"input": rising(0.015, 0.06, N), "call": rising(0.010, 0.040, N)}
    slow = drifting(**grown, batch_bytes=rising(1000, 4000, N)).slowdown
    assert slow.why == "data"


def test_sizes_that_nobody_recorded_are_suspected_where_everything_grows_alike():
    grown = {"between": rising(0.015, 0.06, N), "call": rising(0.010, 0.040, N)}
    assert drifting(**grown, kind="custom").slowdown.why == "unknown"


def test_a_step_that_grows_by_itself_has_no_known_cause():
    slow = drifting(call=rising(0.010, 0.040, N)).slowdown
    assert slow.why == "unknown"
    assert "call" in [one.name for one in slow.measured if one.grows]


def test_one_jump_is_slower_but_no_growth():
    assert drifting(callbacks=lambda step: 0.0005 if step < 300 else 0.02).slowdown.why == "unknown"


def test_work_that_is_done_every_twentieth_step_is_seen():
    every = drifting(callbacks=lambda n: 0.0005 + 0.3 * n / N if n % 20 == 0 else 0.0003)
    assert every.slowdown.part == "callbacks"


def test_a_hundred_slow_steps_are_enough():
    slow = drifting(steps=90, call=flat(0.1), callbacks=rising(0.001, 0.2, 90)).slowdown
    assert slow.part == "callbacks"


def test_a_little_growth_is_nothing():
    assert drifting(callbacks=rising(0.001, 0.0025, N)).slowdown is None


def test_the_answer_at_a_look_does_not_change_when_more_is_known():
    signals = drifting(**GROWING["callbacks"])
    certain_at = signals.slowdown.certain_at
    until = {n: [p for p in s if p[0] <= certain_at] for n, s in signals.drift.series.items()}
    assert Drift(until, 2.0, PARTS).slowdown.certain_at == certain_at


def test_a_component_is_told_with_its_levels_and_when_it_was_certain():
    grown = drifting(**GROWING["callbacks"]).drift.component("callbacks")
    assert grown.grows
    assert grown.certain_at is not None
    assert grown.growth == pytest.approx(grown.last - grown.first)


def test_a_component_that_nobody_recorded_is_missing():
    with pytest.raises(SignalMissing, match="clock"):
        drifting().drift.component("clock")


def test_times_of_load_are_left_out_where_enough_is_left():
    points = [(float(n), 1.0) for n in range(100)]
    others = [(float(n), 1.5 if 40 <= n < 60 else 0.1) for n in range(0, 100, 5)]
    calm = without_load({"step": points, "others": others}, 2.0)
    assert 70 < len(calm["step"]) < 90


@pytest.mark.parametrize("busy_from", [101, 40])
def test_load_that_is_not_there_or_stays_leaves_nothing_out(busy_from):
    points = [(float(n), 1.0) for n in range(100)]
    others = [(float(n), 1.5 if n >= busy_from else 0.1) for n in range(0, 100, 5)]
    assert without_load({"step": points, "others": others}, 2.0) is None


def went(first, last, z=6.0, *, steady=True):
    return Trend(first, last, z, steady, 40)


SLOWER = went(0.010, 0.030)
FLAT = {"delay": went(0.0, 0.0, 0.0), "others": went(0.1, 0.1, 0.0)}
CALLBACKS = {"callbacks": went(0.001, 0.020), "callbacks_cpu": went(0.001, 0.020)}


def test_a_part_that_explains_most_is_accused():
    claim = claimed({"step": SLOWER, **FLAT, **CALLBACKS}, 2.0)
    assert (claim.why, claim.part, claim.sleeps) == ("part", "callbacks", False)
    assert claim.share == pytest.approx(0.95)


@pytest.mark.parametrize(
    "changed",
    [
        pytest.param({"callbacks": went(0.001, 0.008)}, id="it explains too little"),
        pytest.param(
            {"callbacks": went(0.001, 0.02, steady=False), "callbacks_cpu": went(0.001, 0.02, 1.0)},
            id="it was one jump",
        ),
        pytest.param(
            {"callbacks_cpu": went(0.001, 0.001, 0.0), "others": went(0.0, 1.0)},
            id="it only waits, beside others",
        ),
        pytest.param(
            {"callbacks": went(0.009, 0.027), "callbacks_cpu": went(0.009, 0.015),
             "others": went(0.0, 1.0)},
            id="its CPU time grows as neighbours make it grow",
        ),
        pytest.param(
            {"callbacks": went(0.004, 0.014), "callbacks_cpu": went(0.004, 0.014)},
            id="everything grows alike",
        ),
    ],
)  # fmt: skip
def test_a_part_is_not_accused_when(changed):
    claim = claimed({"step": SLOWER, **FLAT, **CALLBACKS, **changed}, 2.0)
    assert claim.why != "part"


def test_where_sizes_are_not_known_a_part_must_grow_beyond_what_they_could_have_done():
    rest = {"step": went(0.005, 0.019), "delay": went(0.0, 0.0, 0.0)}
    for last, why in ((0.0145, "part"), (0.009, "unknown")):
        between = {"between": went(0.0018, last), "cpu": went(0.0032, last + 0.002)}
        assert claimed({**rest, **between}, 2.0).why == why


def test_a_step_that_is_hardly_slower_is_nothing():
    assert claimed({"step": went(0.010, 0.0115), **CALLBACKS}, 2.0) is None


def test_the_garbage_collector_is_named_before_what_it_runs_in():
    trends = {"step": SLOWER, **FLAT, **CALLBACKS, "collecting": went(0.001, 0.015)}
    assert claimed(trends, 2.0).part == "collecting"


def test_a_call_is_a_part_of_the_script_only_where_that_is_said():
    trends = {"step": SLOWER, **FLAT, "call": went(0.009, 0.029), "cpu": went(0.009, 0.029)}
    assert claimed(trends, 2.0).why == "unknown"
    assert claimed(trends, 2.0, HOST_PARTS).part == "call"


def test_more_stages_explain_what_nothing_of_the_script_does():
    trends = {"step": SLOWER, **FLAT, "stages": went(3, 20), "rest_cpu": went(0.01, 0.03)}
    assert claimed(trends, 2.0).part == "stages"
    assert claimed({**trends, **CALLBACKS}, 2.0).part == "callbacks"


def test_larger_batches_are_taken_out_of_the_input():
    grown = {"input": went(0.01, 0.03), "input_cpu": went(0.01, 0.03), "wait": went(0.0, 0.02)}
    trends = {"step": SLOWER, **FLAT, **grown}
    assert claimed(trends, 2.0).part == "input"
    assert claimed({**trends, "batch_bytes": went(100, 200)}, 2.0).why == "data"


def test_what_follows_an_epoch_is_a_part_of_it():
    trends = {"step": went(10, 20), **FLAT, "after": went(1, 11), "after_cpu": went(1, 10)}
    assert claimed(trends, 2.0, EPOCH_PARTS).part == "after"


@pytest.mark.parametrize(
    "grown",
    [
        {"others": went(0.0, 0.5)},
        {"delay": went(0.0, 0.005)},
        {"throttled": went(0.0, 0.1)},
    ],
)
def test_the_load_grows_with(grown):
    assert load_grew({"step": SLOWER, **FLAT, **grown}, 2.0)
    assert not load_grew({"step": SLOWER, **FLAT}, 2.0)


BUSY_ALL_THE_TIME = {
    "step": went(0.4, 0.9),
    "others": went(1.9, 1.9, 0.0),
    "main_cpu": went(0.1, 0.11, 0.5),
    "rest_cpu": went(0.2, 0.21, 0.5),
}


def test_the_same_work_on_a_machine_that_is_busy_all_the_time_is_slower_by_the_machine():
    assert claimed(BUSY_ALL_THE_TIME, 2.0).why == "machine"
    alone = BUSY_ALL_THE_TIME | {"others": went(0.1, 0.1, 0.0)}
    assert claimed(alone, 2.0).why == "unknown"
    more_work = BUSY_ALL_THE_TIME | {"rest_cpu": went(0.2, 0.5)}
    assert claimed(more_work, 2.0).why == "unknown"


FULL = {
    "step": went(0.004, 0.040),
    "others": went(1.8, 1.8, 0.0),
    "delay": went(0.010, 0.030, 1.0),
    "main_cpu": went(0.002, 0.007),
    "call": went(0.003, 0.023, 2.0, steady=False),
    "rest_cpu": went(0.002, 0.002, 0.0),
    "batch_bytes": went(100, 100, 0.0),
    "cpu": went(0.0019, 0.0070),
}
MORE_WORK = {
    "callbacks": went(0.0004, 0.016, 2.0, steady=False),
    "callbacks_cpu": went(0.0004, 0.0055),
}


def test_on_a_full_machine_cpu_time_alone_decides():
    claim = claimed({**FULL, **MORE_WORK}, 2.0)
    assert (claim.part, claim.sleeps) == ("callbacks", False)


@pytest.mark.parametrize(
    "changed",
    [
        pytest.param({"callbacks_cpu": went(0.003, 0.0055)}, id="neighbours can do that"),
        pytest.param({"callbacks_cpu": went(0.0004, 0.0055, 3.0)}, id="it goes up and down"),
        pytest.param({"callbacks_cpu": went(0.0001, 0.0006)}, id="nobody would feel it"),
        pytest.param({"cpu": went(0.002, 0.020)}, id="other Python grows more"),
        pytest.param({"batch_bytes": went(100, 200)}, id="batches grow"),
        pytest.param(
            {"others": went(0.0, 0.0, 0.0), "delay": went(0.0, 0.0, 0.0)}, id="nobody is in line"
        ),
    ],
)
def test_cpu_time_alone_does_not_decide_when(changed):
    claim = claimed({**FULL, **MORE_WORK, **changed}, 2.0)
    assert claim is None or claim.why != "part"


def test_more_work_stands_in_line_for_longer_on_a_machine_that_is_as_busy_as_before():
    busy = {"delay": went(0.002, 0.020), "main_cpu": went(0.002, 0.020)}
    assert not load_grew({"step": SLOWER, **FLAT, **busy}, 2.0)
    assert load_grew({"step": SLOWER, **FLAT, **busy, "main_cpu": went(0.002, 0.002)}, 2.0)
