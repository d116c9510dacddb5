"""`from-generator`: fires when the generator is the limit, at the line that hands it to tf.data."""

import pytest

from quickfit.causes.input.from_generator import CAUSE, detect, fix
from quickfit.findings import FixClass

from builders import GENERATOR_LINE, run
from programs import lines, spots

SOURCE_LINE = 12
SLOW = {
    "input_wait_s": 0.06,
    "generator_s": 0.09,
    "map_s": 0.001,
    "per_batch": 256,
    "cpu_cores": 1.1,
    "input_cores": 0.9,
}


def test_fires_at_the_call_with_the_generator_s_own_time_and_one_core():
    finding = detect(run(**SLOW))
    assert finding is not None
    assert finding.where is not None
    assert finding.where.line == SOURCE_LINE
    assert finding.summary == "`from_generator(batches)` makes every element in Python"
    wait, busy, cores = finding.evidence
    assert wait.value == pytest.approx(0.6, abs=0.01)
    assert busy.value == pytest.approx(0.09, rel=0.05)
    assert "256 elements" in busy.detail
    assert busy.where is not None
    assert busy.where.line == GENERATOR_LINE
    assert cores.value == pytest.approx(0.45, rel=0.05)
    assert 1.5 < finding.gain.low < finding.gain.likely < finding.gain.high


def test_few_large_elements_keep_their_work_and_gain_less():
    small, large = detect(run(**SLOW)), detect(run(**{**SLOW, "per_batch": 2}))
    assert small is not None
    assert large is not None
    assert large.gain.likely < small.gain.likely


def test_a_generator_that_waits_gains_by_asking_for_several_items_at_once():
    finding = detect(run(**{**SLOW, "cpu_cores": 0.4, "input_cores": 0.05}))
    assert finding is not None
    assert "waits" in finding.gain.basis


@pytest.mark.parametrize(
    "given",
    [
        pytest.param({**SLOW, "input_wait_s": 0.004}, id="it keeps up"),
        pytest.param({**SLOW, "generator_s": 0.02}, id="it is at work for a part of the step only"),
        pytest.param({**SLOW, "map_s": 0.4, "parallelism": 2.0}, id="the map takes the time"),
        pytest.param({**SLOW, "generator_s": 0.0, "map_s": 0.09}, id="there is no generator"),
        pytest.param(
            {**SLOW, "cpu_cores": 1.9, "input_cores": 1.8}, id="several cores are at work"
        ),
        pytest.param(
            {**SLOW, "cpu_cores": 1.0, "input_cores": 0.3, "other_cores": 1.0},
            id="other programs take the cores from a busy model",
        ),
        pytest.param(
            {"input": "generator", "input_wait_s": 0.06, "batch_s": 0.095},
            id="the generator is given to fit itself",
        ),
    ],
)
def test_stays_silent_when(given):
    assert detect(run(**given)) is None


def test_the_fix_shows_whole_batches_only_where_handing_over_is_most_of_it():
    for per_batch, shown in ((1000, True), (8, False)):
        signals = run(**{**SLOW, "per_batch": per_batch})
        finding = detect(signals)
        assert finding is not None
        advice = fix(finding, signals)
        assert advice is not None
        assert advice.kind is FixClass.EQUIVALENT
        assert "from_tensor_slices" in advice.example
        assert ("whole batches" in advice.example) is shown


# -- from the text of a program ---------------------------------------------------------------

IMPORTS = "import cv2\nimport numpy as np\nimport tensorflow as tf\nfrom PIL import Image\n"
DATASET = "ds = tf.data.Dataset.from_generator({}, output_signature=spec)\n"
READING = "def samples():\n    for path in paths:\n        yield np.array(Image.open(path)), 1\n"


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(READING + DATASET.format("samples"), id="at once"),
        pytest.param(
            "def load(path):\n    return cv2.cvtColor(cv2.imread(path), 4)\n"
            "def samples(paths):\n    while True:\n"
            "        for path in paths:\n            yield load(path)\n"
            + DATASET.format("lambda: samples(files)"),
            id="a helper, and a lambda",
        ),
        pytest.param(
            "import functools\n"
            "def samples(paths):\n    for path in paths:\n        yield np.load(path)\n"
            + DATASET.format("functools.partial(samples, files)"),
            id="partial",
        ),
        pytest.param(
            "class Samples:\n"
            "    def __call__(self):\n        for path in self.paths:\n"
            "            yield self.read(path)\n"
            "    def read(self, path):\n        return np.asarray(Image.open(path))\n"
            + DATASET.format("Samples()"),
            id="an object",
        ),
        pytest.param(
            "def batches():\n    for start in range(0, 99, 9):\n        found = []\n"
            "        for path in paths[start : start + 9]:\n"
            "            found.append(Image.open(path).resize((9, 9)))\n"
            "        yield np.stack(found)\n" + DATASET.format("batches"),
            id="whole batches",
        ),
    ],
)
def test_text_shows_a_generator_that_reads_files(text):
    (spot,) = spots(CAUSE, IMPORTS + text)
    assert "from_generator" in (IMPORTS + text).splitlines()[spot.where.line - 1]
    assert spot.related


def test_follows_a_generator_into_another_file():
    source = {
        "train.py": "import tensorflow as tf\nfrom data import samples\n"
        + DATASET.format("samples"),
        "data.py": IMPORTS + READING,
    }
    (spot,) = spots(CAUSE, source)
    assert spot.related[0][0].file == "/project/data.py"


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(
            "def samples():\n    for row in rows:\n        yield row * 2\n"
            + DATASET.format("samples"),
            id="arrays",
        ),
        pytest.param(
            "def samples():\n    data = np.load('all.npy')\n    for row in data:\n"
            "        yield row\n" + DATASET.format("samples"),
            id="a file that is read once",
        ),
        pytest.param(
            "def samples():\n    while True:\n        data = np.load('all.npy')\n"
            "        for row in data:\n            yield row\n" + DATASET.format("samples"),
            id="a file that is read once per epoch",
        ),
        pytest.param(
            "import librosa\n"
            "def samples():\n    for path in paths:\n        yield librosa.load(path)[0]\n"
            + DATASET.format("samples"),
            id="sounds, by a library of their own",
        ),
        pytest.param(
            "import pydicom\n"
            "def samples():\n    for path in paths:\n"
            "        yield pydicom.dcmread(path), np.load(path)\n" + DATASET.format("samples"),
            id="scans",
        ),
        pytest.param(
            "def samples():\n    with open('text') as lines:\n"
            "        for line in lines:\n            yield line.split()\n"
            + DATASET.format("samples"),
            id="the lines of a text",
        ),
        pytest.param(
            READING
            + "ds = tf.data.Dataset.range(4).interleave(\n    lambda i: "
            + DATASET.format("samples")[5:].rstrip()
            + ",\n    num_parallel_calls=4)\n",
            id="several side by side",
        ),
        pytest.param(
            "from multiprocessing import Pool\n"
            "def samples():\n    with Pool(4) as pool:\n        for path in paths:\n"
            "            yield np.array(Image.open(path))\n" + DATASET.format("samples"),
            id="with processes of its own",
        ),
        pytest.param(DATASET.format("something"), id="nobody knows it"),
        pytest.param(READING + "for x, y in samples():\n    print(x)\n", id="not for tf.data"),
    ],
)
def test_text_is_fine_with(text):
    assert lines(CAUSE, IMPORTS + text) == []
