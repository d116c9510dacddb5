"""`convert_image_dtype` behind `resize`, from the text of a program."""

import pytest

from quickfit.causes._shared.dataset_elements import origins
from quickfit.causes.traps.resize_then_convert import CAUSE, is_bytes
from quickfit.findings import Effect, FixClass

from programs import fixed, lines, program_of, spots

HEAD = "import tensorflow as tf\n"
CONVERT = "tf.image.convert_image_dtype(image, tf.float32)"
PLAIN = (
    HEAD
    + "def load(path):\n"
    + "    image = tf.io.decode_jpeg(tf.io.read_file(path))\n"
    + "    image = tf.image.resize(image, (8, 8))\n"
    + f"    image = {CONVERT}\n"
    + "    return image\n"
)
FOLDER = (
    HEAD
    + "ds = tf.keras.utils.image_dataset_from_directory('cats', image_size=(8, 8))\n"
    + "ds = ds.map(lambda image, y: (tf.image.convert_image_dtype(image, tf.float32), y))\n"
)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(PLAIN, id="at once"),
        pytest.param(PLAIN.replace("tf.float32)", "dtype='float32')"), id="a type by its name"),
        pytest.param(PLAIN.replace("decode_jpeg", "decode_image"), id="any format"),
        pytest.param(PLAIN.replace("(8, 8))", "(8, 8), method='bicubic')"), id="another method"),
        pytest.param(
            PLAIN.replace("(8, 8))", "(8, 8), method=tf.image.ResizeMethod.AREA)"),
            id="a method by its constant",
        ),
        pytest.param(
            PLAIN.replace("resize(image, (8, 8))", "resize_with_pad(image, 8, 8)"), id="padded"
        ),
        pytest.param(
            PLAIN.replace(
                "    image = tf.image.c",
                "    image = tf.image.flip_up_down(image)\n"
                "    image = tf.cast(image, tf.float32)\n    image = tf.image.c",
            ),
            id="flipped and cast between",
        ),
        pytest.param(
            HEAD
            + "def shrink(image):\n    return tf.image.resize(image, (8, 8))\n"
            + "def normalize(image):\n    return tf.image.convert_image_dtype(image, tf.float32)\n"
            + "def load(path):\n"
            + "    return normalize(shrink(tf.io.decode_png(tf.io.read_file(path))))\n",
            id="helpers",
        ),
        pytest.param(FOLDER, id="pictures of a folder"),
        pytest.param(
            PLAIN + "import numpy as np\nnoise = np.random.rand(9) / 255\n", id="another division"
        ),
        pytest.param(
            PLAIN.replace("tf.io.decode_jpeg(tf.io.read_file(path))", "tf.cast(path, tf.uint8)"),
            id="cast to bytes",
        ),
    ],
)
def test_reports_a_conversion_that_scales_nothing(text):
    (spot,) = spots(CAUSE, text)
    assert "convert_image_dtype" in text.splitlines()[spot.where.line - 1]
    assert spot.effect is Effect.WRONG


