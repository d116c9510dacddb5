"""Edits that keep or spread the work of an input whose code is not understood."""

import textwrap

import pytest

from quickfit.causes._shared.input_reliefs import reliefs_of
from quickfit.code import Program
from quickfit.code.edits import apply_edits
from quickfit.findings import FixClass

HEAD = """\
import functools
import keras
import numpy as np
import tensorflow as tf
from PIL import Image

paths = sorted(open("files.txt").read().split())
rng = np.random.default_rng(0)
model = keras.Sequential([keras.layers.Dense(1)])
model.compile("adam", "mse")
Dataset = tf.data.Dataset
"""


def reliefs(text, *, head=HEAD):
    text = head + textwrap.dedent(text)
    program = Program(texts={"train.py": text})
    module = program.find_module("train.py")
    (fit,) = [call for call in module.calls("fit") if call.args]
    found = reliefs_of(program, module, fit.args[0], cores=4)
    return [(one, apply_edits(text, one.change.edits).removeprefix(head)) for one in found]


def kept(text):
    """Return the script with what its input gives kept; None where that is not offered."""
    found = [after for one, after in reliefs(text) if one.keeps]
    assert len(found) <= 1
    return found[0] if found else None


# -- generators ---------------------------------------------------------------------------------

ROUND = """\
def batches(size=32):
    while True:
        for i in range(0, len(paths), size):
            x = np.stack([np.asarray(Image.open(p)) for p in paths[i : i + size]])
            yield x, x.mean(axis=1)
model.fit(batches(), steps_per_epoch=len(paths) // 32, epochs=5)
"""


def test_batches_of_an_endless_generator_are_kept():
    assert kept(ROUND) == ROUND.replace(
        "    while True:\n", "    kept = []\n    while not kept:\n"
    ).replace(
        "            yield x, x.mean(axis=1)\n",
        "            kept.append((x, x.mean(axis=1)))\n            yield kept[-1]\n"
        "    while True:\n        yield from kept\n",
    )


def test_a_generator_with_its_own_lists_is_kept():
    text = """\
def batches():
    while True:
        xs, ys = [], []
        for p in paths:
            xs.append(np.load(p))
            ys.append(len(p))
            if len(xs) == 32:
                yield (np.array(xs), np.array(ys))
                xs, ys = [], []
model.fit(batches(), steps_per_epoch=len(paths) // 32, epochs=5)
"""
    after = kept(text)
    assert "                kept.append((np.array(xs), np.array(ys)))\n" in after
    assert "                yield kept[-1]\n                xs, ys = [], []\n" in after


def changed(old, new):
    assert old in ROUND
    return ROUND.replace(old, new)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(changed("x.mean(axis=1)", "rng.normal(size=3)"), id="it draws"),
        pytest.param(
            changed("    while True:\n", "    while True:\n        rng.shuffle(paths)\n"),
            id="it shuffles",
        ),
        pytest.param(
            changed(
                "    while True:\n", "    while True:\n        order = np.random.permutation(9)\n"
            ),
            id="it has an order of each round",
        ),
        pytest.param(
            "def batches(size=32):\n    i = 0\n    while True:\n        x = np.load(paths[i])\n"
            "        yield x, x\n        i = (i + 1) % len(paths)\n"
            "model.fit(batches(), steps_per_epoch=len(paths) // 32, epochs=5)\n",
            id="it counts on from one round to the next",
        ),
        pytest.param(
            "def batches(size=32):\n    x = np.zeros((size, 9))\n    while True:\n"
            "        for p in paths:\n            x[0] = np.load(p)\n            yield x, x\n"
            "model.fit(batches(), steps_per_epoch=len(paths) // 32, epochs=5)\n",
            id="one array for all batches",
        ),
        pytest.param(
            "def batches(size=32):\n    while True:\n        x = np.zeros((size, 9))\n"
            "        for p in paths:\n            x[0] = np.load(p)\n            yield x, x\n"
            "model.fit(batches(), steps_per_epoch=len(paths) // 32, epochs=5)\n",
            id="one array for all batches of a round",
        ),
        pytest.param(
            "def batches(size=32):\n    while True:\n        x = []\n"
            "        for p in paths:\n            x.append(np.load(p))\n            yield x\n"
            "model.fit(batches(), steps_per_epoch=len(paths) // 32, epochs=5)\n",
            id="one list that grows",
        ),
        pytest.param(
            changed(
                "    while True:\n", "    while True:\n        if not paths:\n            return\n"
            ),
            id="it may end",
        ),
        pytest.param(changed("while True", "while len(paths)"), id="it may end by its test"),
        pytest.param(
            changed("yield x, x.mean(axis=1)", "got = yield x, x"), id="it is sent something"
        ),
        pytest.param(
            changed("    while True:", "    yield 1, 1\n    while True:"), id="it begins otherwise"
        ),
    ],
)
def test_batches_are_not_kept_where(text):
    after = kept(text)
    assert after is None or "kept" not in after


