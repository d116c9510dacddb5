"""Epochs that take longer and longer, though their steps do not."""

import pytest

from drift_runs import drifting, flat, rising
from quickfit.signals.drift_epochs import compared, epoch_series, laps

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