def test_follows_a_picture_through_another_file():
    source = {
        "train.py": HEAD
        + "from reading import read\n"
        + "def load(path):\n    return tf.image.convert_image_dtype(read(path), tf.float32)\n",
        "reading.py": HEAD
        + "def read(path):\n"
        + "    return tf.image.resize(tf.io.decode_png(tf.io.read_file(path)), (8, 8))\n",
    }
    assert lines(CAUSE, source) == [4]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(PLAIN.replace("(8, 8))", "(8, 8), method='nearest')"), id="nearest"),
        pytest.param(
            PLAIN.replace("(8, 8))", "(8, 8), method=tf.image.ResizeMethod.NEAREST_NEIGHBOR)"),
            id="nearest by its constant",
        ),
        pytest.param(PLAIN.replace("(8, 8))", "(8, 8), **options)"), id="perhaps nearest"),
        pytest.param(
            HEAD
            + "def load(path):\n"
            + "    image = tf.io.decode_jpeg(tf.io.read_file(path))\n"
            + f"    image = {CONVERT}\n"
            + "    return tf.image.resize(image, (8, 8))\n",
            id="converted first",
        ),
        pytest.param(
            PLAIN.replace(
                "    image = tf.image.resize", f"    image = {CONVERT}\n    image = tf.image.resize"
            ),
            id="converted twice",
        ),
        pytest.param(
            PLAIN.replace("decode_jpeg(tf", "decode_image(dtype=tf.float32, contents=tf"),
            id="decoded to floats",
        ),
        pytest.param(
            PLAIN.replace(
                "    image = tf.image.c",
                "    image = tf.cast(image, tf.uint8)\n    image = tf.image.c",
            ),
            id="bytes again",
        ),
        pytest.param(
            PLAIN.replace("tf.io.decode_jpeg(tf.io.read_file(path))", "path"), id="anything"
        ),
        pytest.param(PLAIN.replace("return image", "return image / 255.0"), id="divided later"),
        pytest.param(
            PLAIN.replace("return image", "return tf.divide(image, 255.0)"), id="divided by a call"
        ),
        pytest.param(
            PLAIN.replace("return image", "return image * (1.0 / 255)"), id="multiplied later"
        ),
        pytest.param(PLAIN + "for x in ds:\n    x /= 255\n", id="divided in a loop"),
        pytest.param(PLAIN + "first = tf.keras.layers.Rescaling(1 / 255)\n", id="a layer scales"),
        pytest.param(
            PLAIN + "model = tf.keras.applications.EfficientNetB0()\n", id="the model scales"
        ),
        pytest.param(
            PLAIN + "from keras.applications.vgg16 import preprocess_input\n"
            "ds = ds.map(preprocess_input)\n",
            id="scaled as the model was trained",
        ),
        pytest.param(PLAIN.replace("tf.float32)", "tf.uint8)"), id="to whole numbers"),
        pytest.param(
            FOLDER.replace("ds = ds.map", "ds = ds.map(lambda a, b: (a / 255, b))\nds = ds.map"),
            id="pictures of a folder, scaled",
        ),
        pytest.param(
            FOLDER.replace(
                "(tf.image.convert_image_dtype(image, tf.float32), y)",
                "(image, tf.image.convert_image_dtype(y, tf.float32))",
            ),
            id="not the pictures of a folder",
        ),
        pytest.param(PLAIN.replace("import tensorflow", "import tensorflow.compat.v1"), id="v1"),
    ],
)
def test_stays_silent_on(text):
    assert lines(CAUSE, text) == []


def test_stays_silent_where_a_file_that_uses_it_scales():
    source = {
        "data.py": PLAIN,
        "train.py": "import keras\nimport data\nfirst = keras.layers.Rescaling(1 / 255)\n",
    }
    assert lines(CAUSE, source, "data.py") == []


def test_minds_no_file_that_only_has_the_same_names():
    source = {
        "data.py": PLAIN,
        "other.py": "import keras\ndef load(x):\n    return x / 255\n",
    }
    assert lines(CAUSE, source, "data.py") == [5]


def test_scales_by_hand():
    text = PLAIN.replace("tf.float32)\n", "dtype=tf.float32)  # 0 to 1\n")
    assert fixed(CAUSE, text) == text.replace(
        "tf.image.convert_image_dtype(image, dtype=tf.float32)  # 0", "image / 255.0  # 0"
    )
    assert spots(CAUSE, text)[0].change.kind is FixClass.REPAIRS


def test_keeps_a_division_together():
    text = PLAIN.replace(f"image = {CONVERT}", f"image = 2.0 * {CONVERT} - 1.0")
    assert fixed(CAUSE, text) == text.replace(CONVERT, "(image / 255.0)")


def test_takes_a_call_over_lines_as_it_is():
    text = PLAIN.replace(
        CONVERT, "tf.image.convert_image_dtype(\n        image,\n        tf.float32,\n    )"
    )
    assert "    image = image / 255.0\n" in fixed(CAUSE, text)


def test_leaves_a_type_of_less_room_to_a_person():
    text = PLAIN.replace("tf.float32", "tf.float16")
    assert spots(CAUSE, text)[0].change is None


