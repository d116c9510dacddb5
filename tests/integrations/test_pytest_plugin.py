"""The pytest fixture: on kept recordings, and once in a pytest that really trains."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from quickfit.integrations.pytest_plugin import KEEP, RecordedTraining

from launch.sessions import clean_env
from report.pages import unpack

ROOT = Path(__file__).parents[2]
TESTS = """
import numpy as np
import keras

def train(epochs):
    x = np.ones((400, 4), "float32")
    model = keras.Sequential([keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    model.fit(x, x[:, :1], batch_size=4, epochs=epochs, verbose=0)

def test_speed(quickfit_record):
    kept = quickfit_record(train, epochs=2)
    now = quickfit_record(train, epochs=3)
    assert now.diagnose().breakdown.steps > 250
    kept.assert_not_slower_than("kept/speed.qfrun", by="1000%")
    now.assert_not_slower_than("kept/speed.qfrun", by="1000%")

def test_that_is_not_there(quickfit_record):
    quickfit_record(train, 1).assert_not_slower_than("kept/never.qfrun")
"""


def test_the_entry_point_names_the_plugin():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["entry-points"]["pytest11"] == {
        "quickfit": "quickfit.integrations.pytest_plugin"
    }


def test_loading_the_plugin_loads_nothing_else_of_quickfit():
    code = (
        "import sys, quickfit.integrations.pytest_plugin\n"
        "print(sorted(n for n in sys.modules if n.startswith('quickfit.')))"
    )
    shown = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout
    assert shown == "['quickfit.integrations', 'quickfit.integrations.pytest_plugin']\n"


def test_a_training_is_held_against_a_kept_one(tmp_path):
    fast = RecordedTraining(unpack("healthy/small_cnn.alone", tmp_path / "fast"))
    fast.assert_without()
    fast.assert_not_slower_than(fast.folder)
    busy = RecordedTraining(unpack("pairs/sequential-map", tmp_path / "busy"))
    with pytest.raises(pytest.fail.Exception, match="sequential-map"):
        busy.assert_without("sequential-map")
    busy.assert_without("tiny-batch")


def test_a_kept_recording_that_is_not_there_says_how_to_make_it(tmp_path):
    run = RecordedTraining(tmp_path)
    with pytest.raises(pytest.fail.Exception, match=KEEP):
        run.assert_not_slower_than(tmp_path / "none.qfrun")


def test_what_is_no_recording_is_not_replaced(tmp_path):
    (tmp_path / "mine").mkdir()
    run = RecordedTraining(unpack("healthy/small_cnn.alone", tmp_path), keeps=True)
    with pytest.raises(pytest.fail.Exception, match="is not replaced"):
        run.assert_not_slower_than(tmp_path / "mine")
    run.assert_not_slower_than(tmp_path / "kept" / "it.qfrun")
    assert (tmp_path / "kept" / "it.qfrun" / "run.json").is_file()


@pytest.mark.tf
@pytest.mark.tf_any
def test_a_real_training_is_recorded_kept_and_compared(tmp_path):
    (tmp_path / "test_it.py").write_text(TESTS)
    env = clean_env(TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="")
    group = "importlib.metadata.entry_points(group='pytest11')"
    loaded = f"import importlib.metadata; print(*(e.value for e in {group}))"
    plugins = subprocess.run(
        [sys.executable, "-c", loaded], capture_output=True, text=True, check=True
    ).stdout
    ours = "quickfit.integrations.pytest_plugin"
    asked = [] if ours in plugins else ["-p", ours]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *asked]
    keep = [*command, KEEP, "-k", "speed", "test_it.py"]
    done = subprocess.run(keep, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert (tmp_path / "kept" / "speed.qfrun" / "run.json").is_file()
    done = subprocess.run(
        [*command, "test_it.py"], cwd=tmp_path, env=env, capture_output=True, text=True, check=False
    )
    assert "1 failed, 1 passed" in done.stdout, done.stdout
    assert "there is no kept recording kept/never.qfrun" in done.stdout