ITEMS = """\
def load(path):
    return np.asarray(Image.open(path).resize((8, 8))) / 255.0

def batches():
    while True:
        chosen = rng.permutation(paths)
        for i in range(0, len(chosen), 8):
            x = np.stack([load(p) for p in chosen[i : i + 8]])
            yield x + rng.normal(size=x.shape), x
model.fit(batches(), steps_per_epoch=len(paths) // 8, epochs=5)
"""


def test_items_of_a_generator_that_draws_are_kept():
    assert kept(ITEMS) == ITEMS.replace("def load", "@functools.cache\ndef load")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param("/ 255.0", "/ rng.random()", id="the item is random"),
        pytest.param("load(p)", "load(p + str(rng.random()))", id="the argument is random"),
        pytest.param(
            "            yield x",
            "            one = load(paths[0])\n            one += 1\n            yield x",
            id="another place writes into it",
        ),
        pytest.param(
            "            yield x", "            blur(load(paths[0]))\n            yield x",
            id="another function is given it",
        ),
        pytest.param(
            "x = np.stack([load(p) for p in chosen[i : i + 8]])",
            "xs = [load(p) for p in chosen]\n            for one in xs:\n                one *= 2\n"
            "            x = np.stack(xs)",
            id="elements of a list of them are changed",
        ),
        pytest.param(
            "x = np.stack([load(p) for p in chosen[i : i + 8]])",
            "xs = []\n            for p in chosen:\n                xs.append(load(p))\n"
            "            xs[0][0] = 1\n            x = np.stack(xs)",
            id="elements of a list that it is appended to",
        ),
        pytest.param("def load", "@tf.function\ndef load", id="it has a decorator"),
        pytest.param(
            "            yield x",
            "            x = np.stack([load(paths[0])[2:4]])\n            yield x",
            id="only a part of it is used",
        ),
    ],
)  # fmt: skip
def test_items_are_not_kept_where(old, new):
    assert old in ITEMS
    assert kept(ITEMS.replace(old, new)) is None


# -- PyDatasets ---------------------------------------------------------------------------------

SEQUENCE = """\
class Photos(keras.utils.PyDataset):
    def __init__(self, files, batch):
        super().__init__()
        self.files = files
        self.batch = batch

    def __len__(self):
        return len(self.files) // self.batch

    def read(self, path):
        return np.asarray(Image.open(path).resize((8, 8)))

    def __getitem__(self, i):
        part = self.files[i * self.batch : (i + 1) * self.batch]
        return np.stack([self.read(p) for p in part]), np.zeros(len(part))

data = Photos(paths, 32)
model.fit(data, epochs=5)
"""


def test_batches_of_a_pydataset_are_kept_or_made_on_threads():
    (first, memory), (second, threads) = reliefs(SEQUENCE)
    assert memory == SEQUENCE.replace(
        "    def __getitem__", "    @functools.cache\n    def __getitem__"
    )
    assert threads == SEQUENCE.replace("32)\n", "32)\ndata.workers = 4\n")
    assert (first.keeps, second.keeps) == (True, False)
    assert first.change.kind is second.change.kind is FixClass.SAME_RESULTS


