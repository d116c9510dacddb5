"""`decode_image` before `resize`, from the text of a program."""

import pytest

from quickfit.causes.traps.decode_image_no_shape import CAUSE
from quickfit.findings import Effect, FixClass

from programs import fixed, lines, spots

HEAD = "import tensorflow as tf\n"
SOURCE = "ds = tf.data.Dataset.from_tensor_slices(paths)\n"
LOAD = """
def load(path):
    image = tf.io.decode_image(tf.io.read_file(path), channels=3)
    return tf.image.resize(image, (8, 8))
"""
PLAIN = HEAD + LOAD + SOURCE + "ds = ds.map(load)\n"


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(PLAIN, id="at once"),
        pytest.param(PLAIN.replace("tf.io.decode_image", "tf.image.decode_image"), id="tf.image"),
        pytest.param(
            HEAD + LOAD + SOURCE + "ds = ds.map(lambda path: (load(path), 1))\n", id="in a lambda"
        ),
        pytest.param(
            PLAIN.replace("(8, 8))", "(8, 8)) / 255").replace(
                "    return", "    image = tf.cast(image, tf.float32) / 255.0\n    return"
            ),
            id="through a cast and arithmetic",
        ),
        pytest.param(
            "from tensorflow import image as ti, io, data\n"
            "def decode(raw):\n    return io.decode_image(raw)\n"
            "def load(path):\n    return ti.resize(decode(io.read_file(path)), [8, 8])\n"
            "data.Dataset.list_files('*').map(load)\n",
            id="aliases and a helper",
        ),
        pytest.param(
            HEAD
            + SOURCE
            + "ds = ds.map(lambda p: (tf.io.decode_image(tf.io.read_file(p)), 0)).shuffle(9)\n"
            + "ds = ds.map(lambda image, y: (tf.image.resize(image, (8, 8)), y))\n",
            id="from one map to the next",
        ),
        pytest.param(
            HEAD
            + "class Data:\n"
            + "    def load(self, path):\n"
            + "        image = tf.io.decode_image(tf.io.read_file(path))\n"
            + "        return tf.image.resize(image, (8, 8))\n"
            + "    def make(self, paths):\n"
            + "        ds = tf.data.Dataset.from_tensor_slices(paths)\n"
            + "        return ds.map(self.load)\n",
            id="a method",
        ),
        pytest.param(
            HEAD
            + "import functools\n"
            + "def load(path, size):\n"
            + "    return tf.image.resize(tf.io.decode_image(tf.io.read_file(path)), size)\n"
            + SOURCE
            + "ds = ds.map(functools.partial(load, size=(8, 8)))\n",
            id="a partial",
        ),
        pytest.param(HEAD + LOAD.replace("def load", "@tf.function\ndef load"), id="tf.function"),
        pytest.param(
            HEAD + LOAD + "def make(ds):\n    return ds.map(load, num_parallel_calls=4)\n",
            id="a dataset that is given",
        ),
        pytest.param(
            PLAIN.replace("channels=3)", "channels=3, expand_animations=True)"), id="said so"
        ),
        pytest.param(
            PLAIN.replace("tf.image.resize(image, (8, 8))", "tf.image.central_crop(image, 0.5)"),
            id="a crop of the middle",
        ),
    ],
)
def test_reports_a_picture_without_a_shape(text):
    (spot,) = spots(CAUSE, text)
    raised, decoded = (
        text.splitlines()[span.line - 1] for span in (spot.where, spot.related[0][0])
    )
    assert "resize" in raised or "central_crop" in raised
    assert "decode_image" in decoded
    assert spot.effect is Effect.CRASHES


