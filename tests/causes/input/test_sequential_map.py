"""`sequential-map`: fires only when the map really costs, and its fix is an exact edit."""

import pytest

from quickfit.causes.input.sequential_map import CAUSE, detect
from quickfit.findings import FixClass

from builders import MAP_LINE, run, shown_fix
from programs import fixed, lines, spots

SLOW = {"input_wait_s": 0.06, "map_s": 0.095, "parallelism": 1.0, "cpu_cores": 1.1}


@pytest.mark.parametrize("fused", [False, True], ids=["a map of its own", "fused with batch"])
def test_fires_at_the_line_of_the_map(fused):
    finding = detect(run(**SLOW, fused=fused))
    assert finding is not None
    assert finding.where is not None
    assert finding.where.line == MAP_LINE
    assert finding.summary == "`map(decode)` runs on one thread"
    assert finding.evidence[0].value == pytest.approx(0.6, abs=0.01)
    assert finding.evidence[1].value == pytest.approx(0.095, rel=0.05)
    assert "32 calls" in finding.evidence[1].detail
    assert 1.2 < finding.gain.likely < 2.0


@pytest.mark.parametrize(
    "given",
    [
        pytest.param({**SLOW, "input_wait_s": 0.004}, id="input is not the limit"),
        pytest.param({**SLOW, "parallelism": 2.0}, id="already parallel"),
        pytest.param({**SLOW, "runs_python": True}, id="Python's lock is the limit"),
        pytest.param({**SLOW, "map_s": 0.0001}, id="the map is not what takes the time"),
        pytest.param({**SLOW, "input_wait_s": 0.012, "cpu_cores": 1.95}, id="all cores are busy"),
        pytest.param(
            {"input": "generator", "input_wait_s": 0.06, "batch_s": 0.095},
            id="a generator is the cause",
        ),
    ],
)
def test_stays_silent_when(given):
    assert detect(run(**given)) is None


@pytest.mark.parametrize(
    ("is_stateful", "kind"),
    [(False, FixClass.SAME_RESULTS), (True, FixClass.MAY_CHANGE_RESULTS)],
)
def test_the_fix_adds_the_keyword_and_knows_its_class(is_stateful, kind):
    signals = run(**SLOW, is_stateful=is_stateful)
    finding = detect(signals)
    assert finding is not None
    edit = shown_fix("sequential-map", finding, signals)
    assert edit is not None
    assert edit.before == "ds = files.map(decode)"
    assert edit.after == "ds = files.map(decode, num_parallel_calls=tf.data.AUTOTUNE)"
    assert edit.kind is kind


# -- from the text of a program ---------------------------------------------------------------

READING = """
import tensorflow as tf
def load(path):
    return tf.io.decode_jpeg(tf.io.read_file(path))
def python(path):
    return tf.py_function(open, [path], tf.string)
ds = tf.data.Dataset.from_tensor_slices(paths)
"""


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("ds.map(load).batch(2)", "ds.map(load, num_parallel_calls=tf.data.AUTOTUNE).batch(2)"),
        (
            "ds.map(\n    load,  # reads\n)",
            "ds.map(\n    load,  # reads\n    num_parallel_calls=tf.data.AUTOTUNE,\n)",
        ),
    ],
)
def test_text_gives_a_hint_and_the_change(before, after):
    (spot,) = spots(CAUSE, f"{READING}ds = {before}\n")
    assert spot.is_hint
    assert spot.change.kind is FixClass.SAME_RESULTS
    assert fixed(CAUSE, f"{READING}ds = {before}\n") == f"{READING}ds = {after}\n".lstrip()


def test_a_random_map_may_change_results():
    text = READING.replace("decode_jpeg(", "decode_jpeg(tf.random.uniform(()) + ", 1)
    (spot,) = spots(CAUSE, text + "ds.map(load)\n")
    assert spot.change.kind is FixClass.MAY_CHANGE_RESULTS


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("ds.map(load, num_parallel_calls=4)\n", id="parallel"),
        pytest.param("ds.map(load, 4)\n", id="parallel, by position"),
        pytest.param("ds.map(load, **options)\n", id="anything"),
        pytest.param("ds.map(python)\n", id="Python"),
        pytest.param("ds.map(lambda path: path)\n", id="next to nothing"),
        pytest.param("list(map(load, paths))\n", id="another map"),
    ],
)
def test_text_is_fine_with(text):
    assert lines(CAUSE, READING + text) == []