SHUFFLED = SEQUENCE.replace(
    "\ndata = Photos",
    "    def on_epoch_end(self):\n        rng.shuffle(self.files)\n\ndata = Photos",
)


def test_items_of_a_pydataset_that_shuffles_are_kept():
    (first, memory), (second, _) = reliefs(SHUFFLED)
    assert memory == SHUFFLED.replace("    def read", "    @functools.cache\n    def read")
    assert first.change.kind is FixClass.SAME_RESULTS
    assert second.change.kind is FixClass.MAY_CHANGE_RESULTS


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param("super().__init__()", "super().__init__(workers=2)", id="it has workers"),
        pytest.param(
            "data = Photos(paths, 32)", "data = Photos(paths, 32) if paths else None", id="or none"
        ),
    ],
)
def test_a_pydataset_gets_no_workers_where(old, new):
    assert all("workers = 4" not in after for _, after in reliefs(SEQUENCE.replace(old, new)))


def test_batches_that_the_script_reads_itself_are_not_kept():
    assert kept(SEQUENCE.replace("model.fit", "x, y = data[0]\nx += 1\nmodel.fit")) is None


def test_a_flow_of_an_image_data_generator_gets_workers():
    text = """\
datagen = keras.preprocessing.image.ImageDataGenerator(rotation_range=5)
train = datagen.flow_from_directory("photos", batch_size=32)
model.fit(train, epochs=5)
"""
    ((one, after),) = reliefs(text)
    assert after == text.replace("32)\n", "32)\ntrain.workers = 4\n")
    assert one.change.kind is FixClass.MAY_CHANGE_RESULTS


# -- tf.data ------------------------------------------------------------------------------------


def pipeline(text):
    return text + "model.fit(ds, epochs=5)\n"


LOAD = "def load(p):\n    return tf.io.decode_jpeg(tf.io.read_file(p))\n"
ROWS = (
    "def rows():\n    for line in open('a.csv'):\n        yield np.array(line.split(','), float)\n"
)
PY = "def f(x):\n    return tf.numpy_function(g, [x], tf.int64)\ndef g(x):\n    return np.sort(x)\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(
            LOAD + "ds = Dataset.from_tensor_slices(paths)\nds = ds.map(load)\n"
            "ds = ds.shuffle(9).batch(8)\n",
            LOAD + "ds = Dataset.from_tensor_slices(paths)\nds = ds.map(load)\n"
            "ds = ds.cache()\nds = ds.shuffle(9).batch(8)\n",
            id="decoded images",
        ),
        pytest.param(
            ROWS + "ds = Dataset.from_generator(rows, output_types=tf.int64).batch(8)\n",
            ROWS + "ds = Dataset.from_generator(rows, output_types=tf.int64).cache().batch(8)\n",
            id="rows of a generator",
        ),
        pytest.param(
            PY + "ds = Dataset.from_tensor_slices(paths).map(f, 4).batch(8)\n",
            PY + "ds = Dataset.from_tensor_slices(paths).map(f, 4).cache().batch(8)\n",
            id="a map through Python",
        ),
        pytest.param(
            PY + "ds = Dataset.from_tensor_slices(paths).shuffle(9).map(f, 4).batch(8)\n",
            PY + "ds = Dataset.from_tensor_slices(paths).map(f, 4).cache().shuffle(9).batch(8)\n",
            id="behind a shuffle, which moves",
        ),
        pytest.param(
            LOAD + "images = Dataset.from_tensor_slices(paths).map(load, 4)\n"
            "ds = Dataset.zip((images, Dataset.range(9))).shuffle(9).batch(8)\n",
            LOAD + "images = Dataset.from_tensor_slices(paths).map(load, 4).cache()\n"
            "ds = Dataset.zip((images, Dataset.range(9))).shuffle(9).batch(8)\n",
            id="one of two that are zipped",
        ),
    ],
)
def test_elements_of_a_dataset_are_kept(before, after):
    assert kept(pipeline(before)) == pipeline(after)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(
            ROWS.replace("yield ", "yield rng.random() * ") + "ds = Dataset.from_generator("
            "rows, output_types=tf.int64).batch(8)\n", id="a generator that draws",
        ),
        pytest.param(
            PY.replace("np.sort(x)", "rng.permutation(x)")
            + "ds = Dataset.from_tensor_slices(paths).map(f, 4).batch(8)\n",
            id="Python that draws",
        ),
        pytest.param(
            LOAD + "ds = Dataset.from_tensor_slices(paths).repeat().map(load, 4).batch(8)\n",
            id="behind a repeat",
        ),
        pytest.param(
            LOAD + "ds = Dataset.from_tensor_slices(paths).shuffle(9).batch(8).map(load, 4)\n",
            id="batches that are mixed anew",
        ),
        pytest.param(
            LOAD + "ds = tf.data.Dataset.list_files('*.jpg').map(load, 4).batch(8)\n",
            id="files in a random order",
        ),
        pytest.param(
            LOAD + "ds = Dataset.from_tensor_slices(paths).map(load, 4).cache().batch(8)\n",
            id="there is a cache",
        ),
        pytest.param(
            LOAD + "ds = Dataset.from_tensor_slices(paths).map(load, 4).take(90).batch(8)\n",
            id="only a part is read",
        ),
        pytest.param(
            "ds = Dataset.from_tensor_slices(paths).batch(8)\n", id="no work is done"
        ),
    ],
)  # fmt: skip
def test_elements_are_not_kept_where(text):
    assert kept(pipeline(text)) is None


