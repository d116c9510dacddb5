"""Functions that Python is called with in a map are written with TensorFlow's operations."""

import textwrap

import pytest

from quickfit.causes.input.python_in_map.edit import numpy_map, python_map
from quickfit.code import Program
from quickfit.code.edits import apply_edits
from quickfit.findings import FixClass

BEFORE = """\
import numpy as np
import tensorflow as tf
from PIL import Image


def read_image(name):
    # Pillow reads it
    img = Image.open(name.numpy().decode("utf-8")).convert("RGB")
    img = img.resize((48, 32), Image.BILINEAR)
    arr = np.array(img).astype("float32")
    arr /= 255.0
    return arr


def load(path, label):
    image = tf.py_function(read_image, [path], tf.float32)
    image.set_shape((32, 48, 3))
    return image, label


ds = tf.data.Dataset.from_tensor_slices((files, labels))
ds = ds.map(load).batch(8)
"""
AFTER = """\
import numpy as np
import tensorflow as tf
from PIL import Image


def read_image(name):
    # Pillow reads it
    data = tf.io.read_file(name)
    image = tf.io.decode_jpeg(data, channels=3, dct_method="INTEGER_ACCURATE")
    image = tf.round(tf.image.resize(image, (32, 48), antialias=True))
    image = image / 255.0
    return image


def load(path, label):
    image = read_image(path)
    image.set_shape((32, 48, 3))
    return image, label


ds = tf.data.Dataset.from_tensor_slices((files, labels))
ds = ds.map(load, num_parallel_calls=tf.data.AUTOTUNE).batch(8)
"""


def change_of(text):
    line = next(n for n, row in enumerate(text.split("\n"), 1) if "_function(" in row)
    return python_map(Program(texts={"train.py": text}), "train.py", line, pillow=12)


def test_the_function_is_translated_and_called_directly():
    change = change_of(BEFORE)
    assert apply_edits(BEFORE, change.edits) == AFTER
    assert change.kind is FixClass.EQUIVALENT


def test_a_label_that_goes_through_keeps_the_type_asked_for():
    text = BEFORE.replace("def read_image(name)", "def read_image(name, cls)")
    text = text.replace("    return arr\n", "    return arr, cls\n")
    text = text.replace(
        "image = tf.py_function(read_image, [path], tf.float32)",
        "image, label = tf.numpy_function(read_image, [path, label], [tf.float32, tf.int32])",
    ).replace(".numpy()", "")
    made = apply_edits(text, change_of(text).edits)
    assert "    return image, tf.cast(cls, tf.int32)\n" in made
    assert "    image, label = read_image(path, label)\n" in made


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(BEFORE + "show(read_image(files[0]))\n", id="another use of the function"),
        pytest.param(BEFORE.replace("arr /= 255.0", "print(arr.max())"), id="a side effect"),
        pytest.param(
            BEFORE.replace("arr /= 255.0", "arr /= arr.max()"), id="a number of the picture"
        ),
        pytest.param(
            BEFORE.replace("    return arr\n", "    return arr, len(name.numpy())\n"),
            id="another result",
        ),
        pytest.param(BEFORE.replace("Image.BILINEAR", "Image.HAMMING"), id="another filter"),
        pytest.param(
            BEFORE.replace("def read_image", "@cached\ndef read_image"), id="a decorated function"
        ),
        pytest.param(
            BEFORE.replace("tf.float32)\n    image.set", "types)\n    image.set"),
            id="types that are not written out",
        ),
    ],
)
def test_nothing_is_changed_for(text):
    assert change_of(text) is None


HEAD = """\
import numpy as np
import tensorflow as tf

MEAN = np.array([0.4, 0.5, 0.6])
LENGTH = 64


"""
MAP = """

def prepare(signal, label):
    scaled = tf.numpy_function(scale, [signal], tf.float32)
    return tf.ensure_shape(scaled, (64,)), label


ds = tf.data.Dataset.from_tensor_slices((signals, labels)).map(prepare).batch(8)
"""


