"""`python-in-map`: fires when threads take turns for Python, not when they work side by side."""

import pytest

from quickfit.causes.input.python_in_map import CAUSE, detect, fix
from quickfit.findings import FixClass

from builders import MAP_LINE, run
from programs import lines, spots

SLOW = {
    "input_wait_s": 0.06,
    "map_s": 0.18,
    "parallelism": 2.0,
    "runs_python": True,
    "per_batch": 64,
    "cpu_cores": 1.2,
    "input_cores": 1.0,
}


@pytest.mark.parametrize("fused", [False, True], ids=["a map of its own", "fused with batch"])
@pytest.mark.parametrize("parallelism", [1.0, 2.0])
def test_fires_at_the_line_of_the_map(fused, parallelism):
    given = {**SLOW, "parallelism": parallelism, "map_s": 0.09 * parallelism}
    finding = detect(run(**given, fused=fused))
    assert finding is not None
    assert finding.where is not None
    assert finding.where.line == MAP_LINE
    assert finding.summary == "`map(decode)` calls Python for every element"
    wait, work, cores = finding.evidence
    assert wait.value == pytest.approx(0.6, abs=0.01)
    assert "64 calls of Python" in work.detail
    assert cores.value == pytest.approx(0.5, rel=0.05)
    assert 1.2 < finding.gain.low < finding.gain.likely < finding.gain.high


def test_a_map_of_batches_is_called_one():
    finding = detect(run(**{**SLOW, "per_batch": 1}))
    assert finding is not None
    assert finding.summary.endswith("for every batch")


@pytest.mark.parametrize(
    "given",
    [
        pytest.param({**SLOW, "input_wait_s": 0.004}, id="input is not the limit"),
        pytest.param({**SLOW, "runs_python": False}, id="no Python in the map"),
        pytest.param({**SLOW, "cpu_cores": 1.95, "input_cores": 1.8}, id="the lock is given up"),
        pytest.param({**SLOW, "map_s": 0.02}, id="Python is a small part of the step"),
        pytest.param({**SLOW, "cpu_cores": 0.3, "input_cores": 0.1}, id="it only waits"),
        pytest.param({**SLOW, "generator_s": 0.2}, id="a generator is the limit"),
        pytest.param(
            {**SLOW, "cpu_cores": 1.0, "input_cores": 0.35, "other_cores": 1.0},
            id="other programs take the cores from a busy model",
        ),
        pytest.param(
            {"input": "generator", "input_wait_s": 0.06, "batch_s": 0.095},
            id="a generator given to fit is the cause",
        ),
    ],
)
def test_stays_silent_when(given):
    assert detect(run(**given)) is None


@pytest.mark.parametrize(("per_batch", "shown"), [(64, True), (1, False)])
def test_the_fix_offers_one_call_per_batch_where_there_are_more(per_batch, shown):
    signals = run(**{**SLOW, "per_batch": per_batch})
    finding = detect(signals)
    assert finding is not None
    advice = fix(finding, signals)
    assert advice is not None
    assert advice.kind is FixClass.EQUIVALENT
    assert "reduce_min" in advice.example
    assert ("one call for a whole batch" in advice.example) is shown


# -- from the text of a program ---------------------------------------------------------------

