"""Functions that Python is called with in a map are written with TensorFlow's operations."""

import pytest

from quickfit.findings import FixClass
from quickfit.fixes.change import patched
from quickfit.fixes.image_maps import python_map
from quickfit.fixes.script import Project

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
    return python_map(Project({"train.py": text}), "train.py", line, pillow=12)


def test_the_function_is_translated_and_called_directly():
    change = change_of(BEFORE)
    assert patched(BEFORE, change.edits) == AFTER
    assert change.kind is FixClass.EQUIVALENT


def test_a_label_that_goes_through_keeps_the_type_asked_for():
    text = BEFORE.replace("def read_image(name)", "def read_image(name, cls)")
    text = text.replace("    return arr\n", "    return arr, cls\n")
    text = text.replace(
        "image = tf.py_function(read_image, [path], tf.float32)",
        "image, label = tf.numpy_function(read_image, [path, label], [tf.float32, tf.int32])",
    ).replace(".numpy()", "")
    made = patched(text, change_of(text).edits)
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
