"""Numbers of steps that count samples, from the text of a program."""

import pytest

from quickfit.causes.traps.steps_in_samples import CAUSE
from quickfit.findings import Effect, FixClass

from programs import fixed, lines, spots

HEAD = """
import math
import keras
import numpy as np
import tensorflow as tf

SIZE = 16

def stream(images, labels, batch_size=32):
    while True:
        for at in range(0, len(images), batch_size):
            yield images[at:at + batch_size], labels[at:at + batch_size]

def once(images, labels, batch_size):
    for at in range(0, len(images), batch_size):
        yield images[at:at + batch_size], labels[at:at + batch_size]

def crops(images, batch_size):
    while True:
        for image in images:
            yield np.stack([image + np.random.rand() for _ in range(batch_size)])

def repeated(a, b):
    return tf.data.Dataset.from_tensor_slices((a, b)).shuffle(99).repeat().batch(SIZE).prefetch(1)

class Batches(keras.utils.PyDataset):
    def __init__(self, images, labels, batch_size, **options):
        super().__init__(**options)
        self.images, self.labels, self.batch_size = images, labels, batch_size
    def __len__(self):
        return math.ceil(len(self.images) / self.batch_size)
    def __getitem__(self, at):
        return self.images[at:at + 8], self.labels[at:at + 8]

class Crops(Batches):
    def __len__(self):
        return len(self.images)

model = keras.Sequential([keras.layers.Dense(1)])
model.compile("sgd", "mse")
x, y = np.load("x.npy"), np.load("y.npy")
x_test, y_test = np.load("u.npy"), np.load("v.npy")
ds = tf.data.Dataset.from_tensor_slices((x, y))
flow = keras.preprocessing.image.ImageDataGenerator().flow_from_directory("images")
n = len(x)
"""
TEXT = HEAD.lstrip("\n")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("model.fit(stream(x, y), steps_per_epoch=len(x))", "len(x) // 32)"),
        ("model.fit(stream(x, y, SIZE), steps_per_epoch=n, epochs=2)", "n // SIZE, epochs=2)"),
        ("model.fit(stream(x, y, batch_size=8), steps_per_epoch=len(y))", "len(y) // 8)"),
        ("model.fit(repeated(x, y), steps_per_epoch=x.shape[0])", "x.shape[0] // SIZE)"),
        ("model.evaluate(stream(x, y, 8), steps=len(x))", "len(x) // 8)"),
        (
            "model.fit(x, y, validation_data=stream(x_test, y_test, 4),\n"
            "          validation_steps=len(x_test),  # all\n          epochs=3)",
            "len(x_test) // 4,  # all\n          epochs=3)",
        ),
    ],
)
def test_divides_by_the_size_of_a_batch_where_data_never_ends(before, after):
    (spot,) = spots(CAUSE, HEAD + before)
    assert spot.effect is Effect.WRONG
    assert spot.change.kind is FixClass.REPAIRS
    assert fixed(CAUSE, HEAD + before).endswith(after)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            "model.fit(ds.batch(8), steps_per_epoch=len(x), epochs=2)",
            "model.fit(ds.batch(8), epochs=2)",
        ),
        ("model.fit(Batches(x, y, 8), steps_per_epoch=len(x))", "model.fit(Batches(x, y, 8))"),
        ("model.fit(x, y, batch_size=8, steps_per_epoch=n)", "model.fit(x, y, batch_size=8)"),
        ("model.fit(flow, steps_per_epoch=flow.samples)", "model.fit(flow)"),
        (
            "model.fit(\n    x, y,\n    batch_size=8,\n    validation_data=(x_test, y_test),\n"
            "    validation_steps=len(x_test),\n)",
            "model.fit(\n    x, y,\n    batch_size=8,\n    validation_data=(x_test, y_test),\n)",
        ),
    ],
)
def test_takes_the_number_away_where_data_ends_with_every_epoch(before, after):
    (spot,) = spots(CAUSE, HEAD + before)
    assert "the input runs out in every" in spot.summary
    assert fixed(CAUSE, HEAD + before) == TEXT + after


def test_a_generator_that_ends_is_reported_and_left_to_a_person():
    (spot,) = spots(CAUSE, HEAD + "model.fit(once(x, y, 8), steps_per_epoch=len(x), epochs=2)")
    assert "runs out in the first epoch" in spot.summary
    assert spot.change is None


def test_says_how_often_an_epoch_goes_over_the_data():
    (spot,) = spots(CAUSE, HEAD + "model.fit(stream(x, y), steps_per_epoch=len(x))")
    assert spot.summary == (
        "`steps_per_epoch=len(x)` counts samples, but the data comes in batches of 32: "
        "every epoch goes over the data 32 times"
    )


