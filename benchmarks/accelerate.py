"""`data.accelerate` on 20 chains that are slow in different ways, beside a version tuned by hand.

    python benchmarks/accelerate.py [--only NAME …] [--rounds 8]

Each chain is written three times: as it is, as `accelerate` rebuilds it, and as an expert would
write it. Epochs of the three run in turns, each from a new iterator to its end, after
one epoch that is not counted. The table has the speed of the rebuilt one against the other two, by
the clock and by CPU time (medians over the rounds), and whether two epochs of elements are the
same, bit for bit. A chain that draws random numbers without a seed is never the same.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np
import tensorflow as tf

from quickfit import data

Dataset = Any
AUTO = tf.data.AUTOTUNE
ROOM = Path(tempfile.mkdtemp(prefix="accelerate-"))


@dataclass(frozen=True)
class Chain:
    """A chain, as it is and tuned by hand."""

    name: str
    slow: Callable[[], Dataset]
    tuned: Callable[[], Dataset]
    is_random: bool = False


def write_photos(count: int = 160) -> list[str]:
    """Write JPEG files and return their names."""
    rng = np.random.default_rng(0)
    names = []
    for number in range(count):
        small = rng.integers(0, 255, (15, 20, 3)).astype(np.float32)
        image = tf.cast(tf.image.resize(small, (240, 320)), tf.uint8)
        names.append(str(ROOM / f"{number:03}.jpg"))
        tf.io.write_file(names[-1], tf.io.encode_jpeg(image))
    return names


def write_records(files: int = 6, each: int = 700) -> list[str]:
    """Write TFRecord files of small examples and return their names."""
    rng = np.random.default_rng(1)
    names = [str(ROOM / f"{number}.tfrecord") for number in range(files)]
    for name in names:
        with tf.io.TFRecordWriter(name) as writer:
            for _ in range(each):
                values = tf.train.FloatList(value=rng.normal(size=64))
                label = tf.train.Int64List(value=[int(rng.integers(10))])
                pixels = tf.train.BytesList(value=[rng.bytes(64)])
                features = tf.train.Features(
                    feature={
                        "x": tf.train.Feature(float_list=values),
                        "y": tf.train.Feature(int64_list=label),
                        "p": tf.train.Feature(bytes_list=pixels),
                    }
                )
                writer.write(tf.train.Example(features=features).SerializeToString())
    return names


def write_lines(count: int = 5000) -> str:
    """Write a CSV file and return its name."""
    rng = np.random.default_rng(2)
    name = ROOM / "rows.csv"
    rows = rng.normal(size=(count, 8))
    name.write_text("\n".join(",".join(f"{x:.4f}" for x in row) for row in rows) + "\n")
    return str(name)


PHOTOS, RECORDS, LINES = write_photos(), write_records(), write_lines()
X = np.random.default_rng(3).normal(size=(20_000, 32)).astype(np.float32)
Y = (np.arange(20_000) % 10).astype(np.int64)
FEATURES = {
    "x": tf.io.FixedLenFeature([64], tf.float32),
    "y": tf.io.FixedLenFeature([], tf.int64),
    "p": tf.io.FixedLenFeature([], tf.string),
}


def slices(*arrays: Any) -> Dataset:
    """Return the rows of arrays as a dataset."""
    return tf.data.Dataset.from_tensor_slices(arrays if len(arrays) > 1 else arrays[0])


def decode(name: Any) -> Any:
    """Return the picture in a file."""
    image = tf.io.decode_jpeg(tf.io.read_file(name), channels=3)
    return tf.image.resize(image, (96, 96)) / 255.0


def parse(record: Any) -> Any:
    """Return the values of a record."""
    values = tf.io.parse_single_example(record, FEATURES)
    return values["x"] * 2.0, values["y"]


def parse_batch(records: Any) -> Any:
    """Return the values of many records."""
    values = tf.io.parse_example(records, FEATURES)
    return values["x"] * 2.0, values["y"]


def parse_raw(record: Any) -> Any:
    """Return the pixels of a record."""
    values = tf.io.parse_single_example(record, FEATURES)
    pixels = tf.reshape(tf.io.decode_raw(values["p"], tf.uint8), (8, 8))
    return tf.cast(pixels, tf.float32) / 255.0, tf.one_hot(values["y"], 10)


def parse_line(line: Any) -> Any:
    """Return the numbers of a line."""
    return tf.stack(tf.io.decode_csv(line, [0.0] * 8))


def heavy(x: Any, y: Any) -> Any:
    """Return something that takes a while."""
    square = tf.matmul(tf.reshape(x, (-1, 32)), tf.reshape(x, (-1, 32)), transpose_a=True)
    return tf.linalg.matmul(square, square) + tf.sin(square), y


def scaled(x: Any, y: Any) -> Any:
    """Return a row in another range."""
    return (x - 0.5) / 0.25, y


def augmented(image: Any) -> Any:
    """Return a picture changed at random."""
    image = tf.image.random_flip_left_right(image)
    return tf.image.random_brightness(tf.image.resize(image, (80, 80)), 0.2)


def in_python(image: Any) -> Any:
    """Return a picture changed by NumPy."""
    result = tf.numpy_function(lambda pixels: pixels[::-1].copy(), [image], tf.float32)
    result.set_shape((96, 96, 3))
    return result


def read_file(name: Any) -> Dataset:
    """Return the records of a file, parsed."""
    return tf.data.TFRecordDataset(name).map(parse)


def read_file_raw(name: Any) -> Dataset:
    """Return the records of a file."""
    return tf.data.TFRecordDataset(name)


def good() -> Dataset:
    """Return a chain that has nothing to gain."""
    cached = slices(PHOTOS).map(decode, num_parallel_calls=AUTO).cache()
    return cached.shuffle(160, seed=1).batch(16).prefetch(AUTO)


def windows(dataset: Dataset) -> Dataset:
    """Return overlapping windows of numbers."""
    return dataset.window(16, shift=8, drop_remainder=True).flat_map(lambda part: part.batch(16))


CHAINS = [
    Chain(
        "sequential map",
        lambda: slices(X[:2000], Y[:2000]).map(heavy).batch(32),
        lambda: (
            slices(X[:2000], Y[:2000])
            .map(heavy, num_parallel_calls=AUTO)
            .batch(32)
            .cache()
            .prefetch(AUTO)
        ),
    ),
    Chain(
        "map after batch",
        lambda: slices(X, Y).batch(64).map(heavy),
        lambda: slices(X, Y).batch(64).map(heavy, num_parallel_calls=AUTO).cache().prefetch(AUTO),
    ),
    Chain(
        "shuffle after decode",
        lambda: slices(PHOTOS).map(decode).shuffle(160, seed=1).batch(16),
        good,
    ),
    Chain(
        "no cache",
        lambda: slices(PHOTOS).map(decode, num_parallel_calls=AUTO).batch(16).prefetch(AUTO),
        lambda: (
            slices(PHOTOS).map(decode, num_parallel_calls=AUTO).batch(16).cache().prefetch(AUTO)
        ),
    ),
    Chain(
        "interleave one by one",
        lambda: slices(RECORDS).interleave(read_file, cycle_length=4).batch(32),
        lambda: (
            slices(RECORDS)
            .interleave(read_file_raw, cycle_length=4, num_parallel_calls=AUTO)
            .batch(32)
            .map(parse_batch, num_parallel_calls=AUTO)
            .cache()
            .prefetch(AUTO)
        ),
    ),
    Chain(
        "tiny elements, one by one",
        lambda: tf.data.TFRecordDataset(RECORDS).map(parse_raw).shuffle(1000, seed=2).batch(64),
        lambda: (
            tf.data.TFRecordDataset(RECORDS)
            .map(parse_raw, num_parallel_calls=AUTO)
            .cache()
            .shuffle(1000, seed=2)
            .batch(64)
            .prefetch(AUTO)
        ),
    ),
    Chain(
        "zip",
        lambda: tf.data.Dataset.zip(slices(PHOTOS).map(decode), slices(Y[:160])).batch(16),
        lambda: (
            tf.data.Dataset.zip(
                slices(PHOTOS).map(decode, num_parallel_calls=AUTO), slices(Y[:160])
            )
            .batch(16)
            .cache()
            .prefetch(AUTO)
        ),
    ),
    Chain(
        "concatenate",
        lambda: (
            slices(PHOTOS[:80]).map(decode).concatenate(slices(PHOTOS[80:]).map(decode)).batch(16)
        ),
        lambda: (
            slices(PHOTOS).map(decode, num_parallel_calls=AUTO).batch(16).cache().prefetch(AUTO)
        ),
    ),
    Chain(
        "take and skip",
        lambda: slices(PHOTOS).map(decode).skip(20).take(100).batch(10),
        lambda: (
            slices(PHOTOS[20:120])
            .map(decode, num_parallel_calls=AUTO)
            .batch(10)
            .cache()
            .prefetch(AUTO)
        ),
    ),
    Chain(
        "filter",
        lambda: slices(X, Y).filter(lambda x, y: y < 5).map(scaled).batch(64),
        lambda: (
            slices(X, Y).filter(lambda x, y: y < 5).batch(64).map(scaled).cache().prefetch(AUTO)
        ),
    ),
    Chain(
        "window",
        lambda: windows(slices(X[:4000, 0])).map(tf.sin).batch(16),
        lambda: windows(slices(X[:4000, 0])).map(tf.sin).batch(16).cache().prefetch(AUTO),
    ),
    Chain(
        "padded batch",
        lambda: slices(Y).map(lambda y: tf.ones([y + 1])).padded_batch(32),
        lambda: (
            slices(Y)
            .map(lambda y: tf.ones([y + 1]), num_parallel_calls=AUTO)
            .padded_batch(32)
            .cache()
            .prefetch(AUTO)
        ),
    ),
    Chain(
        "arrays",
        lambda: slices(X, Y).shuffle(20_000, seed=3).map(scaled).batch(64),
        lambda: (
            slices(X, Y)
            .shuffle(20_000, seed=3)
            .batch(64)
            .map(scaled, num_parallel_calls=AUTO)
            .prefetch(AUTO)
        ),
    ),
    Chain(
        "TFRecord parse",
        lambda: tf.data.TFRecordDataset(RECORDS).map(parse).batch(32),
        lambda: (
            tf.data.TFRecordDataset(RECORDS)
            .batch(32)
            .map(parse_batch, num_parallel_calls=AUTO)
            .cache()
            .prefetch(AUTO)
        ),
    ),
    Chain(
        "text lines",
        lambda: tf.data.TextLineDataset(LINES).map(parse_line).shuffle(500, seed=4).batch(32),
        lambda: (
            tf.data.TextLineDataset(LINES)
            .batch(500)
            .map(lambda lines: tf.stack(tf.io.decode_csv(lines, [0.0] * 8), axis=-1))
            .unbatch()
            .cache()
            .shuffle(500, seed=4)
            .batch(32)
            .prefetch(AUTO)
        ),
    ),
    Chain(
        "cache misplaced",
        lambda: slices(PHOTOS).cache().map(decode).batch(16).prefetch(1),
        lambda: (
            slices(PHOTOS).map(decode, num_parallel_calls=AUTO).batch(16).cache().prefetch(AUTO)
        ),
    ),
    Chain(
        "repeat before shuffle",
        lambda: slices(PHOTOS).map(decode).repeat(2).shuffle(64, seed=5).batch(16),
        lambda: (
            slices(PHOTOS)
            .map(decode, num_parallel_calls=AUTO)
            .cache()
            .repeat(2)
            .shuffle(64, seed=5)
            .batch(16)
            .prefetch(AUTO)
        ),
    ),
    Chain(
        "random augmentation",
        lambda: slices(PHOTOS).map(decode).map(augmented).batch(16),
        lambda: (
            slices(PHOTOS)
            .map(decode, num_parallel_calls=AUTO)
            .cache()
            .map(augmented, num_parallel_calls=AUTO)
            .batch(16)
            .prefetch(AUTO)
        ),
        is_random=True,
    ),
    Chain(
        "Python function",
        lambda: slices(PHOTOS).map(decode).map(in_python).batch(16),
        lambda: (
            slices(PHOTOS)
            .map(decode, num_parallel_calls=AUTO)
            .cache()
            .map(in_python, num_parallel_calls=AUTO)
            .batch(16)
            .prefetch(AUTO)
        ),
    ),
    Chain("already good", good, good),
]


def run_epoch(dataset: Dataset) -> tuple[float, float]:
    """Return wall and CPU time of an epoch, with the end of its iterator."""
    wall_s, cpu_s = time.perf_counter(), time.process_time()
    for _ in dataset:
        pass
    return time.perf_counter() - wall_s, time.process_time() - cpu_s


def is_same(first: Dataset, second: Dataset, epochs: int = 2) -> bool:
    """Tell whether two datasets give the same elements in some epochs, bit for bit."""
    for _ in range(epochs):
        pair = [list(one.as_numpy_iterator()) for one in (first, second)]
        if len(pair[0]) != len(pair[1]):
            return False
        for elements in zip(*pair, strict=True):
            flat = [tf.nest.flatten(one) for one in elements]
            for a, b in zip(*flat, strict=True):
                if a.dtype != b.dtype or a.shape != b.shape or a.tobytes() != b.tobytes():
                    return False
    return True


def measure_chain(chain: Chain, rounds: int) -> str:
    """Return the row of a chain."""
    began_s = time.perf_counter()
    fast = data.accelerate(chain.slow())
    took_s = time.perf_counter() - began_s
    print(f"\n{chain.name}\n{fast}", file=sys.stderr)
    same = "random" if chain.is_random else "yes" if is_same(chain.slow(), fast) else "NO"
    racing = [chain.slow(), fast, chain.tuned()]
    times: list[list[tuple[float, float]]] = [[], [], []]
    for number in range(rounds + 1):
        for who in (0, 1, 2) if number % 2 else (2, 1, 0):
            spent = run_epoch(racing[who])
            if number:
                times[who].append(spent)
    ratios = [
        statistics.median(a[part] / b[part] for a, b in zip(times[other], times[1], strict=True))
        for other in (0, 2)
        for part in (0, 1)
    ]
    wall, cpu, tuned, tuned_cpu = ratios
    return (
        f"{chain.name:26} {wall:8.2f} {cpu:8.2f} {tuned:8.2f} {tuned_cpu:8.2f}  {same:6} "
        f"{took_s:5.1f} s"
    )


def main() -> None:
    """Measure all chains and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--rounds", type=int, default=8)
    options = parser.parse_args()
    load = os.getloadavg()[0]
    head = ("chain", "orig", "CPU", "tuned", "CPU", "same", "taken")
    rows = []
    for chain in CHAINS:
        if not options.only or chain.name in options.only:
            rows.append(measure_chain(chain, options.rounds))
            print(rows[-1], file=sys.stderr)
    print(
        f"times faster than the original and than tuned by hand; load {load:.1f} at first, "
        f"{os.getloadavg()[0]:.1f} at last"
    )
    print(
        f"{head[0]:26} {head[1]:>8} {head[2]:>8} {head[3]:>8} {head[4]:>8}  {head[5]:6} {head[6]}"
    )
    print("\n".join(rows))


if __name__ == "__main__":
    main()
