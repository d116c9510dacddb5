"""Click-through-rate model fed from TFRecord shards."""
import os
import tempfile

import numpy as np
import tensorflow as tf

NUM_DENSE = 26
NUM_CAT = 26
ROWS = 10_000
EPOCHS = 9
BATCH = 512

SPEC = {f"d{i}": tf.io.FixedLenFeature([], tf.float32) for i in range(NUM_DENSE)}
SPEC.update({f"c{i}": tf.io.FixedLenFeature([], tf.int64) for i in range(NUM_CAT)})
SPEC["label"] = tf.io.FixedLenFeature([], tf.float32)


def write_shard(path, rows, seed):
    rng = np.random.default_rng(seed)
    dense = rng.random((rows, NUM_DENSE)).tolist()
    cats = rng.integers(0, 1000, (rows, NUM_CAT)).tolist()
    with tf.io.TFRecordWriter(path) as w:
        for d, c in zip(dense, cats):
            ex = tf.train.Example()
            f = ex.features.feature
            for i, v in enumerate(d):
                f[f"d{i}"].float_list.value.append(v)
            for i, v in enumerate(c):
                f[f"c{i}"].int64_list.value.append(v)
            f["label"].float_list.value.append(float(d[0] > 0.5))
            w.write(ex.SerializeToString())


def parse(record):
    ex = tf.io.parse_single_example(record, SPEC)
    dense = tf.stack([ex[f"d{i}"] for i in range(NUM_DENSE)])
    cats = tf.stack([ex[f"c{i}"] for i in range(NUM_CAT)])
    return {"numeric": dense, "categorical": cats}, ex["label"]


def build():
    dense = tf.keras.Input((NUM_DENSE,), name="numeric")
    cats = tf.keras.Input((NUM_CAT,), dtype="int64", name="categorical")
    e = tf.keras.layers.Flatten()(tf.keras.layers.Embedding(1000, 8)(cats))
    x = tf.keras.layers.Concatenate()([dense, e])
    for u in (128, 64):
        x = tf.keras.layers.Dense(u, activation="relu")(x)
    return tf.keras.Model({"numeric": dense, "categorical": cats}, tf.keras.layers.Dense(1, activation="sigmoid")(x))


if __name__ == "__main__":
    folder = tempfile.mkdtemp()
    shards = [os.path.join(folder, f"part-{k}.tfrecord") for k in range(2)]
    for k, s in enumerate(shards):
        write_shard(s, ROWS // 2, k)

    train = tf.data.TFRecordDataset(shards)
    train = train.map(parse)
    train = train.shuffle(2048).batch(BATCH).prefetch(tf.data.AUTOTUNE)

    model = build()
    model.compile(optimizer="adam", loss="binary_crossentropy", metrics=[tf.keras.metrics.AUC()])
    model.fit(train, epochs=EPOCHS, verbose=2)
