"""Records the looks at a few real pipelines, for tests without TensorFlow.

    python tests/data/speed/recorder.py

Run it again when TensorFlow counts in another way; the tests judge order and sums, not times.
"""

import dataclasses
import json
import sys
from pathlib import Path

HERE = Path(__file__).parent


def chains():
    """Return the pipelines by name."""
    import numpy as np
    import tensorflow as tf

    def decode(index):
        pixels = tf.random.stateless_uniform((64, 64, 3), seed=[index, index])
        return tf.cast(pixels * 255, tf.uint8), tf.cast(index % 10, tf.int32)

    def scale(pixels, label):
        return tf.cast(pixels, tf.float32) / 255.0, label

    def sort(index):
        return np.sort(np.random.default_rng(0).random(30_000))[:8].astype("float32")

    def python(index):
        return tf.numpy_function(sort, [index], tf.float32)

    def shard(index):
        return tf.data.Dataset.range(1000).map(lambda value: value + index)

    def batches():
        while True:
            yield np.sort(np.random.default_rng(0).random((16, 100))).astype("float32")

    numbers, auto = tf.data.Dataset.range(100_000), tf.data.AUTOTUNE
    signature = tf.TensorSpec((16, 100))
    return {
        "parallel": numbers.shuffle(100).map(decode, num_parallel_calls=auto).batch(32).map(scale),
        "python": numbers.map(python).batch(8).prefetch(2),
        "interleaved": numbers.interleave(shard, num_parallel_calls=2).batch(64),
        "generated": tf.data.Dataset.from_generator(batches, output_signature=signature),
        "cached": tf.data.Dataset.range(100).map(decode).cache().shuffle(10).batch(8),
    }


def record(name, dataset):
    """Write what two looks at a pipeline see, and its operations."""
    from quickfit.data.speed.feeds import DatasetFeed
    from quickfit.data.speed.timing import ElementTaker

    taker = ElementTaker(DatasetFeed(dataset, name))
    taker.first()
    for _ in range(30):
        taker.step()
    begin = taker.look()
    for _ in range(60):
        taker.step()
    last = taker.look()
    feed = taker.feed
    operations = [dataclasses.asdict(one) for one in feed.operations.values()]
    for one in operations:
        one["file"] = Path(one["file"]).name if one["file"] else None
    looks = [dataclasses.asdict(look) for look in (begin, last) if look is not None]
    taker.close()
    found = {"top": feed.top, "operations": operations, "looks": looks}
    (HERE / f"{name}.json").write_text(json.dumps(found) + "\n")


if __name__ == "__main__":
    for name, dataset in chains().items():
        print(name, file=sys.stderr)
        record(name, dataset)
