"""`records` as a user meets it."""

import subprocess
import sys

import pytest

import quickfit.data as data
from quickfit.errors import PipelineError

from record_files import packed, written

SCRIPT = """
import sys
import tensorflow as tf
import keras
import quickfit.data as data

cpus = tf.config.list_physical_devices("CPU")
tf.config.set_logical_device_configuration(cpus[0], [tf.config.LogicalDeviceConfiguration()] * 2)
strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
outside = data.records(sys.argv[1], batch=8)
with strategy.scope():
    inside = data.records(sys.argv[1], batch=8, drop_remainder=True, repeat=True)
    model = keras.Sequential(
        [keras.layers.Rescaling(1 / 255), keras.layers.Flatten(), keras.layers.Dense(2)]
    )
    model.compile(loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True))
model.fit(outside, epochs=2, verbose=0, shuffle=False)
model.fit(inside, epochs=2, steps_per_epoch=5, verbose=0, shuffle=False)
count = 0
for _, labels in strategy.experimental_distribute_dataset(outside):
    count += sum(len(part) for part in strategy.experimental_local_results(labels))
print("images:", count)
# The process ends while its pipeline is in Python.
import time
from quickfit.data.graph import in_python

def slow(number):
    time.sleep(0.3)
    return number

numbers = tf.data.Dataset.range(100)
numbers = numbers.map(lambda number: in_python(slow, [number], (tf.int64, ()))[0]).prefetch(4)
reading = iter(numbers)
next(reading)
"""


@pytest.mark.tf
@pytest.mark.tf_any
def test_it_trains_on_two_devices_and_a_script_may_end_while_it_reads(tmp_path):
    pack = packed(tmp_path)
    run = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(pack)], capture_output=True, text=True, timeout=300
    )
    assert run.returncode == 0, run.stderr
    assert "images: 50" in run.stdout


def test_a_pack_that_is_not_finished_is_told(tmp_path):
    (tmp_path / ".partial").mkdir()
    (tmp_path / ".partial" / "plan.json").write_text("{}")
    with pytest.raises(PipelineError, match="this pack is not finished"):
        data.records(tmp_path)


def test_a_pack_that_lost_a_shard_is_told(tmp_path):
    pack = packed(tmp_path, classes={"cat": 2})
    next(pack.glob("*.tfrecord")).unlink()
    with pytest.raises(PipelineError, match="is missing"):
        data.records(pack)


def test_files_without_a_record_are_told(tmp_path):
    written(tmp_path / "a.tfrecord", [])
    with pytest.raises(PipelineError, match="there is no record in this file") as caught:
        data.records(tmp_path)
    assert "before it closed its TFRecordWriter" in str(caught.value)


def test_a_compression_that_tensorflow_has_not_is_told(tmp_path):
    from quickfit.errors import UsageError

    written(tmp_path / "a.tfrecord", [b"x"])
    with pytest.raises(UsageError, match="choose 'auto', 'GZIP', 'ZLIB' or None"):
        data.records(tmp_path, compression="bz2")
