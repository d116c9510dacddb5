"""`shuffle-after-decode`: fires when epochs begin with a refill of large elements."""

import pytest

from quickfit.causes.input.shuffle_after_decode import CAUSE, detect, fix
from quickfit.findings import FixClass

from builders import SHUFFLE_LINE, run
from programs import lines, spots

SLOW = {"shuffled": 500, "map_s": 0.16, "epoch_start_s": 1.2, "cpu_cores": 1.2, "step_s": 0.1}


def test_fires_at_the_shuffle_with_the_wait_and_the_work_that_explains_it():
    finding = detect(run(**SLOW))
    assert finding is not None
    assert finding.where is not None
    assert finding.where.line == SHUFFLE_LINE
    wait, held, work = finding.evidence
    assert wait.value == pytest.approx(1.2, rel=0.01)
    assert held.value == pytest.approx(500 * 110_000)
    assert work.value == pytest.approx(1.25, rel=0.1)
    assert finding.gain.low <= finding.gain.likely <= finding.gain.high < 1.5


@pytest.mark.parametrize(
    "given",
    [
        pytest.param({**SLOW, "epoch_start_s": 0.02}, id="epochs start at once"),
        pytest.param({**SLOW, "is_cached": True}, id="a cache makes the refill a copy"),
        pytest.param({**SLOW, "element_bytes": 200}, id="paths are shuffled"),
        pytest.param({**SLOW, "source_bytes": 50_000}, id="the source is as large"),
        pytest.param({**SLOW, "map_s": 0.001}, id="the work above does not explain the wait"),
        pytest.param({**SLOW, "cpu_cores": 2.0}, id="all cores are busy: nothing to win"),
        pytest.param({**SLOW, "input": "generator"}, id="a generator has its own cause"),
        pytest.param({**SLOW, "epochs": 1, "steps": 300}, id="one long epoch starts once"),
    ],
)
def test_stays_silent_when(given):
    assert detect(run(**given)) is None


def test_the_fix_moves_the_shuffle_and_admits_another_order():
    signals = run(**SLOW)
    finding = detect(signals)
    assert finding is not None
    advice = fix(finding, signals)
    assert advice is not None
    assert advice.kind is FixClass.MAY_CHANGE_RESULTS
    assert advice.example.index("shuffle") < advice.example.index("map")


# -- from the text of a program ---------------------------------------------------------------

DECODING = """
import tensorflow as tf
def load(path):
    return tf.image.resize(tf.io.decode_jpeg(tf.io.read_file(path)), (64, 64))
ds = tf.data.Dataset.from_tensor_slices(paths)
"""


def test_text_gives_a_hint_at_a_shuffle_of_images():
    (spot,) = spots(CAUSE, DECODING + "ds = ds.map(load).shuffle(1000).batch(32)\n")
    assert spot.is_hint
    assert spot.where.line == 5


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("ds.shuffle(1000).map(load).batch(32)\n", id="of paths"),
        pytest.param("ds.map(load).cache().shuffle(1000)\n", id="behind a cache"),
        pytest.param("ds.map(load).shuffle(32)\n", id="a small buffer"),
        pytest.param("ds.map(tf.strings.length).shuffle(1000)\n", id="of numbers"),
    ],
)
def test_text_is_fine_with(text):
    assert lines(CAUSE, DECODING + text) == []
