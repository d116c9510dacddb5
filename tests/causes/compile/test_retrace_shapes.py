"""`retrace-shapes`: fires when traces differ in nothing but shapes and take their time."""

import pytest

from quickfit.causes.compile.retrace_shapes import detect

from builders import run

STEP_S = 0.1


def traces(count, seconds=0.05, signature="x: TensorSpec(shape=(16, {n}), dtype=tf.float32)"):
    """Return a trace in every fifth step, each with its own number in the signature."""
    return tuple((20 + 5 * n, seconds, signature.format(n=n + 3)) for n in range(count))


def slowed(given):
    """Make the steps that trace longer, as they are."""
    signals = run(**given)
    rows = signals.recording.main.tables["steps"]
    late_s = 0.0
    traced = {index for index, _, _ in given["traces"]}
    for index, row in enumerate(rows):
        row["begin_s"] += late_s
        if index in traced:
            late_s += 0.25
            row["call_s"] += 0.25
        row["end_s"] += late_s
    for trace, index in zip(signals.recording.main.tables["traces"], sorted(traced), strict=True):
        trace["at_s"] = rows[index]["begin_s"] + 0.2
    return signals


def test_fires_at_the_call_with_its_traces_counted():
    finding = detect(slowed({"traces": traces(12), "step_s": STEP_S}))
    assert finding is not None
    assert finding.where is not None
    assert finding.where.line == 30
    assert finding.evidence[0].where is not None
    assert finding.evidence[0].where.line == 20
    assert finding.evidence[0].value == 12
    assert finding.evidence[2].value == pytest.approx(3.5, rel=0.05)
    # Twelve times 250 ms of a hundred steps of 100 ms and those: setting up counts as well.
    assert finding.cost_share == pytest.approx(3.0 / 13.0, rel=0.05)


@pytest.mark.parametrize(
    "given",
    [
        pytest.param({"traces": traces(2)}, id="a first and a last batch"),
        pytest.param(
            {"traces": traces(12, signature="n: Literal[{n}], x: TensorSpec(shape=(16,))")},
            id="Python values differ",
        ),
        pytest.param(
            {"traces": traces(12, signature="x: TensorSpec(shape=(16, 8), dtype=tf.float32)")},
            id="the shape is always the same",
        ),
    ],
)
def test_stays_silent_when(given):
    assert detect(slowed({**given, "step_s": STEP_S})) is None


def test_stays_silent_when_traces_are_quick():
    assert detect(run(traces=traces(12, seconds=0.0005))) is None
