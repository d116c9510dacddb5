import os
import numpy as np
import tensorflow as tf


def write_shards(folder, n_shards=4, per_shard=1500, dim=600, seed=0):
    rng = np.random.default_rng(seed)
    w = rng.normal(size=dim)
    paths = []
    for s in range(n_shards):
        path = os.path.join(folder, f"part-{s:03d}.tfrecord.gz")
        with tf.io.TFRecordWriter(path, "GZIP") as out:
            for _ in range(per_shard):
                x = rng.normal(size=dim).astype("float32")
                f = {"x": tf.train.Feature(float_list=tf.train.FloatList(value=x)),
                     "y": tf.train.Feature(int64_list=tf.train.Int64List(value=[int(x @ w > 0)]))}
                out.write(tf.train.Example(features=tf.train.Features(feature=f)).SerializeToString())
        paths.append(path)
    return paths


def parse(blob, dim=600):
    ex = tf.io.parse_single_example(blob, {"x": tf.io.FixedLenFeature([dim], tf.float32),
                                           "y": tf.io.FixedLenFeature([], tf.int64)})
    return ex["x"], tf.cast(ex["y"], tf.float32)


def dataset(paths, batch):
    ds = tf.data.TFRecordDataset(paths, compression_type="GZIP")
    return ds.map(parse, num_parallel_calls=tf.data.AUTOTUNE).batch(batch).prefetch(2)