def change_of_numpy_maps(code, after=MAP):
    text = HEAD + textwrap.dedent(code).strip("\n") + "\n" + after
    line = next(n for n, row in enumerate(text.split("\n"), 1) if "_function(" in row)
    return text, numpy_map(Program(texts={"t.py": text}), "t.py", line)


def after(code):
    text, change = change_of_numpy_maps(code)
    assert change is not None
    return apply_edits(text, change.edits)


def test_a_function_is_translated_statement_by_statement():
    made = after(
        """
        def scale(x):
            # floats first
            x = x.astype(np.float32)[:LENGTH]
            x -= x.mean()
            spread = np.std(x, axis=0, keepdims=True)  # of all
            x = np.clip(x / (spread + 1e-8), -3.0, 3.0)
            return np.log1p(np.abs(x)) * np.sign(x)
        """
    )
    assert made == HEAD + textwrap.dedent(
        """\
        def scale(x):
            # floats first
            x = tf.cast(x, tf.float32)
            x = x[:LENGTH]
            x = x - tf.reduce_mean(x)
            # of all
            spread = tf.math.reduce_std(x, axis=0, keepdims=True)
            x = tf.clip_by_value(x / (spread + 1e-08), -3.0, 3.0)
            return tf.math.log1p(tf.math.abs(x)) * tf.math.sign(x)
        """
    ) + MAP.replace("tf.numpy_function(scale, [signal], tf.float32)", "scale(signal)").replace(
        ".map(prepare)", ".map(prepare, num_parallel_calls=tf.data.AUTOTUNE)"
    )


def test_the_class_is_equivalent():
    assert (
        change_of_numpy_maps("def scale(x):\n    return x / 255.0\n")[1].kind is FixClass.EQUIVALENT
    )


@pytest.mark.parametrize(
    ("numpy", "tensorflow"),
    [
        ("(x - x.mean()) / x.std()", "(x - tf.reduce_mean(x)) / tf.math.reduce_std(x)"),
        ("np.transpose(x, (2, 0, 1)) / 255", "tf.transpose(x, (2, 0, 1)) / 255"),
        ("x[::-1, None] * 0.5", "x[::-1, None] * 0.5"),
        ("np.stack([x, x[::-1]], axis=-1) / 2", "tf.stack([x, x[::-1]], axis=-1) / 2"),
        ("(x / 255 - MEAN).astype('float32')", "(x / 255) - tf.constant(MEAN, tf.float32)"),
        ("np.flip(x, axis=0) / 2.0", "tf.reverse(x, [0]) / 2.0"),
    ],
)
def test_expressions_have_their_equal(numpy, tensorflow):
    assert f"    return {tensorflow}\n" in after(f"def scale(x):\n    return {numpy}\n")


@pytest.mark.parametrize(
    "returned",
    [
        pytest.param("x * 2", id="whole numbers that may go around"),
        pytest.param("x - x.min()", id="a difference of whole numbers"),
        pytest.param("x", id="numbers that may be whole"),
        pytest.param("np.sort(x) / 2", id="a function without an equal"),
        pytest.param("x.std(ddof=1) / 2", id="another formula"),
        pytest.param("x / np.random.rand()", id="chance"),
        pytest.param("x[x > 0] / 2", id="a choice by values"),
        pytest.param("x / OTHER", id="a value that is not known"),
        pytest.param("np.mean(x, axis=AXIS)", id="an axis that is not known"),
        pytest.param("np.fft.rfft(x)", id="complex numbers"),
    ],
)
def test_nothing_is_changed_for_numpy_maps(returned):
    assert change_of_numpy_maps(f"def scale(x):\n    return {returned}\n")[1] is None


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param("tf.float32)", "tf.int32)", id="a result of whole numbers"),
        pytest.param("ds = tf", "print(scale(signals))\nds = tf", id="another caller"),
        pytest.param("[signal]", "inputs", id="inputs that are not written out"),
    ],
)
def test_a_call_must_be_plain(old, new):
    assert (
        change_of_numpy_maps("def scale(x):\n    return x / 255.0\n", MAP.replace(old, new))[1]
        is None
    )
