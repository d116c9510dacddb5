"""Writers of record files: a folder of images in, a folder of record files out."""

from __future__ import annotations

import os
import random
import shutil
import struct
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from data.child import Turns
from data.cpu import own_cpu_s

SHARD_BYTES = 128 * 1024 * 1024
# Before the first write that counts: everything imported, every cache warm.
WARM_IMAGES = 64

Images = list[tuple[str, int]]


def listed(folder: Path) -> Images:
    """Return all files of class folders with their labels, in a random order."""
    classes = sorted(entry.name for entry in os.scandir(folder) if entry.is_dir())
    found = [
        (entry.path, label)
        for label, name in enumerate(classes)
        for entry in os.scandir(folder / name)
    ]
    random.Random(0).shuffle(found)
    return found


def contents(images: Images) -> Iterator[tuple[str, int, bytes]]:
    """Yield path, label and content of each file."""
    for path, label in images:
        with open(path, "rb") as opened:
            yield path, label, opened.read()


def tf_writer(source: Path, destination: Path) -> None:
    """`tf.io.TFRecordWriter` with `tf.train.Example`."""
    import tensorflow as tf

    def example(path: str, label: int, content: bytes) -> bytes:
        features = {
            "image": tf.train.Feature(bytes_list=tf.train.BytesList(value=[content])),
            "label": tf.train.Feature(int64_list=tf.train.Int64List(value=[label])),
            "path": tf.train.Feature(bytes_list=tf.train.BytesList(value=[path.encode()])),
        }
        made = tf.train.Example(features=tf.train.Features(feature=features))
        serialized: bytes = made.SerializeToString()
        return serialized

    rows = contents(listed(source))
    for number, part in enumerate(_by_bytes(rows)):
        with tf.io.TFRecordWriter(str(destination / f"{number:05d}.tfrecord")) as writer:
            for path, label, content in part:
                writer.write(example(path, label, content))


def webdataset_writer(source: Path, destination: Path) -> None:
    """`webdataset.ShardWriter`: tar files."""
    import webdataset

    pattern = str(destination / "%05d.tar")
    with webdataset.ShardWriter(pattern, maxsize=SHARD_BYTES, verbose=0) as writer:
        for number, (_, label, content) in enumerate(contents(listed(source))):
            writer.write({"__key__": f"{number:08d}", "jpg": content, "cls": label})


def array_record_writer(source: Path, destination: Path) -> None:
    """ArrayRecord, one record a group, as its guide advises for random access."""
    from array_record.python.array_record_module import ArrayRecordWriter

    for number, part in enumerate(_by_bytes(contents(listed(source)))):
        writer = ArrayRecordWriter(str(destination / f"{number:05d}.array_record"), "group_size:1")
        for _, label, content in part:
            writer.write(struct.pack("<q", label) + content)
        writer.close()


def mds_writer(source: Path, destination: Path) -> None:
    """MosaicML's `MDSWriter`, without compression and hashes."""
    from streaming import MDSWriter

    columns = {"image": "bytes", "label": "int"}
    with MDSWriter(out=str(destination / "mds"), columns=columns, size_limit=SHARD_BYTES) as writer:
        for _, label, content in contents(listed(source)):
            writer.write({"image": content, "label": label})