CAMERA = """import numpy as np
import tensorflow as tf
class Frames:
    def __init__(self, top):
        self.top = top
    def cut(self, image):
        return image[self.top :]
    def shrink(self, image):
        return tf.image.resize(image, (8, 8))
    def scale(self, image):
        return tf.image.convert_image_dtype(image, tf.float32)
    def prepare(self, image, angle):
        return self.scale(self.shrink(self.cut(image))), angle
    def make(self, images, angles, *, training):
        ds = tf.data.Dataset.from_tensor_slices((images, angles))
        if training:
            ds = ds.shuffle(9)
        return ds.map(self.prepare).batch(8)
def record(n):
    images = np.random.default_rng(n).integers(0, 255, (n, 9, 9, 3)).astype(np.uint8)
    return images, np.zeros(n)
ds = Frames(2).make(*record(9), training=True)
"""
DIGITS = """import keras
import tensorflow as tf
(x, y), _ = keras.datasets.cifar10.load_data()
def prepare(image, label):
    image = tf.image.resize(image, (8, 8))
    return tf.image.convert_image_dtype(image, tf.float32), label
ds = tf.data.Dataset.from_tensor_slices((x, y)).map(prepare)
"""


@pytest.mark.parametrize(("text", "line"), [(CAMERA, 11), (DIGITS, 6)])
def test_follows_arrays_of_bytes(text, line):
    assert lines(CAUSE, text) == [line]


@pytest.mark.parametrize(
    "text",
    [
        CAMERA.replace("np.uint8", "np.float32"),
        CAMERA.replace(".astype(np.uint8)", ""),
        CAMERA.replace(
            "self.scale(self.shrink(self.cut(image)))", "self.shrink(self.scale(image))"
        ),
        CAMERA.replace("images, np.zeros(n)", "images / 255, np.zeros(n)"),
        CAMERA.replace("make(*record(9), training", "make(*load(9), training"),
        CAMERA + "other = Frames(2).make(*load(9), training=False)\n",
        DIGITS.replace("(x, y))", "(x / 255, y))"),
        DIGITS.replace("\ndef", "\nx = x.astype('float32') / 255\ndef"),
    ],
)
def test_stays_silent_on_other_arrays(text):
    assert text not in (CAMERA, DIGITS)
    assert lines(CAUSE, text) == []


HEAD_BYTE_IMAGES = "import keras\nimport numpy as np\nimport tensorflow as tf\n"
SLICED = """{made}
ds = tf.data.Dataset.from_tensor_slices({given})
ds = ds.shuffle(9){then}.map(lambda {names}: look(picture))
"""


def are_bytes(text):
    """Tell whether what `look` is given is bytes, whatever it may be."""
    program = program_of(HEAD_BYTE_IMAGES + text)
    module = program.module("/project/train.py")
    (call,) = module.calls("look")
    found = origins(program, module, call.args[0], ("items",))
    return bool(found) and all(is_bytes(program, value) for value in found)


def sliced(made, given="(x, y)", names="picture, label", then=""):
    return SLICED.format(made=made, given=given, names=names, then=then)


@pytest.mark.parametrize(
    "text",
    [
        "look(tf.io.decode_png(raw))\n",
        "look(tf.io.decode_png(raw)[2:])\n",
        "look(tf.io.decode_png(raw, dtype=tf.uint8))\n",
        "look(np.zeros((9, 8, 8), dtype='uint8'))\n",
        "look(frames.astype(np.uint8))\n",
        "(x, y), rest = keras.datasets.mnist.load_data()\nlook(x)\n",
        sliced("x = read().astype('uint8')"),
        sliced("x = read().astype('uint8')", then=".batch(8)"),
        sliced("x = read().astype('uint8')", "x", "picture"),
        sliced("(x, y), (u, v) = keras.datasets.cifar10.load_data()"),
        sliced("train, test = keras.datasets.cifar10.load_data()", "train"),
        sliced("x = np.random.randint(0, 255, (9, 8, 8), dtype=np.uint8)"),
    ],
)
def test_is_bytes(text):
    assert are_bytes(text)


@pytest.mark.parametrize(
    "text",
    [
        "look(tf.io.decode_png(raw, dtype=tf.uint16))\n",
        "look(np.zeros((9, 8, 8)))\n",
        "look((frames > 0).astype(np.uint8))\n",
        "(x, y), rest = keras.datasets.mnist.load_data()\nlook(y)\n",
        "(x, y), rest = keras.datasets.california_housing.load_data()\nlook(x)\n",
        sliced("x = read().astype('float32')"),
        sliced("x = read()"),
        sliced("x = read().astype('uint8')", then=".map(change)"),
        sliced("masks = read().astype('uint8')", "(masks, y)"),
        sliced("x = read().astype('uint8')", names="label, picture"),
        sliced("x = read().astype('uint8')\nif wide:\n    x = x / 255"),
    ],
)
def test_may_be_something_else(text):
    assert not are_bytes(text)
