"""Images are kept as bytes where the map that is cached only makes floats of them."""

import pytest

from quickfit.causes._shared.dataset_cache import (
    cache_before_repeat,
    cached,
    cached_as_bytes,
    cached_before_shuffle,
    take_before_cache,
    uint8_input,
)
from quickfit.code import Module
from quickfit.code.edits import apply_edits
from quickfit.findings import FixClass

TEXT = """\
import keras
import tensorflow as tf


def load(path, label):
    image = tf.io.decode_png(tf.io.read_file(path), channels=3)
    image = tf.cast(image, tf.float32) / 255.0
    return image, label


ds = tf.data.Dataset.from_tensor_slices((paths, labels))
ds = ds.map(load)
ds = ds.batch(8)
model = keras.Sequential([keras.Input((40, 40, 3)), keras.layers.Flatten()])
model.compile("adam", "mse")
model.fit(ds)
"""


def made(text):
    script = Module("train.py", text)
    line = next(n for n, code in enumerate(script.lines, 1) if ".map(" in code)
    kept = cached(script, line, method="map")
    assert kept is not None
    return cached_as_bytes(script, line, kept)


def test_the_cache_holds_bytes_and_the_model_scales_them():
    change = made(TEXT)
    assert change is not None
    assert change.kind == FixClass.EQUIVALENT
    after = apply_edits(TEXT, change.edits)
    assert "ds = ds.map(load)\nds = ds.cache()\n" in after
    assert "keras.layers.Rescaling(1 / 255), keras.layers.Flatten()" in after
    assert "tf.cast" not in after


def test_a_map_that_does_not_scale_is_cached_as_it_is():
    assert made(TEXT.replace("    image = tf.cast(image, tf.float32) / 255.0\n", "")) is None


EVERY = range(100)


def after(text, change):
    return apply_edits(text, change.edits) if change is not None else None


@pytest.mark.parametrize(
    ("before", "line", "wanted"),
    [
        pytest.param(
            "ds = slices(x)\nds = ds.map(f)\nds = ds.shuffle(9).batch(2)\n",
            2,
            "ds = slices(x)\nds = ds.map(f)\nds = ds.cache()\nds = ds.shuffle(9).batch(2)\n",
            id="a statement of its own",
        ),
        pytest.param(
            "ds = files.map(f)\nreturned = ds.batch(2)\n",
            1,
            "ds = files.map(f).cache()\nreturned = ds.batch(2)\n",
            id="behind the call",
        ),
        pytest.param(
            "ds = (a\n    .map(f)  # decode\n    .batch(2))\n",
            2,
            "ds = (a\n    .map(f)  # decode\n    .cache()\n    .batch(2))\n",
            id="a line of its own",
        ),
        pytest.param(
            "ds = a \\\n    .map(f) \\\n    .batch(2)\n",
            2,
            "ds = a \\\n    .map(f) \\\n    .cache() \\\n    .batch(2)\n",
            id="a line that goes on",
        ),
        pytest.param(
            "ds = a \\\n    .map(f)\n",
            2,
            "ds = a \\\n    .map(f).cache()\n",
            id="the last line of a chain without brackets",
        ),
        pytest.param(
            "ds = a.map(f).batch(2)\n", 1, "ds = a.map(f).cache().batch(2)\n", id="in the line"
        ),
    ],
)
def test_a_cache_is_added(before, line, wanted):
    change = cached(Module("train.py", before), line, method="map")
    assert after(before, change) == wanted
    assert change.kind is FixClass.SAME_RESULTS


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("ds = a.map(f).take(9).batch(2)\n", id="an epoch ends before the last"),
        pytest.param("ds = a.map(f).batch(2).cache()\n", id="there is a cache"),
        pytest.param("ds = a.map(f)\ntrain = ds.skip(9)\nval = ds.take(9)\n", id="two read it"),
        pytest.param("ds = a.map(f)\nds2 = zipped(ds, ds)\n", id="two read it at once"),
        pytest.param("ds = a.repeat().map(f)\n", id="it has no end"),
        pytest.param("ds = a.shuffle(9).map(f)\n", id="its order would be kept"),
    ],
)
def test_no_cache_is_added_where(text):
    assert cached(Module("train.py", text), 1, method="map") is None


BRANCHES = """\
def load(paths, training):
    ds = slices(paths)
    ds = ds.map(decode)
    if training:
        ds = ds.shuffle(100)
    return ds.batch(32)
"""


def test_a_cache_comes_before_branches_that_go_on_with_it():
    change = cached(Module("train.py", BRANCHES), 3, method="map")
    assert "    ds = ds.map(decode)\n    ds = ds.cache()\n    if training:\n" in after(
        BRANCHES, change
    )


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param("ds = ds.shuffle(100)", "val = ds.batch(2)", id="leaves the chain"),
        pytest.param("ds = ds.shuffle(100)", "ds = ds.take(100)", id="takes a part"),
        pytest.param("if training:", "for n in training:", id="is a loop"),
        pytest.param("return ds.batch(32)", "return ds.batch(32), ds", id="gives it out twice"),
    ],
)
def test_no_cache_comes_before_a_branch_that(old, new):
    assert cached(Module("t.py", BRANCHES.replace(old, new)), 3, method="map") is None


