"""`from-generator`: fires when the generator is the limit, at the line that hands it to tf.data."""

import pytest

from quickfit.causes.input.from_generator import detect, fix
from quickfit.findings import FixClass

from builders import GENERATOR_LINE, run

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
