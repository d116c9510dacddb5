"""Generators over arrays, given to `from_generator`, become slices of the arrays."""

import pytest

from quickfit.causes.input.from_generator.edit import arrays_to_dataset
from quickfit.code import Program
from quickfit.code.edits import apply_edits

ROWS = """\
import numpy as np
import tensorflow as tf


def examples():
    # one row after the other
    for r, t in zip(rows, target):
        yield r, [t]


ds = tf.data.Dataset.from_generator(
    examples,
    output_signature=(tf.TensorSpec((40,), tf.float32), tf.TensorSpec((1,), tf.int32)),
)
ds = ds.batch(128)
"""
WINDOWS = """\
import numpy as np
import tensorflow as tf


class Feed:
    def windows(self):
        w = self.width
        for start in range(0, len(self.values) - w, 2):
            yield self.values[start:start + w], self.values[start + w]

    def dataset(self):
        spec = (tf.TensorSpec((self.width, 4), tf.float32), tf.TensorSpec((4,), tf.float32))
        return tf.data.Dataset.from_generator(self.windows, output_signature=spec).batch(8)
"""


def change_of(text):
    line = next(n for n, row in enumerate(text.split("\n"), 1) if "yield" in row)
    return arrays_to_dataset(Program(texts={"train.py": text}), "train.py", line)


def test_rows_of_arrays_are_sliced():
    assert apply_edits(ROWS, change_of(ROWS).edits) == (
        """\
import numpy as np
import tensorflow as tf


def examples():
    # one row after the other
    return tf.data.Dataset.from_tensor_slices(
        (
            np.asarray(rows, "float32"),
            np.asarray(target, "int32").reshape(-1, 1),
        )
    )


ds = examples()
ds = ds.batch(128)
"""
    )


def test_a_dictionary_of_columns_stays_one():
    text = ROWS.replace("yield r, [t]", 'yield {"row": r}, t').replace("((1,)", "(()")
    text = text.replace("tf.TensorSpec((40,), tf.float32)", '{"row": tf.TensorSpec((40,))}')
    assert '"row": np.asarray(rows, "float32"),' in apply_edits(text, change_of(text).edits)


def test_windows_of_an_array_are_cut_in_a_map():
    made = apply_edits(WINDOWS, change_of(WINDOWS).edits)
    assert made == WINDOWS.replace(
        """\
        for start in range(0, len(self.values) - w, 2):
            yield self.values[start:start + w], self.values[start + w]
""",
        """\
        values = tf.constant(self.values, tf.float32)

        def window(start):
            return tf.ensure_shape(values[start:start + w], (self.width, 4)), values[start + w]

        ds = tf.data.Dataset.range(0, len(self.values) - w, 2)
        return ds.map(window, num_parallel_calls=tf.data.AUTOTUNE)
""",
    ).replace(
        "tf.data.Dataset.from_generator(self.windows, output_signature=spec)", "self.windows()"
    )


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(ROWS.replace("yield r, [t]", "yield r * 2, [t]"), id="arithmetic"),
        pytest.param(ROWS.replace("zip(rows, target)", "zip(read(), target)"), id="a call"),
        pytest.param(ROWS.replace("((1,)", "((1, 3)"), id="a list around a row"),
        pytest.param(ROWS + "print(next(examples()))\n", id="another use"),
        pytest.param(
            ROWS.replace("        yield", "        if t:\n            yield"), id="rows left out"
        ),
        pytest.param(
            ROWS.replace("    for", "    while True:\n      for"), id="a generator without an end"
        ),
        pytest.param(ROWS.replace("(40,), tf.float32", "(), tf.string"), id="texts"),
        pytest.param(WINDOWS.replace("start + w]\n", "start - w]\n"), id="rows before the window"),
        pytest.param(
            WINDOWS.replace("(self.width, 4), tf.float32", "(size, 4), tf.float32"),
            id="a shape with a name from elsewhere",
        ),
    ],
)
def test_nothing_is_changed_for(text):
    assert change_of(text) is None
