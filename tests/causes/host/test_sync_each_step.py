"""`sync-each-step`: fires when Python between the calls of a loop works on metrics."""

import pytest

from hand_runs import COMPILED_CALL, FETCH, METRIC, hand_run
from quickfit.causes.host.sync_each_step import detect, fix
from quickfit.errors import SignalMissing
from quickfit.findings import FixClass

from builders import run

HEAD, LINE = 30, 33
STEP = ((COMPILED_CALL,), 31, 30)
READS = ((METRIC,), LINE, 40)


def loop(**given):
    facts = {"input": "tf.data", "head": "next", **given.pop("facts", {})}
    return hand_run(
        given.pop("kind", "custom"),
        **{
            "stacks": [STEP, READS, ((FETCH,), 34, 10)],
            "call_s": 0.05,
            "wait_s": 0.01,
            "facts": facts,
            **given,
        },
    )


def test_fires_at_the_line_that_works_on_metrics():
    finding = detect(loop())
    assert finding is not None
    assert finding.where is not None
    assert finding.where.line == LINE
    assert finding.evidence[0].value == pytest.approx(0.04, rel=0.01)
    assert finding.evidence[1].value == 1.0
    assert finding.gain.likely == pytest.approx(0.1 / (0.1 - 0.92 * 0.04), rel=0.02)


def test_the_end_of_an_iterator_at_the_loop_is_nobodys_metric():
    finding = detect(loop(stacks=[STEP, READS, ((), HEAD, 100)]))
    assert finding is not None
    assert finding.evidence[1].value == 1.0


@pytest.mark.parametrize(
    "given",
    [
        pytest.param({"call_s": 0.085}, id="little time between the calls"),
        pytest.param({"stacks": [STEP, ((), 33, 60), ((FETCH,), 34, 2)]}, id="other Python"),
        pytest.param({"facts": {"eager_loop": True}}, id="the whole step is eager"),
        pytest.param({"kind": "fit"}, id="fit"),
        pytest.param(
            {
                "stacks": [STEP, ((FETCH,), 34, 50)],
                "base": {"facts": {"tensorflow_devices": [["GPU", "/physical_device:GPU:0"]]}},
            },
            id="a fetch that waits for an accelerator",
        ),
    ],
)
def test_stays_silent_when(given):
    assert detect(loop(**given)) is None


def test_stays_silent_on_a_healthy_fit():
    assert detect(run()) is None


def test_says_that_it_could_not_look_when_hardly_a_sample_was_taken():
    with pytest.raises(SignalMissing, match="samples"):
        detect(loop(stacks=[STEP]))


def test_the_fix_shows_metrics_in_the_compiled_step():
    signals = loop()
    finding = detect(signals)
    assert finding is not None
    shown = fix(finding, signals)
    assert shown is not None
    assert shown.kind == FixClass.SAME_RESULTS
    assert shown.example.startswith("@tf.function\ndef train_step(images, labels):")
