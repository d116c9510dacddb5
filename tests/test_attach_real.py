"""`quickfit attach` on a real training: Keras `fit`, whose generator sleeps."""

import subprocess
import sys

import pytest

from quickfit.liveness import system

from launch.sessions import eventually

SCRIPT = """\
import os
import threading
import time

import keras
import numpy as np


def batches():
    while True:
        yield np.zeros((8, 4), "float32"), np.zeros((8, 1), "float32")
        if not os.path.exists("stop"):
            time.sleep(0.3)
        else:
            print("stuck", threading.get_native_id(), flush=True)
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


def waits_in(pid, thread):
    return system.look(pid).process.tasks[thread].waits_in


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
    word, thread = training.stdout.readline().split()
    assert word == "stuck"
    eventually(lambda: waits_in(training.pid, int(thread)) == "clock_nanosleep", "it sleeps")
    eventually(lambda: waits_in(training.pid, training.pid) == "futex", "`fit` waits for a batch")
    said = attached(training)
    assert "that it was looked at: the input gives no batch meanwhile: it waits" in said
    assert "(may be generator-never-yields)" in said
    assert "    train.py:16  time.sleep(600)" in said
    assert "doing: waiting for a batch of Python code — train.py:16" in said
    assert "train.py:24  model.fit(batches()" in said
