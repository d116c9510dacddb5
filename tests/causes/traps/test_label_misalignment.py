"""Lists and datasets that are put into another order than their labels, from text."""

import ast

import pytest

from quickfit.causes.traps.label_misalignment import CAUSE
from quickfit.causes.traps.label_misalignment.lineage import ShortTracer, shortened
from quickfit.findings import Effect

from programs import lines, program_of, spots

HEAD = """import glob, os, random
from pathlib import Path
import keras
import numpy as np
import tensorflow as tf
model = keras.Sequential([])
"""
SLICES = "ds = tf.data.Dataset.from_tensor_slices((paths, labels))\n"
X = "images = tf.data.Dataset.from_tensor_slices(x)"
Y = "labels = tf.data.Dataset.from_tensor_slices(y)"
ZIP = "ds = tf.data.Dataset.zip((images, labels))\n"
SEQUENCE = """class Pictures(keras.utils.PyDataset):
    def __init__(self, paths, labels):
        self.paths, self.labels = paths, labels
    def __getitem__(self, i):
        low = 8 * i
        return read(self.paths[low : low + 8]), np.array(self.labels[low : low + 8])
    def on_epoch_end(self):
        np.random.shuffle(self.paths)
"""


@pytest.mark.parametrize(
    ("code", "word"),
    [
        pytest.param("x, y = load()\nnp.random.shuffle(x)\nmodel.fit(x, y)\n", "`x`", id="rows"),
        pytest.param(
            "x, y = load()\nnp.random.seed(0)\nnp.random.shuffle(x)\nnp.random.shuffle(y)\n"
            "model.fit(x, y)\n",
            "one after the other",
            id="seeded once, shuffled twice",
        ),
        pytest.param(
            "(x, y), _ = keras.datasets.mnist.load_data()\nrng = np.random.default_rng(0)\n"
            "rng.shuffle(x)\nrng.shuffle(y)\nmodel.fit(x, y, epochs=2)\n",
            "one after the other",
            id="by a generator",
        ),
        pytest.param(
            "paths = glob.glob('*')\nlabels = [p.split('/')[0] for p in paths]\n"
            "random.shuffle(paths)\n" + SLICES,
            "`paths`",
            id="labels made before",
        ),
        pytest.param(
            "x = np.random.rand(9, 3)\ny = (x.sum(axis=1) > 2).astype(int)\n"
            "x = np.random.permutation(x)\nmodel.fit(x, y)\n",
            "`x`",
            id="a permutation",
        ),
        pytest.param(
            "paths, labels = [], []\nfor p in Path('a').iterdir():\n    paths.append(p)\n"
            "    labels.append(p.name)\nrandom.shuffle(paths)\npairs = list(zip(paths, labels))\n",
            "`paths`",
            id="lists that grow together",
        ),
        pytest.param(
            "def load(paths, labels):\n    random.shuffle(paths)\n    return paths, labels\n",
            "`paths`",
            id="returned together",
        ),
        pytest.param(
            "paths = sorted(glob.glob('images/*'))\nlabels = glob.glob('masks/*')\n" + SLICES,
            "sorted",
            id="one folder sorted",
        ),
        pytest.param(
            "def load():\n    images = os.listdir('images')\n    images.sort()\n"
            "    masks = [os.path.join('masks', m) for m in os.listdir('masks')]\n"
            "    return images, masks\n",
            "sorted",
            id="one folder sorted in place",
        ),
        pytest.param(
            "names = load()\nimages = [read(n) for n in names if is_fine(n)]\n"
            "labels = [label_of(n) for n in names]\nfor i, y in zip(images, labels): ...\n",
            "left out",
            id="one list filtered",
        ),
        pytest.param(f"{X}.shuffle(9)\n{Y}\n{ZIP}", "shuffle", id="one dataset shuffled"),
        pytest.param(f"{X}.shuffle(9)\n{Y}.shuffle(9)\n{ZIP}", "shuffle", id="each shuffled"),
        pytest.param(
            f"{X}.shuffle(9, seed=1)\n{Y}.shuffle(9, seed=2)\n{ZIP}", "shuffle", id="other seeds"
        ),
        pytest.param(f"{X}.map(read).ignore_errors()\n{Y}\n{ZIP}", "leaves out", id="errors"),
        pytest.param(
            f"{X}.apply(tf.data.experimental.ignore_errors())\n{Y}\n{ZIP}", "leaves", id="applied"
        ),
        pytest.param(f"{X}.filter(is_fine)\n{Y}\n{ZIP}", "leaves out", id="one dataset filtered"),
        pytest.param(
            "a = tf.data.Dataset.list_files('images/*.png')\n"
            "b = tf.data.Dataset.list_files('masks/*.png')\nds = tf.data.Dataset.zip(a, b)\n",
            "list_files",
            id="files listed at random",
        ),
        pytest.param(SEQUENCE, "`self.paths`", id="an object's list"),
        pytest.param(
            SEQUENCE + "        np.random.shuffle(self.labels)\n",
            "one after the other",
            id="an object's lists",
        ),
    ],
)
def test_reports_what_parts_examples_from_labels(code, word):
    (spot,) = spots(CAUSE, HEAD + code)
    assert word in spot.summary
    assert spot.effect is Effect.WRONG
    assert spot.change is None


