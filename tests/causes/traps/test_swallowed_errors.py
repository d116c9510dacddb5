"""Errors that make samples vanish, from the text of a program."""

import pytest

from quickfit.causes.traps.swallowed_errors import CAUSE
from quickfit.findings import Effect

from programs import lines, spots

HEAD = "import keras\nimport numpy as np\nimport tensorflow as tf\n"
GENERATOR = (
    HEAD
    + """
def samples(paths, labels):
    for path, label in zip(paths, labels):
        try:
            image = np.load(path)
        except Exception:
            continue
        yield image, label
"""
)
DATASET = (
    HEAD
    + """
class Images(keras.utils.PyDataset):
    def __init__(self, paths):
        super().__init__()
        self.paths = paths
    def __len__(self):
        return len(self.paths) // 8
    def __getitem__(self, index):
        images = []
        for path in self.paths[index * 8:index * 8 + 8]:
            try:
                images.append(self.read(path))
            except:
                pass
        return np.array(images)
    def read(self, path):
        return np.load(path)
"""
)
MAPPED = (
    HEAD
    + """
def load(paths):
    found = []
    for path in paths.numpy():
        try:
            image = np.load(path)
        except OSError:
            continue
        found.append(image)
    return np.array(found)
ds = tf.data.Dataset.from_tensor_slices(["a"]).batch(8)
ds = ds.map(lambda paths: tf.py_function(load, [paths], tf.float32))
"""
)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(GENERATOR, id="a generator"),
        pytest.param(GENERATOR.replace("Exception", "IOError"), id="by its old name"),
        pytest.param(GENERATOR.replace("Exception", "(OSError, ValueError)"), id="several"),
        pytest.param(GENERATOR.replace(" Exception", ""), id="everything"),
        pytest.param(DATASET, id="a PyDataset"),
        pytest.param(DATASET.replace("keras.utils.PyDataset", "tf.keras.utils.Sequence"), id="old"),
        pytest.param(MAPPED, id="a mapped function"),
        pytest.param(
            HEAD
            + "def samples(rows):\n    for row in rows:\n        try:\n            yield 1 / row\n"
            + "        except Exception:\n            pass\n"
            + "model = keras.Sequential([])\nmodel.fit(samples([1]))\n",
            id="computed, and given to fit",
        ),
    ],
)
def test_reports_clauses_that_leave_samples_out(text):
    (spot,) = spots(CAUSE, text)
    assert "except" in text.lstrip("\n").splitlines()[spot.where.line - 1]
    assert spot.effect is Effect.WRONG
    assert not spot.is_hint
    assert "leaves out every sample that fails" in spot.summary


def test_reports_a_sample_that_is_given_in_the_place_of_another():
    (spot,) = spots(CAUSE, GENERATOR.replace("continue", "pass"))
    assert spot.summary == (
        "`except Exception: pass` gives the sample before it once more for every one that fails, "
        "without a word"
    )


def test_follows_a_function_into_another_file():
    source = {
        "train.py": HEAD
        + "from data import batch\ndef samples(paths):\n    while len(paths) > 2:\n"
        "        yield batch(paths)\nkeras.Sequential([]).fit(samples([1]))\n",
        "data.py": "def batch(paths):\n    found = []\n    for path in paths:\n        try:\n"
        "            found.append(open(path))\n        except Exception:\n            continue\n"
        "    return found\n",
    }
    assert lines(CAUSE, source, "data.py") == [6]


@pytest.mark.parametrize("kind", ["FileNotFoundError", "PIL.UnidentifiedImageError"])
def test_a_clause_that_names_what_it_expects_is_a_hint(kind):
    spot = spots(CAUSE, "import PIL\n" + GENERATOR.replace("Exception", kind))[0]
    assert spot.is_hint


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(GENERATOR.replace("continue", "raise"), id="it raises"),
        pytest.param(
            GENERATOR.replace("continue", "print(path)\n            continue"), id="it tells"
        ),
        pytest.param(GENERATOR.replace("continue", "image = np.zeros(3)"), id="it has another"),
        pytest.param(GENERATOR.replace("Exception", "KeyError"), id="one error that is expected"),
        pytest.param(
            GENERATOR.replace("import keras\nimport numpy as np\nimport tensorflow as tf\n", ""),
            id="no Keras",
        ),
        pytest.param(
            GENERATOR.replace("    for path", "    while True:\n     for path"),
            id="reported as going round for ever",
        ),
        pytest.param(
            HEAD + "def clean(paths):\n    for path in paths:\n        try:\n"
            "            path.unlink()\n        except OSError:\n            pass\n",
            id="no samples",
        ),
        pytest.param(
            HEAD + "def samples(paths):\n    for path in paths:\n        try:\n"
            "            path.touch()\n        except OSError:\n            pass\n"
            "        yield np.load(path)\n",
            id="a thing done by the way",
        ),
        pytest.param(
            HEAD + "def samples(paths):\n    for path in paths:\n        for _ in range(3):\n"
            "            try:\n                image = np.load(path)\n                break\n"
            "            except OSError:\n                continue\n        yield image\n",
            id="tried three times",
        ),
        pytest.param(
            HEAD + "def walk(model):\n    for name in dir(model):\n        try:\n"
            "            child = getattr(model, name)\n        except Exception:\n"
            "            continue\n        yield name, child\n",
            id="a generator of other things",
        ),
        pytest.param(
            HEAD
            + "def samples(paths):\n    for path in paths:\n        image = None\n        try:\n"
            "            image = np.load(path)\n        except OSError:\n            pass\n"
            "        yield path, image\n",
            id="nothing is left out",
        ),
    ],
)
def test_stays_silent_on(text):
    assert lines(CAUSE, text) == []
