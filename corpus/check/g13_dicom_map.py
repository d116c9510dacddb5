# EXPECT none
# NOTE py_function calls pydicom, which TensorFlow has no counterpart for (DICOM headers, rescale slope/intercept): judged right; the result is cached so that it runs once per file
# SEEN ran (rc 0) with a stand-in for pydicom (not installed here)
"""CT slices: is there contrast agent?"""
import glob
import os
import sys
import tempfile

import numpy as np
import pydicom
import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers

SIDE = 64
WINDOW = (-160.0, 240.0)


def read_slice(path):
    ds = pydicom.dcmread(path.numpy().decode())
    hu = ds.pixel_array.astype("float32") * float(ds.RescaleSlope) + float(ds.RescaleIntercept)
    contrast = 1.0 if getattr(ds, "ContrastBolusAgent", "") else 0.0
    return hu[..., None], np.float32(contrast)


def load(path):
    hu, contrast = tf.py_function(read_slice, [path], (tf.float32, tf.float32))
    hu.set_shape((None, None, 1))
    contrast.set_shape(())
    lo, hi = WINDOW
    image = tf.clip_by_value((hu - lo) / (hi - lo), 0.0, 1.0)
    return tf.image.resize(image, (SIDE, SIDE)), contrast


def dataset(paths, training):
    ds = tf.data.Dataset.from_tensor_slices(paths)
    ds = ds.map(load, num_parallel_calls=tf.data.AUTOTUNE).cache()
    if training:
        ds = ds.shuffle(len(paths))
    return ds.batch(16).prefetch(tf.data.AUTOTUNE)


def model():
    m = keras.Sequential(
        [
            keras.Input((SIDE, SIDE, 1)),
            layers.Conv2D(8, 5, strides=2, activation="relu"),
            layers.Conv2D(16, 5, strides=2, activation="relu"),
            layers.GlobalAveragePooling2D(),
            layers.Dense(1, activation="sigmoid"),
        ]
    )
    m.compile("adam", "binary_crossentropy", metrics=["accuracy"])
    return m


def main(folder):
    keras.utils.set_random_seed(1)
    paths = sorted(glob.glob(os.path.join(folder, "*.dcm")))
    if not paths:
        raise SystemExit(f"no DICOM files in {folder}")
    cut = int(0.8 * len(paths))
    model().fit(
        dataset(paths[:cut], True),
        validation_data=dataset(paths[cut:], False),
        epochs=2,
        verbose=2,
    )


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(sys.argv[1])
    else:
        with tempfile.TemporaryDirectory() as tmp:
            for i in range(40):
                open(os.path.join(tmp, f"slice{i:02d}.dcm"), "wb").write(bytes([i]))
            main(tmp)
