"""Self-supervised pretraining on unlabelled readings, then finetuning on TFRecords.

python pretrain_finetune.py --prepare   # writes the record file once
python pretrain_finetune.py
"""
import os
import sys
import tempfile

import numpy as np
import tensorflow as tf
from tensorflow import keras

SENSORS = 60
FOLDER = os.path.join(tempfile.gettempdir(), "blind_sensor_records")
RECORDS = os.path.join(FOLDER, "labelled.tfrecord")
NAMES = [f"s{i:02d}" for i in range(SENSORS)]


def prepare(n=30000):
    os.makedirs(FOLDER, exist_ok=True)
    rng = np.random.default_rng(9)
    with tf.io.TFRecordWriter(RECORDS) as w:
        for _ in range(n):
            v = rng.normal(size=SENSORS)
            feat = {k: tf.train.Feature(float_list=tf.train.FloatList(value=[x])) for k, x in zip(NAMES, v)}
            feat["fault"] = tf.train.Feature(int64_list=tf.train.Int64List(value=[int(v[:5].sum() > 0)]))
            w.write(tf.train.Example(features=tf.train.Features(feature=feat)).SerializeToString())
    print("wrote", RECORDS)


SPEC = {k: tf.io.FixedLenFeature([], tf.float32) for k in NAMES}
SPEC["fault"] = tf.io.FixedLenFeature([], tf.int64)


def parse(raw):
    return tf.io.parse_single_example(raw, SPEC)


def split_label(ex):
    return {k: ex[k] for k in NAMES}, ex["fault"]


def stack(feats, label):
    return tf.stack([feats[k] for k in NAMES]), label


def standardise(x, label):
    return (x - tf.reduce_mean(x)) / (tf.math.reduce_std(x) + 1e-6), label


def labelled_dataset():
    ds = tf.data.TFRecordDataset(RECORDS)
    ds = ds.map(parse)
    ds = ds.map(split_label)
    ds = ds.map(stack)
    ds = ds.map(standardise)
    return ds.batch(128).prefetch(2)


def main():
    encoder = keras.Sequential([keras.layers.Input((SENSORS,)),
                                keras.layers.Dense(128, activation="relu"),
                                keras.layers.Dense(32, activation="relu")])
    # --- stage 1: denoising autoencoder
    clean = np.random.default_rng(1).normal(size=(20000, SENSORS)).astype("float32")
    auto = keras.Sequential([encoder, keras.layers.Dense(SENSORS)])
    auto.compile("adam", "mse")
    auto.fit(clean + 0.1, clean, batch_size=128, epochs=2, verbose=2)

    # --- stage 2: classifier
    clf = keras.Sequential([encoder, keras.layers.Dense(1, activation="sigmoid")])
    clf.compile(keras.optimizers.Adam(5e-4), "binary_crossentropy", metrics=["accuracy"])
    clf.fit(labelled_dataset(), epochs=4, verbose=2)


if __name__ == "__main__":
    if "--prepare" in sys.argv:
        prepare()
    else:
        main()