def test_all_maps_of_a_chain_get_threads():
    text = pipeline(
        "def noise(x):\n    return x + tf.random.normal((3,))\n"
        "ds = Dataset.from_tensor_slices(paths).map(tf.io.read_file).map(noise).batch(8)\n"
    )
    ((one, after),) = reliefs(text)
    assert after.count("num_parallel_calls=tf.data.AUTOTUNE") == 2
    assert one.change.kind is FixClass.MAY_CHANGE_RESULTS
    assert not one.keeps


def test_a_shuffle_that_is_repeated_elsewhere_draws_another_order():
    text = """\
def make():
    ds = Dataset.from_tensor_slices(paths).shuffle(9).map(load, 4)
    return ds
def load(p):
    return tf.io.decode_jpeg(tf.io.read_file(p))
model.fit(make().repeat().batch(8), steps_per_epoch=80 // 8, epochs=5)
"""
    ((one, after),) = reliefs(text)
    assert ".map(load, 4).cache().shuffle(9)" in after
    assert one.change.kind is FixClass.MAY_CHANGE_RESULTS


SHUFFLES = """\
class Shuffle(keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        np.random.shuffle(files)

"""


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(SEQUENCE.replace("Photos(paths", "Photos(files"), id="a PyDataset"),
        pytest.param(
            ROUND.replace("def batches(size=32)", "def batches(names, size=32)")
            .replace("paths[i", "names[i")
            .replace("fit(batches()", "fit(batches(files)"),
            id="a generator",
        ),
        pytest.param(
            "def make(names):\n    def rows():\n        for name in names:\n"
            "            yield np.load(name)\n    return rows\n"
            "ds = Dataset.from_generator(make(files), output_types=tf.int64).batch(8)\n"
            "model.fit(ds, epochs=5)\n",
            id="a function in a function",
        ),
    ],
)
def test_nothing_is_kept_of_what_other_code_shuffles(text):
    head = HEAD + "files = list(paths)\n"
    assert any(one.keeps for one, _ in reliefs(text, head=head))
    assert not any(one.keeps for one, _ in reliefs(SHUFFLES + text, head=head))
