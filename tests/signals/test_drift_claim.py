"""The decision, from trends alone."""

import pytest

from quickfit.measuring.trend import Trend
from quickfit.signals.drift_claim import EPOCH_PARTS, HOST_PARTS, claimed, load_grew


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
