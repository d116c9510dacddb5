"""What trials leave in their folders: memory, CPU time, compiling and the loss."""

import json
import math

import pytest

from quickfit.fixing import tuned_seen
from quickfit.fixing.tuned_seen import Seen, TrialFolders, loss_of
from quickfit.lab.results import Results
from quickfit.lab.sandbox.spec import RESULTS_FILE

import builders


def results(losses, channel="fit"):
    values = {step: {"loss": loss} for step, loss in losses.items()}
    return Results(losses=values, loss_channels={channel})


def test_losses_are_compared_after_equally_many_samples():
    first = results({1: 0.9, 2: 0.8, 3: 0.7, 4: 0.6})
    edited = results({1: 0.85, 2: 0.65})
    found = loss_of(first, edited, 2, 0, 32)
    assert (found.samples, found.before, found.after, found.unchanged) == (128, 0.9, 0.65, 0.6)


def test_several_steps_in_one_call_are_compared_where_a_call_ends():
    first = results({step: 1.0 / step for step in range(1, 41)})
    found = loss_of(first, results({32: 0.5, 64: 0.4}), 1, 0, 8)
    assert (found.samples, found.after, found.unchanged) == (256, 0.5, 1 / 32)


def test_means_of_the_second_epoch_are_left_out():
    first, edited = results({1: 0.9, 2: 0.8, 3: 0.1}), results({1: 0.9, 2: 0.8, 3: 0.2})
    assert loss_of(first, edited, 1, 2, 32).after == 0.8


@pytest.mark.parametrize(
    ("first", "edited", "batch"),
    [
        pytest.param(results({}), results({1: 0.5}), 32, id="no loss at first"),
        pytest.param(results({1: 0.5}), results({}), 32, id="no loss after"),
        pytest.param(results({1: 0.5}), results({1: 0.5}, "function"), 32, id="other losses"),
        pytest.param(results({1: 0.5}), results({1: 0.5}), None, id="unknown batches"),
        pytest.param(results({1: 0.5}), results({2: 0.5}), 32, id="never as many samples"),
    ],
)
def test_losses_are_not_compared_with(first, edited, batch):
    assert loss_of(first, edited, 1, 0, batch) is None


def test_a_loss_without_its_name_is_the_first_value():
    first = Results(losses={1: {"a": 0.5, "b": 9.0}}, loss_channels={"function"})
    assert loss_of(first, first, 1, 0, 1).after == 0.5
    nothing = Results(losses={1: {}}, loss_channels={"function"})
    assert math.isnan(loss_of(nothing, nothing, 1, 0, 1).after)


@pytest.fixture
def scratch(tmp_path, monkeypatch):
    """Folders of trials whose recordings are made of numbers."""
    known = {}
    monkeypatch.setattr(tuned_seen, "_recording", lambda folder: known.get(folder.name))

    def add(name, recording=None, losses=None):
        folder = tmp_path / name
        folder.mkdir(parents=True)
        known[folder.name] = recording
        lines = [
            {"kind": "loss", "channel": "fit", "step": step, "values": {"loss": value.hex()}}
            for step, value in (losses or {}).items()
        ]
        (folder / RESULTS_FILE).write_text("\n".join(map(json.dumps, lines)))

    add.path = tmp_path
    return add


def recorded(*, first_s=2.0, rss=600e6, cpu_cores=1.0, **given):
    found = builders.recording(cpu_cores=cpu_cores, **given)
    steps = found.main.tables["steps"]
    steps[0]["begin_s"] -= first_s - 2.0  # the builder's first step takes two seconds longer
    for row in found.main.tables["machine"]:
        row["rss_bytes"] = rss
    return found


def test_everything_is_read_from_new_folders(scratch):
    folders = TrialFolders(scratch.path)
    scratch("results1", losses={1: 0.9, 2: 0.8})
    scratch("results2", losses={1: 0.9, 2: 0.8})
    scratch("results3", losses={1: 0.9, 2: 0.7})
    scratch("pairs4/pair1-0", recorded())
    scratch("pairs4/pair1-1", recorded(first_s=6.0, rss=700e6, cpu_cores=0.5))
    seen = folders.seen(1, 32)
    assert (seen.peak_bytes, seen.more_bytes) == (700e6, 100e6)
    assert abs(seen.cpu - 0.5) < 0.02
    assert abs(seen.compile_s - 4.0) < 0.01
    assert (seen.loss.samples, seen.loss.after, seen.loss.unchanged) == (64, 0.7, 0.8)


def test_folders_of_earlier_trials_do_not_count_again(scratch):
    scratch("results1", losses={1: 0.9})
    scratch("results2", losses={1: 0.9})
    scratch("pairs3/pair1-0", recorded())
    scratch("pairs3/pair1-1", recorded())
    folders = TrialFolders(scratch.path)
    assert folders.seen(1, 32) == Seen()
    scratch("results10", losses={1: 0.5})
    assert folders.seen(1, 32).loss.after == 0.5
    assert folders.seen(1, 32) == Seen()


def test_a_larger_batch_is_measured_by_the_sample(scratch):
    folders = TrialFolders(scratch.path)
    scratch("pairs1/pair1-0", recorded())
    scratch("pairs1/pair1-1", recorded())
    assert abs(folders.seen(2, 32).cpu - 0.5) < 0.02


def test_a_trial_that_recorded_nothing_says_nothing(scratch):
    folders = TrialFolders(scratch.path)
    scratch("pairs1/pair1-0", recorded())
    scratch("pairs1/pair1-1", None)
    scratch("pairs2/pair1-0", recorded())
    assert folders.seen(1, 32) == Seen()


def test_without_two_readings_the_cpu_time_is_not_known(scratch):
    folders = TrialFolders(scratch.path)
    scratch("pairs1/pair1-0", recorded(steps=5))
    scratch("pairs1/pair1-1", recorded())
    assert folders.seen(1, 32).cpu is None


def test_a_folder_without_a_recording_is_no_recording(tmp_path):
    assert tuned_seen._recording(tmp_path) is None
