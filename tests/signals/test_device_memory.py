"""The memory of the fullest GPU."""

import pytest

from memory_runs import LOOP, memory_run
from quickfit.causes.memory.tensor_list_growth import detect
from quickfit.signals.device_memory import device_leak, device_memory

from builders import START_S


def row(device, used, peak):
    return {"device": device, "at_s": 1000.0, "bytes": used, "peak_bytes": peak}


def test_the_fullest_device_is_told():
    signals = memory_run()
    signals.recording.main.tables["device_memory"] = [
        *(row("GPU:0", 5, 9), row("GPU:0", 7, 12)),
        *(row("GPU:1", 5, None), row("GPU:1", 6, None)),
    ]
    found = device_memory(signals)
    assert (found.device, found.bytes, found.peak_bytes, found.grown) == ("GPU:0", 7, 12, 2)


def test_without_readings_there_is_none():
    assert device_memory(memory_run()) is None


def growing(per_s, **given):
    signals = memory_run(source=LOOP, objects={"tensors": (50, 250)}, **given)
    signals.recording.main.tables["device_memory"] = [
        {"device": "GPU:0", "at_s": START_S + at_s, "bytes": int(1e9 + per_s * at_s),
         "peak_bytes": None}
        for at_s in range(2, 42, 2)
    ]  # fmt: skip
    return signals


def test_tensors_that_are_kept_on_a_gpu_are_told_although_the_machine_has_memory():
    finding = detect(growing(2e6))
    assert finding.exhaustion.what == "GPU memory"
    assert finding.exhaustion.each == pytest.approx(2e5, rel=0.05)
    assert finding.exhaustion.in_s is None


def test_flat_memory_of_a_gpu_is_no_leak():
    assert device_leak(growing(1e4)) is None
    assert detect(growing(1e4)) is None
