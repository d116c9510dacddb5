"""Small packs and TFRecord files for the tests of `records`, written without TensorFlow."""

import gzip
import struct
import zlib
from pathlib import Path

from quickfit.data.packing import pack
from quickfit.data.tfrecord import mask_crc

from photos import folder


def packed(path, form="raw", classes=None, size=(60, 80), **options):
    """Pack a folder of photographs and return the pack; raw ones have 24 × 32 pixels."""
    path = Path(path)
    folder(path / "source", classes or {"cat": 30, "dog": 20}, size=size)
    if form == "raw":
        options.setdefault("size", (24, 32))
    pack(path / "source", path / "pack", form=form, workers=1, progress=False, **options)
    return path / "pack"


def frame(content):
    """Return a record as a TFRecord file holds it."""
    from crc32c import crc32c

    head = struct.pack("<Q", len(content))
    crcs = (struct.pack("<I", mask_crc(crc32c(part))) for part in (head, content))
    return head + next(crcs) + content + next(crcs)


def written(path, contents, compression=""):
    """Write a TFRecord file."""
    whole = b"".join(map(frame, contents))
    squeeze = {"": bytes, "GZIP": gzip.compress, "ZLIB": zlib.compress}[compression]
    Path(path).write_bytes(squeeze(whole))
    return Path(path)


def example(**fields):
    """Return a `tf.train.Example`; a double underscore in a name stands for a slash."""
    import tensorflow as tf

    features = {name.replace("__", "/"): _feature(tf, value) for name, value in fields.items()}
    return tf.train.Example(features=tf.train.Features(feature=features)).SerializeToString()


def _feature(tf, value):
    values = value if isinstance(value, list) else [value]
    if not values:
        return tf.train.Feature()
    if all(isinstance(value, int) for value in values):
        return tf.train.Feature(int64_list=tf.train.Int64List(value=values))
    if all(isinstance(value, float) for value in values):
        return tf.train.Feature(float_list=tf.train.FloatList(value=values))
    return tf.train.Feature(bytes_list=tf.train.BytesList(value=values))


def flipped(path, at):
    """Change one byte of a file."""
    content = bytearray(Path(path).read_bytes())
    content[at] ^= 0x55
    Path(path).write_bytes(content)