def test_tells_of_a_picture_that_another_file_decodes():
    source = {
        "train.py": HEAD
        + "from reading import decode\n"
        + SOURCE
        + "ds.map(lambda p: tf.image.resize(decode(p), (8, 8)))\n",
        "reading.py": HEAD + "def decode(path):\n    return tf.io.decode_image(path)\n",
    }
    (spot,) = spots(CAUSE, source)
    assert spot.where.line == 4
    assert spot.related[0][0].file == "/project/reading.py"
    assert spot.change.files == ("/project/reading.py",)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(PLAIN.replace("=3)", "=3, expand_animations=False)"), id="three dimensions"),
        pytest.param(PLAIN.replace("=3)", "=3, **options)"), id="options that nobody sees"),
        pytest.param(PLAIN.replace("decode_image", "decode_jpeg"), id="another decoder"),
        pytest.param(HEAD + LOAD + "load('a.png')\n", id="outside of a graph"),
        pytest.param(HEAD + LOAD, id="never called"),
        pytest.param(
            HEAD + LOAD + SOURCE + "ds.map(lambda p: tf.py_function(load, [p], tf.float32))\n",
            id="in Python",
        ),
        pytest.param(
            HEAD + LOAD + "images = list(map(load, paths))\n", id="mapped over a list by Python"
        ),
        pytest.param(HEAD + LOAD + "images = pool.map(load, paths)\n", id="mapped by processes"),
        pytest.param(
            PLAIN.replace("    return", "    image.set_shape([None, None, 3])\n    return"),
            id="a shape is set",
        ),
        pytest.param(
            PLAIN.replace(
                "    return", "    image = tf.ensure_shape(image, [None, None, 3])\n    return"
            ),
            id="a shape is ensured",
        ),
        pytest.param(
            HEAD
            + "def shaped(image):\n    image.set_shape([None, None, 3])\n    return image\n"
            + LOAD.replace("return tf.image.resize(image", "return tf.image.resize(shaped(image)")
            + SOURCE
            + "ds = ds.map(load)\n",
            id="a helper sets the shape",
        ),
        pytest.param(
            PLAIN.replace("resize(image, (8, 8))", "resize_with_pad(image, 8, 8)"),
            id="a function that takes three for granted",
        ),
        pytest.param(
            PLAIN.replace("    return", "    image = tf.image.flip_up_down(image)\n    return"),
            id="behind a flip, which sets a shape",
        ),
        pytest.param(
            "import tensorflow.compat.v1 as tf\n" + LOAD + SOURCE + "ds.map(load)\n", id="version 1"
        ),
        pytest.param(
            HEAD
            + "def load(path, is_gif):\n"
            + "    raw = tf.io.read_file(path)\n"
            + "    image = tf.io.decode_image(raw) if is_gif else tf.io.decode_png(raw)\n"
            + "    return tf.image.resize(image, (8, 8))\n"
            + SOURCE
            + "ds.map(lambda p: load(p, False))\n",
            id="one of two decoders",
        ),
    ],
)
def test_stays_silent_on(text):
    assert lines(CAUSE, text) == []


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("decode_image(raw)", "decode_image(raw, expand_animations=False)"),
        ("decode_image(raw, 3)", "decode_image(raw, 3, expand_animations=False)"),
        ("decode_image((raw),)", "decode_image((raw), expand_animations=False,)"),
        (
            "decode_image(\n        raw,  # bytes\n        channels=3,  # (RGB)\n    )",
            "decode_image(\n        raw,  # bytes\n        channels=3,  # (RGB)\n"
            "        expand_animations=False,\n    )",
        ),
        (
            "decode_image(raw, expand_animations=True)",
            "decode_image(raw, expand_animations=False)",
        ),
    ],
)
def test_decodes_to_three_dimensions(before, after):
    text = (
        HEAD
        + "def load(path):\n    raw = tf.io.read_file(path)\n"
        + f"    image = tf.io.{before}\n"
        + "    return tf.image.resize(image, (8, 8))\n"
        + "ds = tf.data.Dataset.list_files('*').map(load)\n"
    )
    assert fixed(CAUSE, text) == text.replace(before, after)
    assert spots(CAUSE, text)[0].change.kind is FixClass.REPAIRS


OBJECT = {
    "train.py": HEAD
    + "from parts.changes import Prepare\n"
    + "ds = tf.data.Dataset.list_files('*').map(Prepare(8))\n",
    "parts/__init__.py": "",
    "parts/changes.py": HEAD
    + "from .reading import read\n"
    + "class Prepare:\n"
    + "    def __init__(self, size):\n        self.size = size\n"
    + "    def shrink(self, image):\n"
    + "        return tf.image.resize(image, (self.size, self.size))\n"
    + "    def __call__(self, path):\n        return self.shrink(read(path))\n",
    "parts/reading.py": HEAD
    + "def read(path, decode=tf.io.decode_image):\n    return decode(tf.io.read_file(path))\n",
}


def test_follows_an_object_that_is_mapped_and_a_decoder_that_is_given():
    (spot,) = spots(CAUSE, OBJECT, "parts/changes.py")
    assert spot.where.line == 7
    assert spot.related[0][0].file == "/project/parts/reading.py"
    # Another decoder does not take the argument that would be written there.
    assert spot.change is None


@pytest.mark.parametrize(
    ("file", "before", "after"),
    [
        ("train.py", ".map(Prepare(8))", "\nfor path in ds:\n    Prepare(8)(path)"),
        ("parts/reading.py", "decode_image", "decode_png"),
        ("parts/changes.py", "read(path))", "read(path, tf.io.decode_jpeg))"),
    ],
)
def test_stays_silent_on_an_object(file, before, after):
    source = {**OBJECT, file: OBJECT[file].replace(before, after)}
    assert source != OBJECT
    assert lines(CAUSE, source, "parts/changes.py") == []
