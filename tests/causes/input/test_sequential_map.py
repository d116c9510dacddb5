"""`sequential-map`: fires only when the map really costs, and its fix is an exact edit."""

import pytest

from quickfit.causes.input.sequential_map import detect, fix
from quickfit.findings import FixClass

from builders import MAP_LINE, run

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
    edit = fix(finding, signals)
    assert edit is not None
    assert edit.before == "ds = files.map(decode)"
    assert edit.after == "ds = files.map(decode, num_parallel_calls=tf.data.AUTOTUNE)"
    assert edit.kind is kind
