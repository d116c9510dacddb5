"""What data is made of, and how it is batched."""

import pytest

from quickfit.causes._shared.batches_in_text import batched, is_several
from quickfit.code.keras_models import feeds, fittings

from programs import program_of

HEAD = """
import keras
import tensorflow as tf
model = keras.Sequential([])
def make(images, labels, size, training=True):
    ds = tf.data.Dataset.from_tensor_slices((images, labels))
    if training:
        ds = ds.shuffle(9).repeat()
    return ds.batch(size)
class Source:
    def __init__(self, paths, batch_size):
        self.paths, self.batch_size = paths, batch_size
    def stream(self):
        while True:
            for at in range(0, len(self.paths), self.batch_size):
                yield self.paths[at:at + self.batch_size]
def steps(rows, step):
    for at in range(0, len(rows), step):
        yield rows[at:at + step]
"""


def how(expression):
    program = program_of(f"{HEAD}\nmodel.fit({expression})\n")
    (fitting,) = fittings(program, program.module("/project/train.py"))
    found = batched(program, next(feeds(fitting)))
    if found is None:
        return None
    code = [module.code(node) for module, node in (found.size, *found.samples)]
    return found.lasts, *code, is_several(program, found.size)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("make(a, b, 8)", ("ever", "8", "a", "b", True)),
        ("make(a, b, size=1, training=False)", ("epoch", "1", "a", "b", False)),
        ("make(a, b, 8, flag)", None),
        ("Source(a, 4).stream()", ("ever", "self.batch_size", "self.paths", "self.paths", True)),
        ("steps(a, 4)", ("once", "4", "a", True)),
        ("a, b, batch_size=4", ("epoch", "4", "a", "b", True)),
        ("a, b, batch_size=any_number", ("epoch", "any_number", "a", "b", False)),
        ("a, b, batch_size=batch_size", ("epoch", "batch_size", "a", "b", True)),
        ("a, b", None),
        ("tf.data.Dataset.from_tensor_slices(a).batch(4).batch(2)", None),
        ("tf.data.Dataset.from_tensor_slices(a).filter(f).batch(4)", None),
        ("tf.data.Dataset.from_tensor_slices(a).batch(4).repeat(3)", None),
        ("anything()", None),
    ],
)
def test_knows_how_data_is_batched(expression, expected):
    found = how(expression)
    if expected is not None and expression.startswith("Source"):
        assert (found[0], found[1], set(found[2:-1]), found[-1]) == (
            *expected[:2],
            {"self.paths"},
            True,
        )
    else:
        assert found == expected