def tf_reencoder(source: Path, destination: Path) -> None:
    """Decode, shrink to 256 and encode in a parallel tf.data pipeline, written by one thread."""
    import tensorflow as tf

    def load(path: Any, label: Any) -> Any:
        image = tf.io.decode_jpeg(tf.io.read_file(path), channels=3)
        shape = tf.cast(tf.shape(image)[:2], tf.float32)
        size = tf.cast(tf.round(shape * (256.0 / tf.reduce_min(shape))), tf.int32)
        image = tf.cast(tf.image.resize(image, size, antialias=True) + 0.5, tf.uint8)
        return tf.io.encode_jpeg(image, quality=90), label

    paths, labels = (list(column) for column in zip(*listed(source), strict=True))
    ds = tf.data.Dataset.from_tensor_slices((paths, labels))
    ds = ds.map(load, num_parallel_calls=tf.data.AUTOTUNE).prefetch(tf.data.AUTOTUNE)
    with tf.io.TFRecordWriter(str(destination / "00000.tfrecord")) as writer:
        for content, label in ds.as_numpy_iterator():
            features = {
                "image": tf.train.Feature(bytes_list=tf.train.BytesList(value=[content])),
                "label": tf.train.Feature(int64_list=tf.train.Int64List(value=[label])),
            }
            example = tf.train.Example(features=tf.train.Features(feature=features))
            writer.write(example.SerializeToString())


def quickfit_pack(source: Path, destination: Path, **options: Any) -> None:
    """`quickfit.data.pack`; `options` are its own."""
    from quickfit import data

    data.pack(source, destination / "pack", progress=False, **options)


def write_in_turns(
    folder: Path, turns: Turns, *, writer: str, scratch: str, is_copy: bool, **options: Any
) -> None:
    """Write all images each time a turn comes, and answer with what it cost.

    Args:
        folder: of the images.
        turns: when to write.
        writer: the name of a function here.
        scratch: where to write.
        is_copy: whether the output holds the files as they are: then it cannot be smaller.
        options: of the writer.
    """
    write: Callable[..., None] = globals()[writer]
    images = listed(folder)
    least_bytes = sum(os.path.getsize(path) for path, _ in images) if is_copy else len(images)
    few = Path(scratch) / f"few-{os.getpid()}"
    link(images[:WARM_IMAGES], few)
    _timed(write, few, Path(scratch), options, least_bytes=0)
    shutil.rmtree(few)
    turns.answer({})
    turns.wait()
    while True:
        cost = _timed(write, folder, Path(scratch), options, least_bytes=least_bytes)
        turns.finish(len(images), **cost)


def link(images: Images, folder: Path, *, copies: int = 1) -> None:
    """Make class folders of hard links to images, so many to each."""
    for path, label in images:
        (folder / f"class{label}").mkdir(parents=True, exist_ok=True)
        for number in range(copies):
            os.link(path, folder / f"class{label}" / f"{number}-{os.path.basename(path)}")


def _timed(
    write: Callable[..., None],
    source: Path,
    scratch: Path,
    options: dict[str, Any],
    *,
    least_bytes: int,
) -> dict[str, float]:
    """Write into a fresh folder, look at the size of what is there, and delete it again."""
    destination = scratch / f"written-{os.getpid()}"
    destination.mkdir(parents=True)
    try:
        begin_s, cpu_s = time.monotonic(), own_cpu_s()
        write(source, destination, **options)
        cost = {"wall_s": time.monotonic() - begin_s, "cpu_s": own_cpu_s() - cpu_s}
        files = [file for file in destination.rglob("*") if file.is_file()]
        written_bytes = sum(file.stat().st_size for file in files)
    finally:
        shutil.rmtree(destination)
    if written_bytes < least_bytes:
        raise ValueError(f"{written_bytes:,} bytes written, at least {least_bytes:,} expected")
    return cost


def _by_bytes(
    rows: Iterator[tuple[str, int, bytes]],
) -> Iterator[Iterator[tuple[str, int, bytes]]]:
    """Cut rows into shards of about `SHARD_BYTES`; each must be used up before the next."""
    kept = next(rows, None)
    while kept is not None:

        def part(first: tuple[str, int, bytes]) -> Iterator[tuple[str, int, bytes]]:
            nonlocal kept
            row: tuple[str, int, bytes] | None = first
            size_bytes = 0
            while row is not None and size_bytes < SHARD_BYTES:
                size_bytes += len(row[2])
                yield row
                row = next(rows, None)
            kept = row

        yield part(kept)
