"""`py-generator-input`: fires, stays silent when healthy, and when a neighbour is the cause."""

import pytest

from quickfit.causes.input.py_generator_input import detect, fix
from quickfit.findings import FixClass
from quickfit.signals import Signals

from builders import FIT_LINE, GENERATOR_LINE, HOT_LINE, SCRIPT, recording, run

SLOW = {"input": "generator", "step_s": 0.1, "input_wait_s": 0.06, "batch_s": 0.095}


def test_fires_with_the_hot_line_and_two_independent_facts():
    finding = detect(run(**SLOW))
    assert finding is not None
    assert finding.where is not None
    assert finding.where.line == HOT_LINE
    assert finding.where.text == "image = load(path)"
    assert finding.cost_share == pytest.approx(0.6, abs=0.01)
    wait, batch = finding.evidence[:2]
    assert wait.value == pytest.approx(0.6, abs=0.01)
    assert batch.value == pytest.approx(0.095)
    assert batch.where is not None
    assert batch.where.line == GENERATOR_LINE


def test_predicts_no_more_than_the_cores_allow():
    # 40 ms of compute on both cores and 95 ms of Python: two cores need 87 ms for all of it; at
    # best the compute takes less than half of that once the generator no longer holds it up.
    finding = detect(run(**SLOW, cpu_cores=1.75))
    assert finding is not None
    assert 1.0 <= finding.gain.low < finding.gain.likely < finding.gain.high
    assert finding.gain.low < 1.2
    assert finding.gain.high < 100 / (0.45 * 40) + 0.01


def test_a_generator_that_waits_gains_by_asking_for_several_items_at_once():
    finding = detect(run(**SLOW, batch_cpu_s=0.005, cpu_cores=0.9))
    assert finding is not None
    assert "waits" in finding.gain.basis
    assert finding.gain.likely > 2


def test_on_a_busy_machine_the_cautious_end_counts_only_the_cores_that_are_left():
    calm, busy = (
        detect(run(**SLOW, cpu_cores=1.0)),
        detect(run(**SLOW, cpu_cores=1.0, other_cores=0.7)),
    )
    assert calm is not None
    assert busy is not None
    assert busy.gain.low < calm.gain.low
    assert busy.gain.high == pytest.approx(calm.gain.high)


def test_workers_are_reported_when_they_are_seen_at_work():
    finding = detect(run(input="pydataset", workers=4, input_wait_s=0.05, with_model=False))
    assert finding is not None
    assert "4 threads" in finding.summary


@pytest.mark.parametrize(
    "given",
    [
        pytest.param({"input": "generator", "batch_s": 0.02}, id="the generator keeps up"),
        pytest.param({"input": "arrays"}, id="arrays"),
        pytest.param({"input": "tf.data", "input_wait_s": 0.06}, id="a slow tf.data pipeline"),
        pytest.param({**SLOW, "batch_s": 0.03}, id="the wait is not the generator's"),
        pytest.param(
            {**SLOW, "batch_cpu_s": 0.02, "other_cores": 1.5, "delay_share": 0.3},
            id="other programs take its core",
        ),
        pytest.param(
            {"input": "pydataset", "workers": 4, "input_wait_s": 0.05, "input_samples": 0},
            id="workers that were never seen at work",
        ),
    ],
)
def test_stays_silent_when(given):
    assert detect(run(**given)) is None


def test_the_fix_says_where_the_generator_is_given_to_fit():
    signals = run(**SLOW)
    finding = detect(signals)
    assert finding is not None
    advice = fix(finding, signals)
    assert advice is not None
    assert f"line {FIT_LINE}" in advice.title
    assert advice.kind is FixClass.EQUIVALENT
    assert "batch(32)" in advice.example
    assert "decode_jpeg" not in advice.example  # nothing on the stacks said images


def test_an_iterator_of_keras_is_placed_where_the_user_made_it():
    given = recording(**{**SLOW, "input": "pydataset"}, input_samples=0)
    image = "/x/site-packages/keras/src/legacy/preprocessing/image.py"
    for row in given.main.tables["py_inputs"]:
        row.update(file=image, line=57, name="DirectoryIterator", made_file=SCRIPT, made_line=2)
    finding = detect(Signals(given))
    assert finding is not None
    assert (finding.where.file, finding.where.line) == (SCRIPT, 2)
    assert finding.evidence[1].where.file == image
