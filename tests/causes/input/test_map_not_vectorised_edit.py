import pytest

from quickfit.causes.input.map_not_vectorised.edit import batch_first
from quickfit.code import Module
from quickfit.code.edits import apply_edits
from quickfit.findings import FixClass

HEAD = "import tensorflow as tf\n"


def change(text, line):
    return batch_first(Module("train.py", text), line)


def scaled(body, pipeline="ds = ds.map(scale)\nds = ds.batch(64)\n"):
    return f"{HEAD}def scale(x, y):\n    {body}\n{pipeline}"


def test_a_map_moves_behind_the_batch():
    text = scaled("return tf.cast(x, tf.float32) / 255.0, tf.one_hot(y, 10)")
    found = change(text, 4)
    assert apply_edits(text, found.edits).endswith("ds = ds.batch(64)\nds = ds.map(scale)\n")
    assert found.kind is FixClass.SAME_RESULTS


def test_all_maps_move_also_over_a_shuffle():
    text = (
        HEAD + "ds = (a.map(lambda x: x * 2)\n      .map(lambda x: x - 1.0)\n"
        "      .shuffle(9)\n      .batch(2, drop_remainder=True)\n      .prefetch(1))\n"
    )
    assert apply_edits(text, change(text, 3).edits) == (
        HEAD + "ds = (a.shuffle(9)\n      .batch(2, drop_remainder=True)\n"
        "      .map(lambda x: x * 2)\n      .map(lambda x: x - 1.0)\n      .prefetch(1))\n"
    )


def test_parsing_becomes_that_of_whole_batches():
    text = HEAD + (
        "SCHEMA = {'a': tf.io.FixedLenFeature((1,), tf.float32),"
        " 'y': tf.io.FixedLenFeature((), tf.int64)}\n"
        "def parse(record):\n"
        "    row = tf.io.parse_single_example(record, SCHEMA)\n"
        "    y = row.pop('y')\n"
        "    return row, y\n"
        "ds = tf.data.TFRecordDataset(path).map(parse).batch(8)\n"
    )
    after = apply_edits(text, change(text, 7).edits)
    assert "row = tf.io.parse_example(record, SCHEMA)\n" in after
    assert after.endswith("TFRecordDataset(path).batch(8).map(parse)\n")


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ("return tf.clip_by_value(x - 1.5, -3.0, 3.0), y", FixClass.SAME_RESULTS),
        ("return tf.concat([x, x * x], axis=-1), y", FixClass.SAME_RESULTS),
        ("return tf.where(x > 0, x, 0.0), tf.expand_dims(y, -1)", FixClass.SAME_RESULTS),
        ("return x[..., 1:], y", FixClass.SAME_RESULTS),
        ("return tf.math.log(x + 1.0), y", FixClass.EQUIVALENT),
        ("return tf.reduce_sum(x, axis=-1), y", FixClass.EQUIVALENT),
    ],
)
def test_what_rounds_otherwise_is_only_equivalent(body, kind):
    assert change(scaled(body), 4).kind is kind


def test_a_shuffle_and_a_repeat_that_meet_draw_otherwise():
    text = HEAD + "ds = a.shuffle(9).map(lambda x: x * 2).repeat().batch(2)\n"
    assert change(text, 2).kind is FixClass.MAY_CHANGE_RESULTS


@pytest.mark.parametrize(
    "body",
    [
        pytest.param("return x * y, y", id="a number per row meets a vector per row"),
        pytest.param("return tf.one_hot(y, 10) * y, x", id="a value meets another shape of it"),
        pytest.param("return x - MEAN, y", id="an array from outside"),
        pytest.param("return tf.concat([x, x], axis=0), y", id="the first axis"),
        pytest.param("return tf.reduce_sum(x), y", id="all axes"),
        pytest.param("return x[1:], y", id="a slice of the first axis"),
        pytest.param("return tf.reshape(x, (2, 2)), y", id="a shape"),
        pytest.param("return x / tf.reduce_max(x, axis=-1), y", id="a number per row again"),
        pytest.param("return x, 1.0", id="a value that is the same for all"),
        pytest.param("return tf.image.decode_png(x), y", id="decoding"),
        pytest.param("return x + tf.random.uniform(()), y", id="random numbers"),
        pytest.param("return helper(x), y", id="a function of the user's"),
        pytest.param("return x.sum(), y", id="a method"),
        pytest.param("return tf.strings.split(x), y", id="a ragged result"),
    ],
)
def test_nothing_moves_where_the_function_holds(body):
    assert change(scaled(body), 4) is None


@pytest.mark.parametrize(
    "pipeline",
    [
        pytest.param("ds = ds.map(scale).padded_batch(2)\n", id="the batch pads"),
        pytest.param("ds = ds.map(scale).cache().batch(2)\n", id="a cache is between"),
        pytest.param("ds = ds.map(scale).filter(f).batch(2)\n", id="a filter is between"),
        pytest.param("ds = ds.map(scale)\nv = ds.take(3)\nds = ds.batch(2)\n", id="two read it"),
        pytest.param("ds = ds.map(scale)\nn = len(ds)\nds = ds.batch(2)\n", id="one counts it"),
        pytest.param("ds = ds.map(scale)\n", id="there is no batch"),
        pytest.param("ds = ds.map(fast(scale)).batch(2)\n", id="another function is made of it"),
    ],
)
def test_nothing_moves_where(pipeline):
    assert change(scaled("return x * 2, y", pipeline), 4) is None


def test_features_of_any_length_are_not_parsed_in_batches():
    text = HEAD + (
        "SCHEMA = {'a': tf.io.VarLenFeature(tf.float32)}\n"
        "def parse(record):\n    return tf.io.parse_single_example(record, SCHEMA)\n"
        "ds = records.map(parse).batch(8)\n"
    )
    assert change(text, 5) is None
