"""A callback's work that grows with the steps."""

import pytest

from drift_runs import EPOCH_HOOK_LINE, GROWN_LINE, drifting, flat, rising
from quickfit.causes.slowdown.growing_callback import detect, fix

N = 600


def test_fires_at_the_line_that_grows():
    signals = drifting(callbacks=rising(0.0005, 0.02, N))
    finding = detect(signals)
    assert finding.where.line == GROWN_LINE
    assert "Log.on_train_batch_end" in finding.summary
    assert len(finding.evidence) == 3
    assert finding.claims == ("callbacks",)
    assert 1 < finding.gain.low < finding.gain.likely < finding.gain.high
    assert finding.gain.high == pytest.approx(28.3 / 12.2, rel=0.1)
    assert "np.mean" in fix(finding, signals).note


def test_fires_on_what_a_callback_does_after_every_epoch():
    finding = detect(drifting(steps=200, epochs=10, after=rising(0.2, 3.0, 10)))
    assert finding.where.line == EPOCH_HOOK_LINE
    assert finding.is_of_whole
    assert "Log.on_epoch_end" in finding.summary


@pytest.mark.parametrize(
    "given",
    [
        pytest.param({}, id="nothing grows"),
        pytest.param({"callbacks": flat(0.02)}, id="slow from the first step on"),
        pytest.param({"input": rising(0.005, 0.04, N)}, id="the generator grows"),
        pytest.param({"call": rising(0.01, 0.04, N)}, id="the step itself grows"),
        pytest.param(
            {"callbacks": flat(0.01), "slower": lambda n: 2.0 if n > 300 else 1.0},
            id="a neighbour came",
        ),
    ],
)
def test_stays_silent_when(given):
    assert detect(drifting(**given)) is None