@pytest.mark.parametrize(
    "code",
    [
        pytest.param(
            "x, y = load()\nnp.random.seed(0)\nnp.random.shuffle(x)\nnp.random.seed(0)\n"
            "np.random.shuffle(y)\nmodel.fit(x, y)\n",
            id="seeded each time",
        ),
        pytest.param(
            "x, y = load()\nstate = np.random.get_state()\nnp.random.shuffle(x)\n"
            "np.random.set_state(state)\nnp.random.shuffle(y)\nmodel.fit(x, y)\n",
            id="wound back",
        ),
        pytest.param(
            "x, y = load()\nrandom.Random(4).shuffle(x)\nrandom.Random(4).shuffle(y)\n"
            "model.fit(x, y)\n",
            id="a generator for each",
        ),
        pytest.param(
            "x, y = load()\nnp.random.RandomState(3).shuffle(x)\n"
            "np.random.RandomState(3).shuffle(y)\nmodel.fit(x, y)\n",
            id="a state for each",
        ),
        pytest.param(
            "x, y = load()\norder = np.random.permutation(len(x))\nx = x[order]\ny = y[order]\n"
            "model.fit(x, y)\n",
            id="one order for both",
        ),
        pytest.param(
            "x, y = load()\npairs = list(zip(x, y))\nrandom.shuffle(pairs)\nx, y = zip(*pairs)\n"
            "model.fit(np.array(x), np.array(y))\n",
            id="pairs are shuffled",
        ),
        pytest.param(
            "from sklearn.utils import shuffle\nx, y = load()\nx, y = shuffle(x, y)\n"
            "model.fit(x, y)\n",
            id="shuffled together",
        ),
        pytest.param(
            "from sklearn.utils import shuffle\nx, y = load()\nx = shuffle(x, random_state=1)\n"
            "y = shuffle(y, random_state=1)\nmodel.fit(x, y)\n",
            id="one state",
        ),
        pytest.param(
            "paths = glob.glob('*')\nrandom.shuffle(paths)\n"
            "labels = [p.split('/')[0] for p in paths]\n" + SLICES,
            id="labels made after",
        ),
        pytest.param(
            "paths = glob.glob('*')\nlabels = []\nrandom.shuffle(paths)\n"
            "for p in paths:\n    labels.append(p[0])\n" + SLICES,
            id="labels that grow after",
        ),
        pytest.param(
            "paths = glob.glob('*')\nlabels = {p: p[0] for p in paths}\nrandom.shuffle(paths)\n"
            "labels = look_up(labels, paths)\n" + SLICES,
            id="labels looked up after",
        ),
        pytest.param(
            "paths = glob.glob('*')\nlabels = [1] * len(paths)\nrandom.shuffle(paths)\n" + SLICES,
            id="labels that are all alike",
        ),
        pytest.param(
            "x, y = load()\nif wanted:\n    np.random.shuffle(x)\nmodel.fit(x, y)\n",
            id="perhaps shuffled",
        ),
        pytest.param(
            "x = np.random.rand(9, 3)\ny = np.random.randint(0, 2, 9)\nnp.random.shuffle(x)\n"
            "model.fit(x, y)\n",
            id="numbers that do not belong together",
        ),
        pytest.param(
            "x, y = load()\ny_shuffled = np.random.permutation(y)\nmodel.fit(x, y_shuffled)\n",
            id="on purpose",
        ),
        pytest.param(
            "x, y = load()\nnp.random.shuffle(x)\nclf = make()\nclf.fit(x, y)\n",
            id="something that is no model",
        ),
        pytest.param(
            "names, colors = load()\nrandom.shuffle(colors)\nfor a, b in zip(names, colors): ...\n",
            id="pairs at random",
        ),
        pytest.param(
            "paths = sorted(glob.glob('images/*'))\nlabels = sorted(glob.glob('masks/*'))\n"
            + SLICES,
            id="both folders sorted",
        ),
        pytest.param(
            "paths = sorted(glob.glob('images/*'))\nlabels = glob.glob('masks/*')\n"
            "labels.sort()\n" + SLICES,
            id="sorted in place",
        ),
        pytest.param(
            "paths = sorted(glob.glob('images/*'))\nlabels = read_labels('labels.csv')\n" + SLICES,
            id="labels from elsewhere",
        ),
        pytest.param(
            "names = load()\nimages = [read(n) for n in names if is_fine(n)]\n"
            "labels = [label_of(n) for n in names if is_fine(n)]\n"
            "for i, y in zip(images, labels): ...\n",
            id="both lists filtered",
        ),
        pytest.param(
            "def pairs():\n    for path, y in zip(paths, labels):\n        try:\n"
            "            image = read(path)\n        except OSError:\n            continue\n"
            "        yield image, y\n",
            id="a generator that skips both",
        ),
        pytest.param(f"{X}\n{Y}\n{ZIP[:-1]}.shuffle(9)\n", id="pairs are shuffled as a dataset"),
        pytest.param(
            f"{X}.shuffle(9, seed=1)\n{Y}.shuffle(9, seed=1)\n{ZIP}", id="datasets of one seed"
        ),
        pytest.param(f"{X}.shuffle(9, seed=s)\n{Y}.shuffle(9, seed=t)\n{ZIP}", id="unknown seeds"),
        pytest.param(
            "horses = tf.data.Dataset.from_tensor_slices(h).shuffle(9)\n"
            "zebras = tf.data.Dataset.from_tensor_slices(z).shuffle(9)\n"
            "ds = tf.data.Dataset.zip((horses, zebras))\n",
            id="two kinds of pictures",
        ),
        pytest.param(
            "images = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(9)\n"
            "labels = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(9)\n" + ZIP,
            id="pairs that are mixed",
        ),
        pytest.param(
            f"{X}.shuffle(9)\nlabels = tf.data.Dataset.from_tensors(1).repeat()\n{ZIP}",
            id="one label for all",
        ),
        pytest.param(
            "a = tf.data.Dataset.list_files('images/*.png', shuffle=False)\n"
            "b = tf.data.Dataset.list_files('masks/*.png', shuffle=False)\n"
            "ds = tf.data.Dataset.zip((a, b))\n",
            id="files listed in order",
        ),
        pytest.param(
            SEQUENCE + "        self.labels = [label_of(p) for p in self.paths]\n",
            id="an object's labels made anew",
        ),
        pytest.param(
            SEQUENCE.replace("shuffle(self.paths)", "shuffle(self.order)"), id="an object's order"
        ),
    ],
)
def test_stays_silent_on(code):
    assert lines(CAUSE, HEAD + code) == []


