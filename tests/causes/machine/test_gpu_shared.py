"""`gpu-shared`: fires when others compute on a busy card, and not when they only sit there."""

import pytest

from gpu_runs import on_gpu
from quickfit.causes.machine.gpu_shared import detect, fix
from quickfit.errors import SignalMissing
from quickfit.findings import FixClass

OTHERS = {"other_processes": 1, "other_bytes": 12 * 10**9, "other_busy_share": 0.45}


def test_fires_with_what_others_compute_and_how_busy_the_card_is():
    signals = on_gpu(**OTHERS)
    finding = detect(signals)
    assert finding.summary == "another process computes on GPU 0"
    assert [one.value for one in finding.evidence] == [pytest.approx(0.45), pytest.approx(0.95)]
    assert "12 GB" in finding.evidence[0].detail
    assert finding.gain.high == pytest.approx(1 / 0.55)
    assert finding.is_of_machine
    assert fix(finding, signals).kind == FixClass.SHOW_ONLY


@pytest.mark.parametrize(
    "reading",
    [
        pytest.param({}, id="healthy"),
        pytest.param({**OTHERS, "other_busy_share": 0.0}, id="others hold memory only"),
        pytest.param({**OTHERS, "other_busy_share": None}, id="what they compute is not known"),
        pytest.param({**OTHERS, "busy_share": 0.5}, id="time enough for both"),
        pytest.param({"throttle": 0x20, "clock_hz": 1.0e9}, id="the card is hot"),
    ],
)
def test_stays_silent_when(reading):
    assert detect(on_gpu(**reading)) is None


def test_the_card_with_most_of_others_is_named():
    finding = detect(on_gpu(**OTHERS, second={**OTHERS, "other_busy_share": 0.8}))
    assert "GPU 1" in finding.summary


def test_where_a_container_hides_them_it_is_not_checked():
    hidden = dict.fromkeys(("other_processes", "other_bytes", "other_busy_share"))
    with pytest.raises(SignalMissing, match="list of processes"):
        detect(on_gpu(**hidden))
