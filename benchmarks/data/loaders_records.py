"""Readers of packs written by hand with plain tf.data."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from data.outputs import BATCH, SIDE

# Records that are shuffled at a time.
BUFFER = 1000


def _shards(pack: str) -> Any:  # a tf.data.Dataset of serialized records
    import tensorflow as tf

    files = tf.data.Dataset.list_files(f"{pack}/*.tfrecord", shuffle=True)
    ds = files.interleave(tf.data.TFRecordDataset, num_parallel_calls=tf.data.AUTOTUNE)
    return ds.shuffle(BUFFER)


def _features() -> dict[str, Any]:
    import tensorflow as tf

    return {
        "image": tf.io.FixedLenFeature([], tf.string),
        "label": tf.io.FixedLenFeature([], tf.int64),
    }


def one_by_one(folder: Path, *, pack: str, is_raw: bool) -> Iterable[Any]:
    """Each record parsed and decoded by itself, in parallel."""
    import tensorflow as tf

    def load(record: Any) -> Any:
        parsed = tf.io.parse_single_example(record, _features())
        if is_raw:
            image = tf.reshape(tf.io.decode_raw(parsed["image"], tf.uint8), (SIDE, SIDE, 3))
        else:
            image = tf.io.decode_jpeg(parsed["image"], channels=3, dct_method="INTEGER_FAST")
            image = tf.cast(tf.image.resize(image, (SIDE, SIDE)) + 0.5, tf.uint8)
        return image, parsed["label"]

    ds = _shards(pack).map(load, num_parallel_calls=tf.data.AUTOTUNE)
    return ds.batch(BATCH).prefetch(tf.data.AUTOTUNE)


def raw_batches(folder: Path, *, pack: str) -> Iterable[Any]:
    """Whole batches of raw records parsed at once."""
    import tensorflow as tf

    def load(records: Any) -> Any:
        parsed = tf.io.parse_example(records, _features())
        images = tf.io.decode_raw(parsed["image"], tf.uint8)
        return tf.reshape(images, (-1, SIDE, SIDE, 3)), parsed["label"]

    ds = _shards(pack).batch(BATCH).map(load, num_parallel_calls=tf.data.AUTOTUNE)
    return ds.prefetch(tf.data.AUTOTUNE)
