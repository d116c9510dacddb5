"""A variable or tensor that grows, and a step that computes with all of it."""

import pytest

from drift_runs import LOOP_LINE, SCRIPT, START_S, drifting, flat, rising
from quickfit.causes import catalogue
from quickfit.causes.slowdown import growing_host_work
from quickfit.causes.slowdown.growing_state import detect

fix = catalogue()["growing-state"].fix

N = 600
LOOP = {"kind": "custom"}
SLOWER = {"call": rising(0.01, 0.04, N), **LOOP}
HISTORY_LINE = 18  # `history = np.append(history, x)`


def looked(signals, *sizes, name="history", kind="tensor"):
    """Return the run with looks at a name, two seconds apart."""
    signals.process.tables["holders"] = [
        {
            "at_s": START_S + 2 * (place + 1),
            "names": [[SCRIPT, "", name]],
            "kind": kind,
            "items": 1,
            "bytes": size,
            "bound": None,
            "content": f"{kind}s",
        }
        for place, size in enumerate(sizes)
    ]
    return signals


@pytest.mark.parametrize("kind", ["variable", "tensor", "array"])
def test_fires_at_the_line_that_adds_to_it(kind):
    signals = looked(drifting(**SLOWER), 200_000, 800_000, 2_000_000, kind=kind)
    finding = detect(signals)
    assert "`history`" in finding.summary
    assert finding.where.line == HISTORY_LINE
    assert [one.unit for one in finding.evidence] == ["s", "share", "bytes"]
    assert "200 kB at first, 2.0 MB at last" in finding.evidence[2].detail
    assert finding.gain.likely > 1.5
    assert "fixed size" in fix(finding, signals).title


def test_where_no_line_adds_to_it_the_loop_is_shown():
    signals = looked(drifting(**SLOWER), 200_000, 2_000_000, name="bank")
    assert detect(signals).where.line == LOOP_LINE


def test_only_one_cause_says_it():
    signals = looked(drifting(**SLOWER), 200_000, 2_000_000)
    assert growing_host_work.detect(signals) is None


@pytest.mark.parametrize(
    ("given", "sizes"),
    [
        pytest.param({"call": flat(0.01)}, (200_000, 2_000_000), id="steps are as fast as ever"),
        pytest.param({}, (), id="nothing was looked at"),
        pytest.param({}, (2_000_000,), id="one look tells no growth"),
        pytest.param({}, (2_000_000, 2_000_000), id="it stays as it is"),
        pytest.param({}, (2_000_000, 2_100_000), id="it hardly grows"),
        pytest.param({}, (200_000, 2_000_000, 100_000, 900_000), id="it comes and goes"),
        pytest.param(
            {"kind": "fit", "batch_bytes": rising(1000, 3000, N)},
            (200_000, 2_000_000),
            id="larger batches",
        ),
        pytest.param(
            {"call": flat(0.01), "between": rising(0.0005, 0.02, N)},
            (200_000, 2_000_000),
            id="what grows is beside the step",
        ),
    ],
)
def test_stays_silent_when(given, sizes):
    assert detect(looked(drifting(**{**SLOWER, **given}), *sizes)) is None


def test_a_list_has_a_cause_of_its_own():
    assert detect(looked(drifting(**SLOWER), 200_000, 2_000_000, kind="list")) is None


def test_stays_silent_when_the_copies_into_tensors_grow():
    signals = looked(drifting(**SLOWER), 200_000, 2_000_000)
    signals.process.tables["copies"] = [
        {"loop": 1, "steps": 4, "bytes": size} for size in (4_000, 9_000, 16_000)
    ]
    assert detect(signals) is None
