"""The series behind a slowdown: what is left out, and steps that were merged."""

import pytest

from drift_runs import drifting, flat, rising
from quickfit.recording.thinning import bin_of
from quickfit.signals.drift_inputs import chain
from quickfit.signals.drift_machine import counter_at
from quickfit.signals.drift_series import step_series
from quickfit.signals.steps import steps_of_loop


def steps_of(signals):
    return steps_of_loop(signals.process.rows("steps"), 1)


def block(steps, step_s, **sums):
    return {"steps": steps, "sums": sums, "histogram": {str(bin_of(step_s)): steps}}


def test_first_steps_of_epochs_are_left_out():
    steps = steps_of(drifting(steps=100, epochs=5))
    series = step_series(steps, steps.steps, [])
    places = {place for place, _ in series["step"]}
    assert places == set(range(6, 101)) - {21, 41, 61, 81}


def test_steps_that_traced_are_left_out():
    steps = steps_of(drifting(steps=100))
    series = step_series(steps, steps.steps[10:], [])
    assert series["step"][0][0] == 16


def test_old_steps_come_from_blocks_and_newer_ones_are_merged_alike():
    steps = steps_of(drifting(steps=405, callbacks=flat(0.002)))
    old = [block(500, 0.010, call_s=4.0, callbacks_s=1.0, cpu_s=0.3, watched=30)]
    series = step_series(steps, steps.steps, old)
    assert [place for place, _ in series["step"]] == [250, 550, 650, 750, 850]
    assert series["step"][0][1] == pytest.approx(0.010, rel=0.05)
    assert series["callbacks"][0][1] == pytest.approx(0.002)
    assert series["callbacks"][1][1] == pytest.approx(0.002, rel=0.05)
    assert series["cpu"][0][1] == pytest.approx(0.01)


def test_blocks_of_a_loop_of_the_script_have_what_was_watched():
    steps = steps_of(drifting(steps=205, kind="custom"))
    old = [block(100, 0.010, call_s=0.04, wait_s=0.005, cpu_s=0.05, watched=5)]
    series = step_series(steps, steps.steps, old)
    assert series["call"][0][1] == pytest.approx(0.008)
    assert series["between"][0][1] == pytest.approx(0.001, abs=0.0006)


def test_a_block_without_a_count_of_watched_steps_tells_no_cpu_time():
    steps = steps_of(drifting(steps=205))
    old = [block(100, 0.010, call_s=0.9, callbacks_s=0.1, cpu_s=0.05)]
    places = [place for place, _ in step_series(steps, steps.steps, old)["cpu"]]
    assert places[0] > 100


def test_a_slowdown_is_seen_through_merged_steps():
    signals = drifting(steps=3000, callbacks=rising(0.010, 0.013, 3000))
    sums = [{"callbacks_cpu_s": 0.01 + n / 1e3, "cpu_s": 0.03 + n / 1e3} for n in range(90)]
    blocks = [
        {**block(100, 0.011 + n / 1e4, callbacks_s=0.1 + n / 100, watched=10, **each), "loop": 1}
        for n, each in enumerate(sums)
    ]
    signals.process.tables["step_blocks"] = blocks
    slow = signals.drift.slowdown
    assert slow.part == "callbacks"
    assert slow.first_s == pytest.approx(0.012, rel=0.1)


def test_a_counter_between_two_readings_is_told_in_proportion():
    rows = [{"at_s": 10.0, "cpu_s": 1.0}, {"at_s": 20.0, "cpu_s": 3.0}]
    assert counter_at(rows, "cpu_s", 15.0) == pytest.approx(2.0)
    assert counter_at(rows, "cpu_s", 5.0) == 1.0
    assert counter_at(rows, "cpu_s", 25.0) == 3.0
    assert counter_at(rows, "delay_s", 15.0) is None


def test_a_chain_is_all_that_a_dataset_is_made_of():
    assert chain({1: [], 2: [1], 3: [2, 1], 4: []}, 3) == {1, 2, 3}


def test_the_size_of_a_batch_and_the_wait_come_from_the_pipeline():
    series = drifting(input=rising(0.01, 0.04, 600)).drift.series
    assert series["batch_bytes"][5][1] == pytest.approx(1000, rel=0.05)
    assert series["wait"][-1][1] == pytest.approx(0.03, abs=0.004)
    assert series["others"][3][1] == pytest.approx(0.0, abs=0.01)
