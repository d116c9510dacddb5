"""`gpu-oom-fragmentation`: what the allocator says of itself; readings and lines made up."""

import pytest

from memory_runs import memory_run
from quickfit.causes import catalogue
from quickfit.causes.memory.gpu_oom_fragmentation import detect
from quickfit.errors import SignalMissing

from builders import START_S

fix = catalogue()["gpu-oom-fragmentation"].fix

GPU = {"tensorflow_devices": [["GPU", "/physical_device:GPU:0"]]}
CLEANED = "Garbage collection: deallocate free memory regions (i.e., allocations) so that we can"
FAILED = "Allocator (GPU_0_bfc) ran out of memory trying to allocate 2.27GiB"


def gpu(*lines, used=(3e9, 3e9), peak=7e9, facts=GPU):
    signals = memory_run(facts=facts, run={"exit_code": 1, "signal": None})
    signals.recording.main.tables["device_memory"] = [
        {"device": "GPU:0", "at_s": START_S + 5 + at, "bytes": int(b), "peak_bytes": int(peak)}
        for at, b in enumerate(used)
    ]
    signals.recording.run["log_lines"] = [
        {"pattern": name, "count": count, "first_s": START_S, "last_s": START_S + 9, "text": text,
         "numbers": []}
        for name, count, text in lines
    ]  # fmt: skip
    return signals


def test_fires_when_it_fails_although_memory_is_free():
    finding = detect(gpu(("out-of-memory", 1, FAILED)))
    assert "in pieces" in finding.summary
    assert finding.exhaustion.in_s == 0
    assert [fact.value for fact in finding.evidence] == [7e9, 3e9, 1]
    assert "cuda_malloc_async" in fix(finding, gpu()).example


def test_fires_when_it_cleans_up_again_and_again():
    finding = detect(gpu(("gc-allocator", 12, CLEANED), used=(6e9, 6.9e9)))
    assert "nearly full" in finding.summary


def test_full_memory_is_called_full():
    assert "is full" in detect(gpu(("out-of-memory", 1, FAILED), used=(6e9, 6.9e9))).summary


@pytest.mark.parametrize(
    "signals",
    [
        pytest.param(gpu(), id="healthy"),
        pytest.param(gpu(("gc-allocator", 1, CLEANED)), id="it cleaned up once"),
        pytest.param(gpu(("out-of-memory", 1, FAILED), facts={}), id="no GPU"),
    ],
)
def test_stays_silent_when(signals):
    assert detect(signals) is None


def test_without_statistics_or_the_log_it_is_not_checked():
    signals = gpu(("out-of-memory", 1, FAILED))
    signals.recording.main.tables["device_memory"] = []
    with pytest.raises(SignalMissing, match="statistics"):
        detect(signals)
    signals = gpu()
    del signals.recording.run["log_lines"]
    with pytest.raises(SignalMissing, match="log"):
        detect(signals)
