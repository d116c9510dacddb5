"""A clock that falls while steps get slower."""

import pytest

from drift_runs import drifting, flat, rising
from quickfit.causes.slowdown.thermal_throttle import detect, fix
from quickfit.errors import SignalMissing

N = 600


def with_clock(signals, of_place):
    """Add a reading of the clock beside every reading of the machine."""
    places = [place for place, _ in signals.drift.series["others"]]
    signals.drift.series["clock"] = [(place, of_place(place)) for place in places]
    return signals


def test_fires_when_the_clock_falls_as_steps_get_longer():
    signals = with_clock(drifting(call=rising(0.010, 0.014, N)), lambda at: 4e9 - 1.3e9 * at / N)
    finding = detect(signals)
    assert finding.is_of_machine
    assert finding.gain.likely > 1.1
    assert finding.evidence[0].value == pytest.approx(0.27, abs=0.05)
    assert "air" in fix(finding, signals).title


@pytest.mark.parametrize(
    ("given", "clock"),
    [
        pytest.param({"call": rising(0.010, 0.014, N)}, lambda at: 4e9, id="the clock stays"),
        pytest.param({}, lambda at: 4e9 - 1e9 * at / N, id="steps stay the same"),
        pytest.param(
            {"call": flat(0.01), "callbacks": rising(0.001, 0.02, N)},
            lambda at: 4e9 - 1e9 * at / N,
            id="a callback grows",
        ),
        pytest.param(
            {"call": rising(0.010, 0.080, N)},
            lambda at: 4e9 - 0.6e9 * at / N,
            id="it is too little",
        ),
        pytest.param(
            {"slower": lambda n: 1 + n / N}, lambda at: 4e9 - 1.5e9 * at / N, id="others came"
        ),
    ],
)
def test_stays_silent_when(given, clock):
    assert detect(with_clock(drifting(**given), clock)) is None


def test_is_not_checked_where_the_clock_is_not_recorded():
    with pytest.raises(SignalMissing):
        detect(drifting(call=rising(0.010, 0.014, N)))
