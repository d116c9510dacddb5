"""`python-in-map`: fires when threads take turns for Python, not when they work side by side."""

import pytest

from quickfit.causes.input.python_in_map import detect, fix
from quickfit.findings import FixClass

from builders import MAP_LINE, run

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
