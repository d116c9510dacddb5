"""Builds pipelines in many ways of writing, runs each a little and tells what runs in it.

What stands on a line is named by the `# mark:` at its end. The runtime's own view of each
pipeline goes to stdout as JSON, what quickfit knows of the datasets into its recording.
"""

import functools
import gc
import json
import sys
from pathlib import Path

from quickfit.probes import session

FOLDER, TEMP = Path(sys.argv[1]), Path(sys.argv[2])
session.start(FOLDER, role="main")

import chains_reading
import keras
import numpy as np
import tensorflow as tf
from chains_reading import batched, interleaved

from quickfit.pipeline_model.snapshot import nodes_to_json
from quickfit.probes import tf_data_chain
from quickfit.probes._state import Current

Dataset, AUTOTUNE = tf.data.Dataset, tf.data.AUTOTUNE
PIPELINES = {}


def pipeline(build):
    """Keep a function that builds a pipeline."""
    PIPELINES[build.__name__] = build
    return build


def plus(x, by=1):  # mark: plus
    """Add something."""
    return x + by


def noisy(x):  # mark: noisy
    """Add noise."""
    return tf.cast(x, tf.float32) + tf.random.uniform([])


def in_python(x):  # mark: in-python
    """Add one in Python."""
    return tf.numpy_function(lambda v: v + 1, [x], tf.int64)


def numbers():  # mark: numbers
    """Make numbers."""
    yield from range(200)


class Scale:
    """Something to call."""

    def __call__(self, x):  # mark: scale
        return x * 2

    def method(self, x):  # mark: method
        """Multiply."""
        return x * 3


class Shift(keras.layers.Layer):
    """A layer of the user's."""

    def call(self, x):  # mark: shift
        return x + 1.0


def files():
    """Return record files."""
    paths = [str(TEMP / f"{number}.tfrecord") for number in range(3)]
    for path in paths:
        with tf.io.TFRecordWriter(path) as writer:
            for number in range(40):
                writer.write(b"x" * (number + 1))
    return paths


@pipeline
def plain():
    return (
        Dataset.from_tensor_slices(np.arange(200))  # mark: slices
        .shuffle(10)  # mark: shuffle
        .map(plus)  # mark: map
        .padded_batch(2, padded_shapes=[])  # mark: padded
    )


@pipeline
def fused():
    dataset = Dataset.range(200).shuffle(10).repeat()  # mark: shuffle-repeat
    dataset = dataset.map(plus, num_parallel_calls=AUTOTUNE)  # mark: fused-map
    return dataset.batch(2).prefetch(AUTOTUNE)  # mark: batch-prefetch


@pipeline
def prefetch_in_the_middle():
    dataset = Dataset.range(200).prefetch(2)  # mark: middle
    return dataset.map(in_python).batch(2)  # mark: map-batch


@pipeline
def in_a_loop():
    dataset = Dataset.range(200)  # mark: loop-source
    for by in (1, 2):
        dataset = dataset.map(functools.partial(plus, by=by))  # mark: loop-map
    return dataset.map(noisy)  # mark: after-loop


@pipeline
def in_a_comprehension():
    parts = [Dataset.range(n).map(Scale()) for n in (50, 60)]  # mark: parts
    return Dataset.zip(tuple(parts))  # mark: zip


@pipeline
def with_itself():
    dataset = Dataset.range(200).map(Scale().method)  # mark: self
    return Dataset.zip((dataset, dataset)).batch(2)  # mark: self-zip


@pipeline
def by_helpers():
    dataset = interleaved(files())  # mark: call-interleaved
    return batched(dataset, 2)  # mark: call-batched


@pipeline
def by_helpers_again():
    dataset = interleaved(files()).take(100)  # mark: again-interleaved
    return batched(dataset, 4)  # mark: again-batched


@pipeline
def lambdas_over_lines():
    return Dataset.from_tensor_slices(files()).interleave(  # mark: over-lines
        lambda file: (  # mark: lambda-file
            tf.data.TFRecordDataset(file)  # mark: lambda-open
            .map(  # mark: lambda-map
                lambda record: (  # mark: lambda-record
                    tf.strings.length(record)
                )
            )
            .batch(2)  # mark: lambda-batch
        ),
        cycle_length=2,
        num_parallel_calls=2,
    )


@pipeline
def nested():
    def inner(x):  # mark: inner
        dataset = Dataset.range(x + 40)  # mark: inner-source
        for _ in range(2):
            dataset = dataset.map(plus)  # mark: inner-map
        return dataset.flat_map(  # mark: inner-flat
            lambda y: Dataset.range(y + 40).map(Scale())  # mark: innermost
        )

    return Dataset.range(20).flat_map(inner)  # mark: nested


@pipeline
def either():
    def one_of(x):  # mark: one-of
        if x % 2 == 0:
            return Dataset.range(300).map(plus)  # mark: even
        return Dataset.range(300).shuffle(3)  # mark: odd

    return Dataset.range(20).interleave(one_of, cycle_length=2)  # mark: either


