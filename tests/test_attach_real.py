"""`quickfit attach` on a real training: Keras `fit`, whose generator sleeps."""

import subprocess
import sys
import time

import pytest

SCRIPT = """\
import os
import time

import keras
import numpy as np


def batches():
    while True:
        yield np.zeros((8, 4), "float32"), np.zeros((8, 1), "float32")
        if not os.path.exists("stop"):
            time.sleep(0.3)
        else:
            print("stuck", flush=True)
            time.sleep(600)


model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
model.compile("sgd", loss="mse")
started = keras.callbacks.LambdaCallback(
    on_train_batch_end=lambda batch, logs: batch == 5 and print("slow", flush=True)
)
model.fit(batches(), steps_per_epoch=100_000, verbose=0, callbacks=[started])
"""


@pytest.fixture
def training(tmp_path):
    (tmp_path / "train.py").write_text(SCRIPT)
    child = subprocess.Popen(
        [sys.executable, "train.py"], cwd=tmp_path, stdout=subprocess.PIPE, text=True
    )
    yield child
    child.kill()
    child.communicate()


def attached(child):
    done = subprocess.run(
        [sys.executable, "-m", "quickfit", "attach", str(child.pid)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert child.poll() is None
    return done.stdout


@pytest.mark.tf
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux tells")
def test_a_generator_of_fit_that_is_slow_is_not_called_stuck_and_one_that_sleeps_is(
    training, tmp_path
):
    assert training.stdout.readline() == "slow\n"
    said = attached(training)
    assert "stood still" not in said
    assert "stands still" not in said
    (tmp_path / "stop").touch()
    assert training.stdout.readline() == "stuck\n"
    time.sleep(0.5)
    said = attached(training)
    assert "that it was looked at: the input gives no batch meanwhile: it waits" in said
    assert "(may be generator-never-yields)" in said
    assert "    train.py:15  time.sleep(600)" in said
    assert "doing: waiting for a batch of Python code — train.py:15" in said
    assert "train.py:23  model.fit(batches()" in said