IMPORTS = "import cv2\nimport numpy as np\nimport tensorflow as tf\nfrom PIL import Image\n"
FILES = "ds = tf.data.Dataset.from_tensor_slices(paths)\n"


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(
            "def read(path):\n"
            "    image = Image.open(path.numpy().decode()).convert('RGB').resize((64, 64))\n"
            "    return np.asarray(image, np.float32) / 255\n"
            "def load(path):\n    return tf.py_function(read, [path], tf.float32)\n"
            + FILES
            + "ds = ds.map(load, num_parallel_calls=8)\n",
            id="pictures with Pillow",
        ),
        pytest.param(
            "def read(path):\n    image = cv2.imread(path.decode())\n"
            "    return cv2.resize(cv2.cvtColor(image, cv2.COLOR_BGR2RGB), (64, 64))\n"
            + FILES
            + "ds = ds.map(lambda p: tf.numpy_function(read, [p], tf.uint8))\n",
            id="pictures with OpenCV, in a lambda",
        ),
        pytest.param(
            FILES
            + "def read(path):\n    return np.load(path)\n"
            + "def outer(path):\n    return inner(path)\n"
            + "def inner(path):\n    return tf.numpy_function(read, [path], tf.float32)\n"
            + "ds = ds.batch(4).map(outer)\n",
            id="arrays from files, through a function",
        ),
        pytest.param(
            "def scale(x):\n    return (x - np.min(x)) / (np.max(x) - np.min(x))\n"
            "def prepare(x, y):\n    return tf.numpy_function(scale, [x], tf.float32), y\n"
            "ds = tf.data.Dataset.from_tensor_slices((x, y)).map(prepare)\n",
            id="NumPy",
        ),
        pytest.param(
            "def shake(x):\n    if np.random.rand() < 0.5:\n        x = x[::-1]\n"
            "    return (x - x.mean()) * np.random.uniform(0.9, 1.1)\n"
            "def prepare(x, y):\n    return tf.numpy_function(shake, [x], tf.float32), y\n"
            "ds = tf.data.Dataset.from_tensor_slices((x, y)).map(prepare)\n",
            id="numbers by chance",
        ),
    ],
)
def test_text_shows_python_in_a_map(text):
    (spot,) = spots(CAUSE, IMPORTS + text)
    assert "_function" in (IMPORTS + text).splitlines()[spot.where.line - 1]


def test_a_map_in_another_file_is_seen():
    source = {
        "train.py": "import tensorflow as tf\nfrom data import load\n" + FILES + "ds.map(load)\n",
        "data.py": IMPORTS
        + "def read(p):\n    return np.load(p)\n"
        + "def load(p):\n    return tf.numpy_function(read, [p], tf.float32)\n",
    }
    assert lines(CAUSE, source, "data.py") == [8]
    assert lines(CAUSE, source, "train.py") == []


@pytest.mark.parametrize(
    "body",
    [
        pytest.param("    return librosa.load(p)[0]\n", id="sounds"),
        pytest.param("    return pydicom.dcmread(p).pixel_array\n", id="scans"),
        pytest.param("    return augment(image=cv2.imread(p))['image']\n", id="augmentation"),
        pytest.param("    return cv2.GaussianBlur(cv2.imread(p), (3, 3), 0)\n", id="a blur"),
        pytest.param("    return np.interp(p, [0, 1], [2, 3])\n", id="of NumPy alone"),
        pytest.param("    return np.random.permutation(p)\n", id="another order"),
        pytest.param(
            "    return p * np.random.default_rng(7).normal()\n", id="chance that is repeated"
        ),
        pytest.param("    return np.random.choice(p, 3)\n", id="a choice"),
        pytest.param(
            "    return np.asarray(Image.open(p).rotate(np.random.uniform(-9, 9)))\n", id="turned"
        ),
        pytest.param("    return np.array(p.decode().split(','))\n", id="texts"),
        pytest.param("    time.sleep(1)\n    return np.array(p)\n", id="it waits"),
        pytest.param("    return table[p]\n", id="no library"),
    ],
)
def test_text_is_fine_with(body):
    text = (
        IMPORTS
        + "import time\nimport librosa\nimport pydicom\nimport albumentations\n"
        + "augment = albumentations.Compose([])\n"
        + f"def read(p):\n{body}"
        + "def load(p):\n    return tf.numpy_function(read, [p], tf.float32)\n"
        + FILES
        + "ds = ds.map(load)\n"
    )
    assert lines(CAUSE, text) == []


@pytest.mark.parametrize(
    "use",
    [
        pytest.param("ds = ds.batch(9).map(load)\n", id="whole batches"),
        pytest.param("load(1)\n", id="no map"),
    ],
)
def test_python_that_is_called_seldom_is_fine(use):
    text = (
        IMPORTS
        + "def scale(x):\n    return x / np.max(x)\n"
        + "def load(x):\n    return tf.numpy_function(scale, [x], tf.float32)\n"
        + FILES
        + use
    )
    assert lines(CAUSE, text) == []