LOADER = """
import tensorflow as tf

def load(path, batch_size, n_train=192):
    ds = tf.data.TFRecordDataset(path).map(parse).shuffle(n_train).repeat()
    return ds.batch(batch_size).prefetch(1), n_train
"""
FIT = """
import keras
from loader import load
model = keras.Sequential([])
model.compile("sgd", "mse")
train, size = load("a.tfrecord", 32)
model.fit(train, steps_per_epoch=size, epochs=3)
"""


def test_a_number_that_samples_are_shuffled_by_counts_samples():
    (spot,) = spots(CAUSE, {"train.py": FIT, "loader.py": LOADER})
    assert (spot.where.line, spot.effect) == (6, Effect.WRONG)
    text = LOADER + FIT.replace("from loader import load\n", "N_TRAIN = 192\n")
    text = text.replace("shuffle(n_train)", "shuffle(N_TRAIN)").replace("=size", "=N_TRAIN")
    assert len(spots(CAUSE, text)) == 1


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param("1), n_train", "1), n_train // batch_size", id="batches are returned"),
        pytest.param("shuffle(n_train)", "shuffle(1000)", id="another number is shuffled"),
        pytest.param("n_train", "buffer_size", id="a name that says something else"),
        pytest.param("n_train", "steps", id="a name that says steps"),
        pytest.param(".batch(batch_size)", "", id="no batches"),
        pytest.param(
            ".shuffle(n_train).repeat()\n    return ds.batch(batch_size)",
            ".repeat()\n    return ds.batch(batch_size).shuffle(n_train)",
            id="batches are shuffled",
        ),
    ],
)
def test_a_number_that_may_count_something_else_is_fine(before, after):
    assert before in LOADER
    source = {"train.py": FIT, "loader.py": LOADER.replace(before, after)}
    assert lines(CAUSE, source) == []


def test_arrays_without_a_size_are_a_hint():
    (spot,) = spots(CAUSE, HEAD + "model.fit(x, y, steps_per_epoch=len(x))")
    assert spot.is_hint
    assert "batches of one sample" in spot.summary


def test_follows_the_size_and_the_data_through_a_class():
    text = TEXT + (
        "class Trainer:\n"
        "    def __init__(self, paths, labels, batch_size):\n"
        "        self.paths, self.labels, self.batch_size = paths, labels, batch_size\n"
        "    def run(self):\n"
        "        data = stream(self.paths, self.labels, self.batch_size)\n"
        "        model.fit(data, steps_per_epoch=len(self.paths))\n"
        "Trainer(x, y, 8).run()\n"
    )
    assert lines(CAUSE, text) == [len(text.splitlines()) - 1]


@pytest.mark.parametrize(
    "code",
    [
        pytest.param("model.fit(stream(x, y, 8), steps_per_epoch=len(x) // 8)", id="batches"),
        pytest.param("model.fit(stream(x, y, 1), steps_per_epoch=len(x))", id="batches of one"),
        pytest.param("model.fit(stream(x, y, 8), steps_per_epoch=len(x_test))", id="other samples"),
        pytest.param("model.fit(stream(x, y, 8), steps_per_epoch=100)", id="a number"),
        pytest.param("model.fit(crops(x, 8), steps_per_epoch=len(x))", id="a batch per sample"),
        pytest.param("model.fit(Crops(x, y, 8), steps_per_epoch=len(x))", id="its own length"),
        pytest.param(
            "b = Batches(x, y, 8)\nmodel.fit(b, steps_per_epoch=len(b))", id="its batches"
        ),
        pytest.param("d = ds.batch(8)\nmodel.fit(d, steps_per_epoch=len(d))", id="a dataset's"),
        pytest.param("model.fit(flow, steps_per_epoch=len(flow))", id="a flow's batches"),
        pytest.param(
            "model.fit(ds.repeat().batch(1), steps_per_epoch=len(x))", id="a batch of one"
        ),
        pytest.param(
            "model.fit(ds.repeat().batch(8).unbatch(), steps_per_epoch=len(x))", id="unbatched"
        ),
        pytest.param(
            "data = make()\nmodel.fit(data, steps_per_epoch=len(data))", id="anything's length"
        ),
        pytest.param(
            "batches = list(once(x, y, 8))\nmodel.fit(z, steps_per_epoch=len(batches))",
            id="a list of batches",
        ),
    ],
)
def test_stays_silent_on(code):
    assert lines(CAUSE, HEAD + code) == []
