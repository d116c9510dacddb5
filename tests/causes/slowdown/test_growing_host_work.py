"""Code between the steps whose work grows."""

import pytest

from drift_runs import AFTER_LINE, HOST_LINE, drifting, flat, rising
from quickfit.causes.slowdown.growing_host_work import detect, fix

N = 600
LOOP = {"kind": "custom"}


def test_fires_at_the_line_that_grows():
    signals = drifting(between=rising(0.0005, 0.02, N), **LOOP)
    finding = detect(signals)
    assert finding.where.line == HOST_LINE
    assert finding.claims[0] == "between"
    assert len(finding.evidence) == 3
    assert "np.append" in fix(finding, signals).note


def test_fires_on_what_the_script_does_between_epochs():
    finding = detect(drifting(steps=200, epochs=10, after=rising(0.2, 3.0, 10), **LOOP))
    assert finding.where.line == AFTER_LINE
    assert finding.is_of_whole


@pytest.mark.parametrize(
    "given",
    [
        pytest.param({}, id="nothing grows"),
        pytest.param({"between": flat(0.02)}, id="slow from the first step on"),
        pytest.param({"call": rising(0.01, 0.04, N)}, id="the step itself grows"),
        pytest.param(
            {"between": rising(0.015, 0.06, N), "call": rising(0.01, 0.04, N)},
            id="everything grows alike",
        ),
        pytest.param(
            {"between": flat(0.01), "slower": lambda n: 2.0 if n > 300 else 1.0},
            id="a neighbour came",
        ),
    ],
)
def test_stays_silent_when(given):
    assert detect(drifting(**given, **LOOP)) is None


def test_stays_silent_when_the_copies_into_tensors_grow():
    signals = drifting(between=rising(0.0005, 0.02, N), **LOOP)
    signals.process.tables["copies"] = [
        {"loop": 1, "steps": 4, "bytes": size} for size in (4_000, 9_000, 16_000)
    ]
    assert detect(signals) is None