def test_an_order_that_would_be_kept_needs_another_shuffle():
    text = "ds = files.map(f).batch(2)\n"
    assert cached(Module("t.py", text), 1, method="map", is_ordered=False) is None
    text = "ds = files.map(f).shuffle(9).batch(2)\n"
    change = cached(Module("t.py", text), 1, method="map", is_ordered=False)
    assert change.kind is FixClass.MAY_CHANGE_RESULTS


@pytest.mark.parametrize(
    ("before", "wanted"),
    [
        pytest.param(
            "ds = slices(x)\nds = ds.shuffle(9)\nds = ds.map(f)\nds = ds.batch(2)\n",
            "ds = slices(x)\nds = ds.map(f)\nds = ds.cache().shuffle(9)\nds = ds.batch(2)\n",
            id="statements",
        ),
        pytest.param(
            "#\n#\nds = slices(x).shuffle(9).map(f).batch(2)\n",
            "#\n#\nds = slices(x).map(f).cache().shuffle(9).batch(2)\n",
            id="one line",
        ),
        pytest.param(
            "ds = (slices(x)\n      .shuffle(9)\n      .map(f)\n      .batch(2))\n",
            "ds = (slices(x)\n      .map(f)\n      .cache()\n      .shuffle(9)\n      .batch(2))\n",
            id="lines of one expression",
        ),
    ],
)
def test_a_shuffle_of_paths_moves_behind_the_cache(before, wanted):
    script = Module("train.py", before)
    change = cached_before_shuffle(script, 3, method="map", steady=EVERY)
    assert after(before, change) == wanted
    assert change.kind is FixClass.SAME_RESULTS


def test_a_repeat_behind_the_moved_shuffle_may_change_results():
    text = "ds = slices(x).shuffle(9).map(f).repeat()\n"
    change = cached_before_shuffle(Module("t.py", text), 1, method="map", steady=EVERY)
    assert change.kind is FixClass.MAY_CHANGE_RESULTS


def test_a_random_map_is_not_cached():
    text = "ds = slices(x).shuffle(9).map(f).batch(2)\n"
    assert cached_before_shuffle(Module("t.py", text), 1, method="map", steady=()) is None


@pytest.mark.parametrize(
    ("before", "wanted"),
    [
        pytest.param(
            "ds = ds.cache()\nds = ds.take(9).batch(2)\n",
            "ds = ds.take(9)\nds = ds.cache().batch(2)\n",
            id="two statements",
        ),
        pytest.param(
            "ds = a.cache().take(n)\n", "ds = a.take(n).cache()\n", id="one behind the other"
        ),
    ],
)
def test_a_take_moves_before_the_cache(before, wanted):
    assert after(before, take_before_cache(Module("train.py", before), 1)) == wanted


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("ds = a.cache().batch(2).take(9)\n", id="batches are taken"),
        pytest.param("ds = a.cache('file').take(9)\n", id="the cache is a file"),
        pytest.param("ds = a.shuffle(5).cache().take(9)\n", id="each epoch takes others"),
        pytest.param("d = a.cache()\ntrain = d.take(9)\nval = d.skip(9)\n", id="two read it"),
    ],
)
def test_no_take_moves_where(text):
    assert take_before_cache(Module("train.py", text), 1) is None


def test_an_endless_repeat_moves_behind_the_cache():
    text = "ds = a.repeat().map(f).cache().batch(2)\n"
    change = cache_before_repeat(Module("t.py", text), 1, steady=EVERY)
    assert after(text, change) == "ds = a.map(f).cache().repeat().batch(2)\n"


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("ds = a.repeat(3).map(f).cache()\n", id="it ends"),
        pytest.param("ds = a.repeat().batch(2).cache()\n", id="batches cross the end of a pass"),
        pytest.param("ds = a.shuffle(9).repeat().cache()\n", id="one order would be kept"),
    ],
)
def test_no_repeat_moves_where(text):
    assert cache_before_repeat(Module("t.py", text), 1, steady=EVERY) is None


TEXT_UINT8_INPUT = """\
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
    return uint8_input(Module("train.py", text), 5)


def after_uint8_input(text):
    return apply_edits(text, change(text).edits)


def test_bytes_reach_a_sequential_model():
    text = after_uint8_input(TEXT_UINT8_INPUT)
    assert "    return image, label\n" in text
    assert (
        "    keras.Input((48, 48, 3)),\n"
        "    keras.layers.Rescaling(1 / 255),\n"
        "    keras.layers.Conv2D(8, 3),\n"
    ) in text
    assert change(TEXT_UINT8_INPUT).kind is FixClass.EQUIVALENT


def test_bytes_reach_a_functional_model():
    begin, end = TEXT_UINT8_INPUT.index("model = "), TEXT_UINT8_INPUT.index("model.compile")
    text = TEXT_UINT8_INPUT[:begin] + (
        "inputs = keras.Input(shape=(48, 48, 3))\n"
        "x = layers.Conv2D(8, 3)(inputs)\n"
        "model = keras.Model(inputs, x)\n"
    )
    text = after_uint8_input(text + TEXT_UINT8_INPUT[end:])
    assert "x = layers.Conv2D(8, 3)(layers.Rescaling(1 / 255)(inputs))\n" in text


def test_a_statement_that_only_scales_goes():
    text = TEXT_UINT8_INPUT.replace(
        "    return tf.cast(image, tf.float32) / 255.0, label",
        "    image = tf.image.convert_image_dtype(image, tf.float32)\n    return image, label",
    )
    text = apply_edits(text, uint8_input(Module("train.py", text), 6).edits)
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
    assert change(TEXT_UINT8_INPUT.replace(old, new)) is None
