"""The dataset under `tf.distribute`, with two devices, in a process of its own."""

import json
import subprocess
import sys

import pytest

from photos import folder

SCRIPT = """
import json, sys
import tensorflow as tf
from quickfit.data import images

cpu = tf.config.list_physical_devices("CPU")[0]
two = [tf.config.LogicalDeviceConfiguration() for _ in range(2)]
tf.config.set_logical_device_configuration(cpu, two)
import keras

strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
outside = images(sys.argv[1], size=16, batch=4, seed=1)
with strategy.scope():
    inside = images(sys.argv[1], size=16, batch=4, seed=1)
    model = keras.Sequential([keras.layers.Flatten(), keras.layers.Dense(2, activation="softmax")])
    model.compile("sgd", "sparse_categorical_crossentropy")

def epochs(dataset):
    shared = strategy.experimental_distribute_dataset(dataset)
    return [
        [
            [part.numpy().tolist() for part in strategy.experimental_local_results(labels)]
            for _, labels in shared
        ]
        for _ in range(3)
    ]

found = {"outside": epochs(outside), "inside": epochs(inside)}
found["losses"] = len(model.fit(inside, epochs=2, verbose=0, shuffle=False).history["loss"])
print(json.dumps(found))
"""


@pytest.mark.tf
@pytest.mark.tf_any
def test_replicas_share_every_batch(tmp_path):
    folder(tmp_path / "animals", {"cat": 6, "dog": 4}, size=(30, 40))

    command = [sys.executable, "-c", SCRIPT, str(tmp_path / "animals")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["losses"] == 2
    for epochs in (found["outside"], found["inside"]):
        for batches in epochs:
            assert [len(parts) for parts in batches] == [2, 2, 2]
            labels = [label for parts in batches for part in parts for label in part]
            assert sorted(labels) == [0] * 6 + [1] * 4
    # The same seed gives the same batches, wherever the dataset was made.
    assert found["inside"] == found["outside"]
