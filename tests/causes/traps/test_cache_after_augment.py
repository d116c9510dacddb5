"""`cache` behind a random map, from the text of a program."""

import pytest

from quickfit.causes.traps.cache_after_augment import CAUSE, mixes
from quickfit.findings import Effect, FixClass

from programs import fixed, lines, program_of, spots

HEAD = """import tensorflow as tf
import keras
def load(path, y):
    return tf.io.decode_jpeg(tf.io.read_file(path)), y
def maybe(image, training):
    if not training:
        return image
    return tf.image.random_flip_left_right(image)
def flip(image, y):
    return maybe(image, True), y
def keep(image, y):
    return maybe(image, training=False), y
net = keras.Sequential([keras.layers.RandomFlip(), keras.layers.Rescaling(1 / 255)])
rng = tf.random.Generator.from_seed(1)
ds = tf.data.Dataset.from_tensor_slices((paths, labels)).map(load)
"""
FIT = "model = keras.Sequential([])\nmodel.fit(ds, epochs=5)\n"


@pytest.mark.parametrize(
    "code",
    [
        pytest.param("ds = ds.map(flip).cache()\n", id="at once"),
        pytest.param("ds = ds.map(flip)\nds = ds.batch(8)\nds = ds.cache()\n", id="in steps"),
        pytest.param("ds = ds.map(flip, num_parallel_calls=4).cache('file')\n", id="to a file"),
        pytest.param("ds = ds.map(lambda i, y: (net(i), y)).cache()\n", id="layers"),
        pytest.param(
            "ds = ds.map(lambda i, y: (net(i, training=True), y)).cache()\n", id="told to train"
        ),
        pytest.param("ds = ds.map(net).cache()\n", id="a layer itself"),
        pytest.param(
            "ds = ds.map(lambda i, y: (i + tf.random.normal(tf.shape(i)), y)).cache()\n", id="noise"
        ),
        pytest.param(
            "def turn(i, y):\n"
            "    if tf.random.uniform(()) > 0.5:\n"
            "        i = tf.image.flip_left_right(i)\n"
            "    return i, y\n"
            "ds = ds.map(turn).cache()\n",
            id="a choice at random",
        ),
        pytest.param(
            "def turn(i, y):\n"
            "    seed = rng.make_seeds(2)[0]\n"
            "    return tf.image.stateless_random_flip_left_right(i, seed), y\n"
            "ds = ds.map(turn).cache()\n",
            id="a seed from a generator",
        ),
        pytest.param(
            "import numpy as np\n"
            "def noisy(i):\n    return i + np.random.normal(size=i.shape)\n"
            "ds = ds.map(lambda i, y: (tf.numpy_function(noisy, [i], tf.float32), y)).cache()\n",
            id="by Python",
        ),
        pytest.param(
            "from functools import partial\n"
            "def prepare(i, y, augment=False):\n    return maybe(i, augment), y\n"
            "ds = ds.map(partial(prepare, augment=True)).cache()\n"
            "val_ds = ds.map(prepare).cache()\n",
            id="a partial",
        ),
        pytest.param("ds = ds.cache().map(flip).cache()\n", id="two caches"),
        pytest.param(
            "def make(ds, augment):\n"
            "    if augment:\n"
            "        ds = ds.map(flip)\n"
            "    return ds.cache()\n"
            "train, other = make(ds, True), make(ds, False)\n",
            id="where it is wanted",
        ),
        pytest.param("ds = ds.map(flip).cache()\n" + FIT, id="trained with"),
        pytest.param(
            "ds = ds.map(flip).cache().repeat()\n" + FIT.replace("epochs=5", "steps_per_epoch=9"),
            id="repeated",
        ),
    ],
)
def test_reports_a_cache_of_random_pictures(code):
    (spot,) = spots(CAUSE, HEAD + code)
    assert "cache" in (HEAD + code).splitlines()[spot.where.line - 1]
    assert spot.effect is Effect.WRONG


def test_follows_a_map_through_another_file():
    source = {
        "train.py": "import tensorflow as tf\nfrom changes import flip\n"
        "ds = tf.data.Dataset.from_tensor_slices(x).map(flip).cache()\n",
        "changes.py": "import tensorflow as tf\n"
        "def flip(x):\n    return tf.image.random_flip_up_down(x)\n",
    }
    (spot,) = spots(CAUSE, source)
    assert [place.file for place, _ in spot.related] == ["/project/train.py", "/project/changes.py"]