@pipeline
def made_outside():
    other = Dataset.range(300).map(plus)  # mark: other
    return Dataset.range(20).flat_map(lambda _: other)  # mark: hand-out


@pipeline
def reads_files():
    return tf.data.TFRecordDataset(files(), num_parallel_reads=2).batch(2)  # mark: files


@pipeline
def lists_files():
    names = Dataset.list_files(str(TEMP / "*.tfrecord"), shuffle=False)  # mark: list
    return tf.data.TFRecordDataset(names).map(chains_reading.length)  # mark: listed


@pipeline
def from_generator():
    spec = tf.TensorSpec([], tf.int64)
    return Dataset.from_generator(numbers, output_signature=spec).batch(2)  # mark: generator


@pipeline
def nothing_done():
    dataset = Dataset.range(200).take(-1).skip(0).repeat(1)  # mark: nothing
    dataset = dataset.map(lambda x: x).with_options(tf.data.Options())  # mark: identity
    return dataset.map(plus).map(lambda x: x).batch(2)  # mark: something


@pipeline
def unbatched():
    dataset = Dataset.range(200).batch(4).map(plus)  # mark: before
    return dataset.rebatch(3).unbatch()  # mark: unbatch


@pipeline
def cached():
    dataset = Dataset.range(200).map(plus)  # mark: uncached
    return dataset.cache().batch(2)  # mark: cache


@pipeline
def cached_in_a_file():
    dataset = Dataset.range(200).map(plus)  # mark: unfiled
    return dataset.cache(str(TEMP / "cache")).batch(2)  # mark: file


@pipeline
def chosen():
    datasets = [
        Dataset.range(200).map(plus),  # mark: first
        Dataset.range(200).shuffle(3),  # mark: second
    ]
    choice = Dataset.range(300).map(lambda i: i % 2)  # mark: choice
    return Dataset.choose_from_datasets(datasets, choice)  # mark: choose


@pipeline
def sampled():
    datasets = [Dataset.range(200).repeat(), Dataset.range(200)]  # mark: populations
    return Dataset.sample_from_datasets(datasets, [0.5, 0.5], seed=1)  # mark: sample


@pipeline
def counted():
    dataset = Dataset.range(200).enumerate()  # mark: enumerate
    return dataset.filter(lambda i, x: i >= 0)  # mark: filter


@pipeline
def joined():
    first = Dataset.range(2).map(plus)  # mark: head
    second = Dataset.range(200).shuffle(2)  # mark: tail
    return first.concatenate(second)  # mark: join


@pipeline
def grouped():
    dataset = Dataset.range(200).map(lambda x: tf.range(x % 8))  # mark: ragged
    return dataset.ragged_batch(2)  # mark: ragged-batch


@pipeline
def applied():
    return Dataset.range(200).apply(lambda dataset: dataset.map(plus))  # mark: apply


@pipeline
def fused_neighbours():
    options = tf.data.Options()
    options.experimental_optimization.map_fusion = True
    dataset = Dataset.range(200).map(plus)  # mark: fuse-one
    dataset = dataset.map(Scale())  # mark: fuse-two
    return dataset.with_options(options)


@pipeline
def layers():
    dataset = Dataset.from_tensor_slices(np.zeros((40, 3), "float32")).batch(2)  # mark: rows
    dataset = dataset.map(Shift())  # mark: own-layer
    return dataset.map(keras.layers.Rescaling(2.0))  # mark: keras-layer


@pipeline
def of_keras():
    data = np.arange(100.0)
    return keras.utils.timeseries_dataset_from_array(data, data, 5, batch_size=4)  # mark: keras


@pipeline
def saved():
    Dataset.range(200).save(str(TEMP / "saved"))
    return Dataset.load(str(TEMP / "saved")).batch(2)  # mark: load


def left_behind():
    """Return how many datasets and graphs are more than before after many came and went."""

    def count():
        gc.collect()
        graphs = sum(type(thing).__name__ == "FuncGraph" for thing in gc.get_objects())
        return {"datasets": len(tf_data_chain._written), "graphs": graphs}

    def come_and_go(number):
        for _ in range(number):
            dataset = Dataset.range(3).take(2).flat_map(lambda x: Dataset.range(x).batch(2))
            tf_data_chain.describe_chain(dataset, Current.state)

    come_and_go(2)
    before = count()
    come_and_go(20)
    return {name: number - before[name] for name, number in count().items()}


def main():
    """Run every pipeline for a few elements and print its runtime nodes."""
    state, found = Current.state, {}
    for name, build in PIPELINES.items():
        dataset = build()  # mark: build
        iterator = iter(dataset)
        for _ in range(6):
            next(iterator)
        proto = tf.data.experimental.get_model_proto(iterator)
        nodes = json.loads(nodes_to_json(proto))
        number = tf_data_chain.describe_chain(dataset, state)
        found[name] = {"dataset": number, "root": proto.output, "nodes": nodes}
    more = left_behind()
    session.finish()
    print(json.dumps({"pipelines": found, "left_behind": more}))


main()
