"""Input code whose work grows with the batches."""

import pytest

from drift_runs import GENERATOR_LINE, drifting, flat, rising
from quickfit.causes.slowdown.growing_generator import detect, fix

N = 600


@pytest.mark.parametrize("sleeps", [False, True])
def test_fires_at_the_line_that_grows(sleeps):
    signals = drifting(input=rising(0.005, 0.04, N), sleeps=sleeps)
    finding = detect(signals)
    assert finding.where.line == GENERATOR_LINE
    assert "`batches`" in finding.summary
    assert ("without using the CPU" in finding.evidence[1].detail) is sleeps
    assert finding.claims[0] == "input_wait"
    assert "sorted(seen)" in fix(finding, signals).note


@pytest.mark.parametrize(
    "given",
    [
        pytest.param({"input": flat(0.02)}, id="slow from the first batch on"),
        pytest.param({"input": rising(0.001, 0.008, N)}, id="hidden behind the step"),
        pytest.param(
            {
                "input": rising(0.015, 0.06, N),
                "call": rising(0.010, 0.040, N),
                "batch_bytes": rising(1000, 4000, N),
            },
            id="the batches grow",
        ),
        pytest.param({"callbacks": rising(0.001, 0.02, N)}, id="the callback grows"),
        pytest.param(
            {"input": flat(0.02), "slower": lambda n: 1 + n / N}, id="the machine gets busier"
        ),
    ],
)
def test_stays_silent_when(given):
    assert detect(drifting(**given)) is None