@pytest.mark.parametrize(
    "code",
    [
        pytest.param("ds = ds.cache().map(flip)\n", id="cached first"),
        pytest.param("ds = ds.map(keep).cache()\n", id="told not to"),
        pytest.param("ds = ds.map(lambda i, y: (net(i, training=False), y)).cache()\n", id="idle"),
        pytest.param(
            "ds = ds.map(lambda i, y: (tf.image.flip_up_down(i), y)).cache()\n", id="sure"
        ),
        pytest.param(
            "ds = ds.map(lambda i, y: (tf.image.stateless_random_flip_up_down(i, (1, 2)), y))\n"
            "ds = ds.cache()\n",
            id="the same each time",
        ),
        pytest.param(
            "import random\nds = ds.map(lambda i, y: (i * random.random(), y)).cache()\n",
            id="drawn once, when it is traced",
        ),
        pytest.param("val_ds = ds.map(flip).cache()\n", id="named for validation"),
        pytest.param(
            "ds = ds.map(flip).cache()\n" + FIT.replace("ds,", "other, validation_data=ds,"),
            id="validated with",
        ),
        pytest.param(
            "ds = ds.map(flip).cache()\n" + FIT.replace("epochs=5", "epochs=1"), id="one epoch"
        ),
        pytest.param(
            "ds = tf.data.Dataset.range(9).map(lambda i: tf.random.normal((8, 8))).cache()\n",
            id="data made up of random numbers",
        ),
        pytest.param(
            "ds = ds.map(lambda i, y: (tf.random.normal((8, 8)), y)).cache()\n",
            id="random numbers in place of data",
        ),
        pytest.param(
            "import numpy as np\n"
            "def noisy(i):\n    return i + np.random.default_rng(7).normal(size=i.shape)\n"
            "ds = ds.map(lambda i, y: (tf.numpy_function(noisy, [i], tf.float32), y)).cache()\n",
            id="a generator with a seed",
        ),
        pytest.param(
            "def make(ds, training):\n"
            "    if training:\n"
            "        ds = ds.map(flip)\n"
            "    if not training:\n"
            "        ds = ds.cache()\n"
            "    return ds\n"
            "train, other = make(ds, True), make(ds, False)\n",
            id="one or the other",
        ),
        pytest.param(
            "def make(ds, augment=False):\n"
            "    if augment:\n"
            "        ds = ds.map(flip)\n"
            "    return ds.cache()\n"
            "train = make(ds, augment=False)\n",
            id="never wanted",
        ),
        pytest.param("@functools.cache\ndef f(): ...\n", id="another cache"),
    ],
)
def test_stays_silent_on(code):
    assert lines(CAUSE, HEAD + code) == []


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            "ds = ds.map(flip, num_parallel_calls=2).cache().batch(8)\n",
            "ds = ds.cache().map(flip, num_parallel_calls=2).batch(8)\n",
        ),
        (
            "ds = ds.map(flip)  # flip\nds = ds.cache()  # keep\nds = ds.batch(8)\n",
            "ds = ds.cache()  # keep\nds = ds.map(flip)  # flip\nds = ds.batch(8)\n",
        ),
        (
            "ds = (\n    ds.map(keep)\n    .map(flip)\n    .batch(8)\n    .cache()\n"
            "    .prefetch(1)\n)\n",
            "ds = (\n    ds.map(keep)\n    .cache()\n    .map(flip)\n    .batch(8)\n"
            "    .prefetch(1)\n)\n",
        ),
    ],
)
def test_caches_before_the_random_map(before, after):
    assert fixed(CAUSE, HEAD + before) == HEAD + after
    assert spots(CAUSE, HEAD + before)[0].change.kind is FixClass.REPAIRS


@pytest.mark.parametrize(
    "code",
    [
        pytest.param(
            "def both(path, y):\n    image, y = load(path, y)\n    return flip(image, y)\n"
            "ds = tf.data.Dataset.from_tensor_slices((paths, labels)).map(both).cache()\n",
            id="reads files as well",
        ),
        pytest.param(
            "flipped = ds.map(flip)\nshown = flipped.take(1)\nds = flipped.cache()\n",
            id="somebody looks at it between",
        ),
    ],
)
def test_leaves_to_a_person_a_map_that(code):
    assert spots(CAUSE, HEAD + code)[0].change is None


BUILD = """import tensorflow as tf
def build(x, y, *, change=None, keeps=True, shuffles=False):
    ds = tf.data.Dataset.from_tensor_slices((x, y))
    if change is not None:
        ds = ds.map(change)
    if keeps:
        ds = ds.cache()
    return ds.batch(8)
"""
RUN = """import keras
import tensorflow as tf
from build import build
def noisy(x, y):
    return x + tf.random.normal(tf.shape(x)), y
def sure(x, y):
    return x / 255, y
train = build(*load(1), change=noisy)
test = build(*load(2))
model = keras.Sequential([])
model.fit(train, validation_data=test, epochs=3)
"""


def test_tells_the_calls_of_a_helper_apart():
    (spot,) = spots(CAUSE, {"build.py": BUILD, "run.py": RUN}, "build.py")
    assert spot.where.line == 7
    assert spot.related[1][0].file == "/project/run.py"
    assert spot.change is None  # what the other call gets is cached well


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("change=noisy", "change=sure"),
        ("change=noisy", "change=noisy, keeps=False"),
        ("change=noisy", "change=pick()"),
        ("change=noisy", "**options"),
        ("epochs=3", "epochs=1"),
        ("fit(train, validation_data=test", "fit(test, validation_data=train"),
    ],
)
def test_stays_silent_on_calls_of_a_helper(before, after):
    source = {"build.py": BUILD, "run.py": RUN.replace(before, after)}
    assert source["run.py"] != RUN
    assert lines(CAUSE, source, "build.py") == []


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("return x + draw((3,))", True),
        ("return x + draw(shape(x))", True),
        ("noise = draw((3,))\n    return x + noise", True),
        ("if draw(()) > 0.5:\n        x = flip(x)\n    return x", True),
        ("angle = draw(())\n    return turn(x, angle)", True),
        ("return draw((8, 8)), x", False),
        ("picture = draw((8, 8))\n    return picture * 2.0, x", False),
        ("return draw((8, 8))", False),
    ],
)
def test_tells_a_change_from_made_up_data(body, expected):
    module = program_of(f"def f(x):\n    {body}\n").module("/project/train.py")
    assert mixes(module, module.calls("draw")[0]) is expected


def test_a_draw_outside_of_functions_changes_nothing():
    module = program_of("x = 1 + draw()\n").module("/project/train.py")
    assert not mixes(module, module.calls("draw")[0])