HALVES = """
def pictures(values, training):
    ds = tf.data.Dataset.from_tensor_slices(values)
    if training:
        ds = ds.shuffle(len(values))
    return ds.map(bright)
def classes(values, training):
    ds = tf.data.Dataset.from_tensor_slices(values)
    if training:
        ds = ds.shuffle(len(values))
    return ds.map(hot)
def both(x, y, training=True):
    return tf.data.Dataset.zip((pictures(x, training), classes(y, training)))
"""


@pytest.mark.parametrize("call", ["both(u, v)", "both(u, v, training=True)", "both(*(u, v), True)"])
def test_decides_conditions_for_a_call(call):
    (spot,) = spots(CAUSE, f"{HEAD}{HALVES}{call}\nboth(u, v, False)\n")
    assert "shuffle" in spot.summary


@pytest.mark.parametrize(
    "text",
    [
        HALVES + "both(u, v, False)\n",
        HALVES + "both(u, v, flag)\n",
        HALVES + "both(u, v, **options)\n",
        HALVES.replace("len(values))", "len(values), seed=4)") + "both(u, v)\n",
        HALVES.replace("both(x, y,", "both(x, z,").replace("classes(y,", "kinds(z,")
        + "both(u, v)\n",
    ],
)
def test_stays_silent_on_calls(text):
    assert lines(CAUSE, HEAD + text) == []


DROPPED = {
    "train.py": HEAD
    + "from clean import readable\n"
    + "def make(folder):\n"
    + "    paths = sorted(glob.glob(folder))\n"
    + "    labels = [int(p[0]) for p in paths]\n"
    + "    paths = readable(paths)\n"
    + "    n = len(paths)\n"
    + "    return tf.data.Dataset.from_tensor_slices((paths, labels[:n]))\n",
    "clean.py": "import os\n"
    "def readable(paths):\n    return [p for p in paths if os.path.getsize(p)]\n",
}


