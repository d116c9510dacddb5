"""Workers next to a whole script with TensorFlow."""

import os
import signal
import subprocess
import sys

import pytest

SCRIPT = """
import warnings
import numpy as np
import keras
from quickfit.data import generator

def load(item, rng):
    return rng.random(4).astype("float32"), item % 2

model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
model.compile("sgd", "mse")
dataset = generator(load, 640, workers=2, kind="processes", shuffle=True, seed=1)
model.fit(dataset, epochs=2, verbose=0)
for batch in dataset:
    break
left = iter(dataset)
next(left)
print("trained", flush=True)
"""


@pytest.mark.tf
@pytest.mark.tf_any
def test_a_whole_script_trains_and_ends_with_a_pass_half_done(tmp_path):
    (tmp_path / "train.py").write_text(SCRIPT)
    quiet = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "PYTHONWARNINGS": "ignore"}
    ended = subprocess.run(
        [sys.executable, "train.py"], cwd=tmp_path, env=quiet, capture_output=True, text=True
    )
    assert (ended.returncode, ended.stdout) == (0, "trained\n")
    assert "Traceback" not in ended.stderr


WAITING = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in the background
import numpy as np
from quickfit.data import generator

def load(item):
    if item > 40:
        signal.pause()
    return item

for batch in generator(load, 320, workers=2, kind="processes"):
    print("batch", flush=True)
"""


@pytest.mark.tf
@pytest.mark.tf_any
def test_ctrl_c_ends_a_script_that_waits_for_an_item_without_end(tmp_path):
    (tmp_path / "train.py").write_text(WAITING)
    script = subprocess.Popen(
        [sys.executable, "train.py"],
        cwd=tmp_path,
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert script.stdout.readline() == "batch\n"
    os.killpg(script.pid, signal.SIGINT)
    told = next((line for line in script.stderr if "Press it again" in line), "")
    if told:  # otherwise Python was not inside TensorFlow yet, and noticed by itself
        os.killpg(script.pid, signal.SIGINT)
    # The workers hold the same pipes: this returns when the last of them is gone.
    script.communicate()
    assert script.returncode != 0
