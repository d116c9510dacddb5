"""`shuffle(AUTOTUNE)`, from the text of a program."""

import pytest

from quickfit.causes.traps.shuffle_autotune import CAUSE
from quickfit.findings import Effect, FixClass

from programs import fixed, lines, spots

HEAD = "import tensorflow as tf\n"
PLAIN = HEAD + "ds = tf.data.Dataset.range(9).shuffle(tf.data.AUTOTUNE)\n"


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(PLAIN, id="at once"),
        pytest.param(
            HEAD
            + "AUTO = tf.data.experimental.AUTOTUNE\n"
            + "ds = tf.data.Dataset.range(9)\n"
            + "ds = ds.map(abs, num_parallel_calls=AUTO).shuffle(buffer_size=AUTO)\n",
            id="through a name",
        ),
        pytest.param(
            "from tensorflow.data import AUTOTUNE, Dataset\nDataset.range(9).shuffle(AUTOTUNE)\n",
            id="imported by name",
        ),
        pytest.param(
            HEAD
            + "def make(paths, buffer_size=tf.data.AUTOTUNE):\n"
            + "    ds = tf.data.Dataset.from_tensor_slices(paths)\n"
            + "    return ds.shuffle(buffer_size).prefetch(buffer_size)\n"
            + "make([1])\n",
            id="a default that no call changes",
        ),
    ],
)
def test_reports_autotune_as_a_buffer(text):
    (spot,) = spots(CAUSE, text)
    assert "shuffle" in text.splitlines()[spot.where.line - 1]
    assert spot.effect is Effect.CRASHES


def test_follows_a_value_through_another_file():
    source = {
        "train.py": "from data import make\nimport tensorflow as tf\nmake(tf.data.AUTOTUNE)\n",
        "data.py": HEAD + "def make(size):\n    return tf.data.Dataset.range(9).shuffle(size)\n",
    }
    assert lines(CAUSE, source, "data.py") == [3]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(HEAD + "tf.data.Dataset.range(9).shuffle(1000)\n", id="a number"),
        pytest.param(
            HEAD + "def make(size):\n    return tf.data.Dataset.range(9).shuffle(size)\n",
            id="anything",
        ),
        pytest.param(
            HEAD
            + "def make(size=tf.data.AUTOTUNE):\n"
            + "    return tf.data.Dataset.range(9).shuffle(size)\n"
            + "make(100)\n",
            id="a default that every call changes",
        ),
        pytest.param(
            HEAD + "class Deck:\n    def shuffle(self, n): ...\nDeck().shuffle(tf.data.AUTOTUNE)\n",
            id="a shuffle of something else",
        ),
    ],
)
def test_stays_silent_on(text):
    assert lines(CAUSE, text) == []


def test_gives_the_shuffle_a_buffer():
    assert fixed(CAUSE, PLAIN) == PLAIN.replace("tf.data.AUTOTUNE)", "1000)")
    assert spots(CAUSE, PLAIN)[0].change.kind is FixClass.REPAIRS
