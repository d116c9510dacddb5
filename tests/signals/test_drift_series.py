"""The series behind a slowdown: what is left out, and steps that were merged."""

import pytest

from drift_runs import drifting, flat, rising
from quickfit.recording.thinning import bin_of
from quickfit.signals.drift_series import (
    chain,
    compared,
    counter_at,
    epoch_series,
    laps,
    step_series,
)
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


FEW = {"steps": 200, "epochs": 10}


def test_work_after_an_epoch_that_grows_is_named():
    slow = drifting(**FEW, after=rising(0.2, 3.0, 10)).slowdown
    assert (slow.unit, slow.why, slow.part) == ("epoch", "part", "after")
    assert slow.share > 0.9
    assert slow.certain_at <= 7


@pytest.mark.parametrize("kind", ["fit", "custom"])
def test_six_epochs_are_enough(kind):
    slow = drifting(steps=60, epochs=7, after=rising(1.0, 4.0, 7), kind=kind).slowdown
    assert slow.part == "after"


def test_work_that_waits_longer_is_named_on_a_quiet_machine():
    slow = drifting(**FEW, after=rising(0.2, 3.0, 10), sleeps=True).slowdown
    assert (slow.part, slow.sleeps) == ("after", True)


@pytest.mark.parametrize(
    "after",
    [
        pytest.param(flat(0.5), id="it stays the same"),
        pytest.param(lambda epoch: 3.0 if epoch == 6 else 0.5, id="one epoch is slow"),
        pytest.param(lambda epoch: 0.5 + epoch % 2, id="every second one is slow"),
        pytest.param(rising(0.05, 0.08, 10), id="it is next to nothing"),
    ],
)
def test_nothing_is_said_when(after):
    assert drifting(**FEW, after=after).slowdown is None


def test_load_that_rises_is_not_the_script():
    slow = drifting(**FEW, after=flat(0.2), slower=lambda step: 1 + step / 100).slowdown
    assert slow is None or slow.why == "machine"


def test_an_epoch_is_from_its_first_step_to_the_next_ones():
    signals = drifting(**FEW, after=flat(1.0))
    found = laps(signals.process, 1, signals.epochs)
    assert len(found) == 9
    assert all(len(lap.durations) == 20 for lap in found)
    assert all(lap.next_s - lap.end_s == pytest.approx(1.0, abs=0.1) for lap in found)
    early, late = compared(found)
    assert early[2] == late[2] == 2
    assert early[1] < late[0]


def deeper(each):
    """Return the series of ten epochs; their dataset has `each` operations more every time."""
    signals = drifting(**FEW, after=flat(0.1))
    tables = signals.recording.main.tables
    tables["datasets"] = [
        {"id": n, "inputs": [n - 1] if n else [], "op": "map", "file": "", "line": 1, "facts": {}}
        for n in range(40)
    ]
    begins = [lap.begin_s for lap in laps(signals.process, 1, signals.epochs)]
    tables["iterators"] = [
        {"loop": 1, "phase": "train", "dataset": 3 + each * n, "created_s": begin_s}
        for n, begin_s in enumerate(begins)
    ]
    # Every epoch has a step less than the one before.
    seen = {}
    for row in list(tables["steps"]):
        seen[row["epoch"]] = seen.get(row["epoch"], 0) + 1
        if seen[row["epoch"]] > 20 - row["epoch"]:
            tables["steps"].remove(row)
    return epoch_series(signals.recording, signals.process, 1, signals.epochs)


def test_the_number_of_steps_counts_where_the_script_adds_to_its_dataset():
    same, added = ([value for _, value in deeper(each)["steps"]] for each in (0, 1))
    assert max(same) / min(same) < 1.5
    assert added[0] > 1.5 * added[-1]
