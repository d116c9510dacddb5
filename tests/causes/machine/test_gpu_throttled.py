"""`gpu-throttled`: fires on a low clock for which the driver gives a reason, and on both only."""

import pytest

from gpu_runs import on_gpu
from quickfit.causes.machine.gpu_throttled import detect, fix
from quickfit.errors import SignalMissing
from quickfit.findings import FixClass

HOT, BRAKE, POWER, SET_LOWER = 0x20, 0x80, 0x04, 0x02


@pytest.mark.parametrize(
    ("mask", "clock_hz", "why"),
    [
        (HOT, 1.40e9, "it is hot"),
        (HOT | POWER, 1.40e9, "it is hot"),
        (BRAKE, 0.90e9, "protected"),
        (POWER, 1.20e9, "limit of power"),
    ],
)
def test_fires_with_the_reason_of_the_driver(mask, clock_hz, why):
    signals = on_gpu(throttle=mask, clock_hz=clock_hz)
    finding = detect(signals)
    assert why in finding.summary
    assert [one.value for one in finding.evidence] == [pytest.approx(1 - clock_hz / 1.75e9), 1.0]
    assert finding.gain.high == pytest.approx(1.75e9 / clock_hz)
    assert finding.is_of_machine
    assert fix(finding, signals).kind == FixClass.SHOW_ONLY


@pytest.mark.parametrize(
    "reading",
    [
        pytest.param({}, id="healthy"),
        pytest.param({"throttle": HOT}, id="hot, and as fast as ever"),
        pytest.param({"clock_hz": 1.2e9}, id="a low clock without a reason"),
        pytest.param({"clock_hz": 1.2e9, "throttle": SET_LOWER}, id="set lower on purpose"),
        pytest.param({"clock_hz": 1.5e9, "throttle": POWER}, id="the usual limit of power"),
        pytest.param({"clock_hz": 0.3e9, "throttle": HOT, "busy_share": 0.1}, id="idle"),
        pytest.param({"clock_hz": None, "throttle": HOT}, id="no clock"),
        pytest.param({"clock_hz": 1.2e9, "throttle": None}, id="no reasons"),
        pytest.param({"other_processes": 2, "other_busy_share": 0.6}, id="shared with others"),
    ],
)
def test_stays_silent_when(reading):
    assert detect(on_gpu(**reading)) is None


def test_the_slowest_of_several_cards_is_named():
    finding = detect(on_gpu(second={"throttle": HOT, "clock_hz": 1.0e9}))
    assert finding.summary.startswith("GPU 1 ")


@pytest.mark.parametrize("readings", [0, 2])
def test_without_readings_it_is_not_checked(readings):
    with pytest.raises(SignalMissing, match="readings of a GPU"):
        detect(on_gpu(readings=readings, throttle=HOT, clock_hz=1.0e9))