def test_finds_what_a_helper_leaves_out_of_one_list():
    (spot,) = spots(CAUSE, DROPPED)
    assert spot.where.line == 13
    assert "`paths`" in spot.summary


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("    labels = [int(p[0]) for p in paths]\n    paths = readable(paths)\n", ""),
        ("labels[:n]", "labels"),
        ("labels[:n]", "[int(p[0]) for p in paths][:n]"),
        ("    n =", "    labels = [int(p[0]) for p in paths]\n    n ="),
        ("readable(paths)\n", "sorted(paths)\n"),
    ],
)
def test_stays_silent_on_lists(before, after):
    text = DROPPED["train.py"].replace(before, after)
    assert text != DROPPED["train.py"]
    assert lines(CAUSE, {**DROPPED, "train.py": text}) == []


FINE = "def fine(items):\n    return [i for i in items if ok(i)]\n"
LOOP = "def fine(items):\n    kept = []\n    for i in items:\n{body}    return kept\n"
LISTS = "paths = sorted(listed())\nlabels = [of(p) for p in paths]\n"
USED = "use(paths, labels[: len(paths)])\n"


def found(text, *, is_silent=False):
    program = program_of(text)
    module = program.module("/project/train.py")
    (call,) = module.calls("use")
    pair = (call.args[0], call.args[1])
    return shortened(ShortTracer(program, module), call, pair, is_silent=is_silent)


def loop(*body):
    return LOOP.format(body="".join(f"        {line}\n" for line in body))


@pytest.mark.parametrize(
    "fine",
    [
        FINE,
        "def fine(items, least=3):\n    good = [i for i in items if ok(i)]\n    return good\n",
        "def inner(a):\n    return list(a)\n" + FINE,
        "def inner(a):\n    return [i for i in a if ok(i)]\n"
        "def fine(items):\n    return inner(items)\n",
        loop("if ok(i):", "    kept.append(i)"),
        loop("size = measured(i)", "if size < 9:", "    continue", "kept.append(i)"),
        loop("try:", "    read(i)", "except OSError:", "    continue", "kept.append(i)"),
    ],
)
def test_a_function_leaves_items_out(fine):
    parting = found(fine + LISTS + "paths = fine(paths)\n" + USED)
    assert parting is not None
    assert ast.unparse(parting.at) == "labels[:len(paths)]"
    assert "`paths`" in parting.summary
    assert "`labels`" in parting.summary


def test_a_use_that_takes_any_lengths_tells_where_items_are_left_out():
    text = FINE + LISTS + "paths = fine(paths)\nuse(paths, labels)\n"
    assert found(text) is None  # the lengths do not fit, which is noticed
    parting = found(text, is_silent=True)
    assert parting is not None
    assert ast.unparse(parting.at) == "fine(paths)"


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(FINE + LISTS + USED, id="nothing left out"),
        pytest.param(
            FINE + "paths = fine(sorted(listed()))\nlabels = [of(p) for p in paths]\n" + USED,
            id="left out before",
        ),
        pytest.param(
            FINE + LISTS + "paths = fine(paths)\nlabels = fine(labels)\n" + USED, id="of both"
        ),
        pytest.param(
            FINE + "paths = sorted(listed())\nlabels = table()\npaths = fine(paths)\n" + USED,
            id="labels from elsewhere",
        ),
        pytest.param(
            "def fine(items):\n    return list(items)\n" + LISTS + "paths = fine(paths)\n" + USED,
            id="a copy",
        ),
        pytest.param(
            "from other import fine\n" + LISTS + "paths = fine(paths)\n" + USED, id="unknown"
        ),
        pytest.param(
            "def fine(items):\n    return [i for i in other if ok(i)]\n"
            + LISTS
            + "paths = fine(paths)\n"
            + USED,
            id="of another list",
        ),
        pytest.param(
            loop("kept.append(i)") + LISTS + "paths = fine(paths)\n" + USED, id="all appended"
        ),
        pytest.param(
            loop("if len(kept) < 9:", "    kept.append(i)")
            + LISTS
            + "paths = fine(paths)\n"
            + USED,
            id="the first ones",
        ),
        pytest.param(
            loop("if stop(i):", "    break", "kept.append(i)")
            + LISTS
            + "paths = fine(paths)\n"
            + USED,
            id="up to one",
        ),
    ],
)
def test_stays_silent_on_short_lists(text):
    assert found(text) is None
