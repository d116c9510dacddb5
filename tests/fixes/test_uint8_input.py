import pytest

from quickfit.findings import FixClass
from quickfit.fixes.change import patched
from quickfit.fixes.script import Script
from quickfit.fixes.uint8_input import uint8_input

TEXT = """\
def load(path, label):
    image = tf.io.decode_png(tf.io.read_file(path))
    return tf.cast(image, tf.float32) / 255.0, label
ds = tf.data.Dataset.from_tensor_slices((paths, labels))
ds = ds.map(load)
ds = ds.cache().shuffle(9).batch(16)
model = keras.Sequential([
    keras.Input((48, 48, 3)),
    keras.layers.Conv2D(8, 3),
])
model.compile("adam", "mse")
model.fit(ds, epochs=3)
"""


def change(text):
    return uint8_input(Script("train.py", text), 5)


def after(text):
    return patched(text, change(text).edits)


def test_bytes_reach_a_sequential_model():
    text = after(TEXT)
    assert "    return image, label\n" in text
    assert (
        "    keras.Input((48, 48, 3)),\n"
        "    keras.layers.Rescaling(1 / 255),\n"
        "    keras.layers.Conv2D(8, 3),\n"
    ) in text
    assert change(TEXT).kind is FixClass.EQUIVALENT


def test_bytes_reach_a_functional_model():
    begin, end = TEXT.index("model = "), TEXT.index("model.compile")
    text = TEXT[:begin] + (
        "inputs = keras.Input(shape=(48, 48, 3))\n"
        "x = layers.Conv2D(8, 3)(inputs)\n"
        "model = keras.Model(inputs, x)\n"
    )
    text = after(text + TEXT[end:])
    assert "x = layers.Conv2D(8, 3)(layers.Rescaling(1 / 255)(inputs))\n" in text


def test_a_statement_that_only_scales_goes():
    text = TEXT.replace(
        "    return tf.cast(image, tf.float32) / 255.0, label",
        "    image = tf.image.convert_image_dtype(image, tf.float32)\n    return image, label",
    )
    text = patched(text, uint8_input(Script("train.py", text), 6).edits)
    assert "read_file(path))\n    return image, label\n" in text


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param("tf.io.decode_png(", "tf.image.resize(", id="floats before the scaling"),
        pytest.param("/ 255.0", "/ 127.5 - 1.0", id="another scaling"),
        pytest.param("ds.cache()", "ds.map(augment)", id="another map behind it"),
        pytest.param(
            "ds = ds.map(load)", "ds = ds.map(load); v = load", id="a function used twice"
        ),
        pytest.param("epochs=3", "epochs=3, validation_data=val", id="other data to validate with"),
        pytest.param("model.fit(", "model.predict(z)\nmodel.fit(", id="other data to predict"),
        pytest.param("model.fit(", "model.save('m')\nmodel.fit(", id="a model that is saved"),
        pytest.param("model.fit(", "next(iter(ds))\nmodel.fit(", id="someone who looks at it"),
        pytest.param("(48, 48, 3)", "(48, 48, 3), dtype='float32'", id="a type of the input"),
        pytest.param("keras.Sequential([", "build([", id="a model from elsewhere"),
    ],
)
def test_nothing_is_edited_for(old, new):
    assert change(TEXT.replace(old, new)) is None
