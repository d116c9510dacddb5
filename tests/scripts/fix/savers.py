"""Saves with all that Keras, TensorFlow, NumPy and HDF5 have, over files that are there too."""

import csv
import json
import os
import shutil
import tempfile
from pathlib import Path

import h5py
import keras
import numpy as np
import tensorflow as tf

x = np.random.rand(256, 8).astype("float32")
y = x.sum(1, keepdims=True)
model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(4), keras.layers.Dense(1)])
model.compile("sgd", "mse")

os.makedirs("runs/a/b", exist_ok=True)
with open("runs/a/b/new.json", "w") as file:
    json.dump({"a": 1}, file)
assert json.loads(Path("runs/a/b/new.json").read_text()) == {"a": 1}
shutil.rmtree("runs")
np.save("array.npy", x)
assert np.array_equal(np.load("array.npy"), x)
with open("new.csv", "w", newline="") as file:
    csv.writer(file).writerow(["epoch", "loss"])

writer = tf.summary.create_file_writer("logs/train")
with writer.as_default():
    tf.summary.scalar("a", 1.0, step=1)
checkpoint = tf.train.Checkpoint(value=tf.Variable(1.0))
manager = tf.train.CheckpointManager(checkpoint, "checkpoints", max_to_keep=2)
for _ in range(4):
    manager.save()
checkpoint.restore(manager.latest_checkpoint).assert_consumed()

model.fit(
    x,
    y,
    epochs=3,
    verbose=0,
    callbacks=[
        keras.callbacks.ModelCheckpoint("model.keras"),
        keras.callbacks.ModelCheckpoint("new.weights.h5", save_weights_only=True),
        keras.callbacks.TensorBoard("board"),
        keras.callbacks.CSVLogger("log.csv"),
        keras.callbacks.BackupAndRestore("backup"),
    ],
)
model.save("model.keras")
assert np.array_equal(
    keras.saving.load_model("model.keras").predict(x[:1], verbose=0).shape, (1, 1)
)
assert Path("log.csv").read_text().count("\n") == 4
model.export("exported", verbose=False)
tf.saved_model.save(tf.Module(), "saved")
list(tf.data.Dataset.range(10).cache("cache"))
with tf.io.TFRecordWriter("x.tfrecord") as records:
    records.write(b"abc")
with h5py.File("new.h5", "w") as archive:
    archive.create_dataset("a", data=x)
with tempfile.TemporaryDirectory() as folder:
    Path(folder, "x").write_text("hi")
print("all fine")
