import pytest

from quickfit.causes._shared.image_decode import resize_first, smaller_decode
from quickfit.code import Module
from quickfit.code.edits import apply_edits
from quickfit.findings import FixClass


def decoded(body):
    text = f"def load(path, y):\n    {body}\n"
    change = smaller_decode(Module("train.py", text), 2, ratio=4)
    return apply_edits(text, change.edits) if change is not None else None


@pytest.mark.parametrize(
    ("body", "call"),
    [
        pytest.param(
            "x = tf.io.decode_jpeg(d, channels=3)\n    return tf.image.resize(x, (9, 9)), y",
            "tf.io.decode_jpeg(d, channels=3, ratio=4)",
            id="under a name",
        ),
        pytest.param(
            "return tf.image.resize(tf.io.decode_jpeg(d), (9, 9)) / 255.0, y",
            "tf.io.decode_jpeg(d, ratio=4)",
            id="at once",
        ),
        pytest.param(
            "x = tf.cast(tf.image.decode_jpeg(d, 3, 1), tf.float32) / 255.0\n"
            "    x = tf.image.random_flip_left_right(x)\n"
            "    x = tf.image.resize_with_pad(x, 9, 9)\n    return x, y",
            "tf.image.decode_jpeg(d, 3, 4)",
            id="by place, over several steps",
        ),
    ],
)
def test_the_decoder_gets_a_ratio(body, call):
    assert call in decoded(body)


def test_a_function_whose_callers_all_resize_is_followed():
    text = (
        "from tensorflow.io import decode_jpeg as pixels\n"
        "def read(d):\n    return pixels(d)\n"
        "def load(d):\n    return tf.image.resize(read(d), (9, 9))\n"
    )
    change = smaller_decode(Module("train.py", text), 3, ratio=2)
    assert "return pixels(d, ratio=2)" in apply_edits(text, change.edits)
    assert change.kind is FixClass.MAY_CHANGE_RESULTS


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(
            "x = tf.io.decode_jpeg(d)\n    s = tf.shape(x)\n"
            "    return tf.image.resize(x, (9, 9)), y / s",
            id="its size is asked for",
        ),
        pytest.param(
            "x = tf.io.decode_jpeg(d)\n    x = x[10:, :]\n    return tf.image.resize(x, (9, 9))",
            id="a part is cut out",
        ),
        pytest.param(
            "x = tf.io.decode_jpeg(d)\n    x = tf.image.random_crop(x, (64, 64, 3))\n"
            "    return tf.image.resize(x, (9, 9))",
            id="a random part is cut out",
        ),
        pytest.param("return tf.io.decode_jpeg(d), y", id="it is handed on"),
        pytest.param("return tf.image.resize(tf.io.decode_png(d), (9, 9))", id="it is no JPEG"),
    ],
)
def test_the_decoder_stays_where(body):
    assert decoded(body) is None


AUGMENT = """\
def augment(image, label):
    image = tf.cast(image, tf.float32) / 255.0
    # colours
    image = tf.image.random_hue(image, 0.1)
    image = tf.image.random_contrast(image, 0.8, 1.2)
    image = tf.image.resize(image, (80, 80))
    return image, label
"""


def test_a_resize_moves_before_the_colours():
    change = resize_first(Module("train.py", AUGMENT), 1)
    assert (
        apply_edits(AUGMENT, change.edits)
        == """\
def augment(image, label):
    image = tf.cast(image, tf.float32) / 255.0
    image = tf.image.resize(image, (80, 80))
    # colours
    image = tf.image.random_hue(image, 0.1)
    image = tf.image.random_contrast(image, 0.8, 1.2)
    return image, label
"""
    )
    assert change.kind is FixClass.MAY_CHANGE_RESULTS


def test_a_resize_in_what_is_returned_moves_too():
    text = AUGMENT.replace("    image = tf.image.resize(image, (80, 80))\n", "")
    text = text.replace("return image, label", "return tf.image.resize(image, SIZE), label")
    after = apply_edits(text, resize_first(Module("train.py", text), 1).edits)
    assert "    image = tf.image.resize(image, SIZE)\n    # colours\n" in after
    assert after.endswith("    return image, label\n")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param("tf.cast(image, tf.float32) / 255.0", "read(image)", id="whole numbers"),
        pytest.param(
            "random_contrast(image, 0.8, 1.2)", "random_crop(image, (9, 9, 3))", id="a crop"
        ),
        pytest.param("(80, 80)", "tf.shape(image)[:2] // 2", id="a size that is computed"),
        pytest.param("random_contrast(image, 0.8, 1.2)", "rot90(image)", id="a turn"),
        pytest.param("return image", "return tf.image.resize(image, S)", id="two resizes"),
    ],
)
def test_a_resize_stays_behind(old, new):
    assert resize_first(Module("train.py", AUGMENT.replace(old, new)), 1) is None
