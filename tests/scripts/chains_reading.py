"""Pipelines that are built in another module than the script's, by helpers of helpers."""

import tensorflow as tf


def length(record):  # mark: length
    """Return how long a record is."""
    return tf.strings.length(record)


def records(file):  # mark: records
    """Return the lengths of a file's records; AutoGraph writes this function anew."""
    return (
        tf.data.TFRecordDataset(file)  # mark: open
        .map(length)  # mark: measure
        .filter(lambda size: size > 0)  # mark: nonempty
    )


def interleaved(files):
    """Return the records of all files, some at a time."""
    dataset = tf.data.Dataset.from_tensor_slices(files)  # mark: names
    return dataset.interleave(records, cycle_length=2)  # mark: mix


def batched(dataset, size):
    """Return batches that are ready ahead of time."""
    return _ahead(dataset.batch(size))  # mark: helper-batch


def _ahead(dataset):
    return dataset.prefetch(2)  # mark: helper-prefetch
