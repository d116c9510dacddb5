"""Readings of GPUs, from a shared object with the symbols of NVIDIA's library."""

import json
import os
import shutil
import subprocess
import sys

import pytest

from quickfit.probes.gpus import GpuReader, is_ours
from quickfit.recording.schema import columns

from launch.sessions import clean_env, python

NVML = """
#include <string.h>
#include <stdlib.h>
typedef unsigned int u; typedef unsigned long long ull;
typedef struct { u gpu, memory; } use; typedef struct { ull total, free, used; } mem;
typedef struct { u pid; ull used; u a, b; } process;
typedef struct { u pid; ull at; u sm, mem, enc, dec; } sample;
static int card;
static u other(void) { return (u)atoi(getenv("OTHER")); }
int nvmlInitWithFlags(u f) { return 0; }
int nvmlDeviceGetCount_v2(u *n) { *n = 1; return 0; }
int nvmlDeviceGetHandleByIndex_v2(u i, void **d) { *d = &card; return 0; }
int nvmlDeviceGetUtilizationRates(void *d, use *r) { r->gpu = 90; r->memory = 10; return 0; }
int nvmlDeviceGetMemoryInfo(void *d, mem *m) { m->total = 1000; m->used = 700; return 0; }
int nvmlDeviceGetClockInfo(void *d, u kind, u *mhz) { *mhz = kind == 1 ? 1400 : 1; return 0; }
int nvmlDeviceGetMaxClockInfo(void *d, u kind, u *mhz) { *mhz = kind == 1 ? 1700 : 1; return 0; }
int nvmlDeviceGetPowerUsage(void *d, u *mw) { *mw = 350500; return 0; }
int nvmlDeviceGetEnforcedPowerLimit(void *d, u *mw) { return 3; /* not supported */ }
int nvmlDeviceGetTemperature(void *d, u sensor, u *c) { *c = 71; return 0; }
int nvmlDeviceGetCurrentClocksThrottleReasons(void *d, ull *mask) { *mask = 0x24; return 0; }
int nvmlDeviceGetTotalEccErrors(void *d, u k, u c, ull *n) { *n = 2; return 0; }
int nvmlDeviceGetComputeRunningProcesses_v3(void *d, u *n, process *p) {
    if (!p) { *n = 2; return 7; }
    memset(p, 0, 2 * sizeof(process));
    p[0].pid = (u)atoi(getenv("OWN")); p[0].used = 100;
    p[1].pid = other(); p[1].used = 500;
    *n = 2;
    return 0;
}
int nvmlDeviceGetProcessUtilization(void *d, sample *s, u *n, ull since) {
    if (!s) { *n = 2; return 7; }
    memset(s, 0, 2 * sizeof(sample));
    s[0].pid = other(); s[0].at = 10; s[0].sm = 5;
    s[1].pid = other(); s[1].at = 20; s[1].sm = 40;
    *n = 2;
    return 0;
}
"""
READ = """
import json, os, types
os.environ["OWN"] = str(os.getpid())
os.environ["OTHER"] = "999999"
from quickfit.probes import gpus
gpus.is_container = lambda: False
rows = []
writer = types.SimpleNamespace(add=lambda *row: rows.append(row))
state = types.SimpleNamespace(loops=[1], writer=writer)
reader = gpus.GpuReader()
reader.read(state)
reader.read(state)
print(json.dumps(rows))
"""


@pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc to make a libnvidia-ml")
def test_a_card_is_read_once_in_a_while_with_all_it_says(tmp_path):
    (tmp_path / "nvml.c").write_text(NVML)
    library = tmp_path / "libnvidia-ml.so.1"
    build = ["gcc", "-shared", "-fPIC", "-o", str(library), str(tmp_path / "nvml.c")]
    subprocess.run(build, check=True)
    done = python(tmp_path, "-c", READ, env=clean_env(LD_LIBRARY_PATH=str(tmp_path)))
    assert done.returncode == 0, done.stderr.decode()
    ((table, row),) = json.loads(done.stdout)
    assert table == "gpus"
    reading = dict(zip([column.name for column in columns("gpus")], row, strict=True))
    del reading["at_s"]
    assert reading == {
        "gpu": 0,
        "busy_share": 0.9,
        "memory_bytes": 700,
        "total_bytes": 1000,
        "clock_hz": 1.4e9,
        "top_clock_hz": 1.7e9,
        "throttle": 0x24,
        "power_w": 350.5,
        "power_limit_w": None,
        "temperature_c": 71.0,
        "other_processes": 1,
        "other_bytes": 500,
        "other_busy_share": 0.4,
        "ecc_errors": 2,
    }


@pytest.mark.skipif(os.path.exists("/proc/driver/nvidia"), reason="this machine has the library")
def test_without_the_library_nothing_is_read(state):
    state.loops = [1]
    GpuReader().read(state)
    assert state.writer.rows("gpus") == []


def test_before_a_loop_the_library_is_not_asked(state, monkeypatch):
    monkeypatch.setattr(GpuReader, "_open", lambda self: pytest.fail("asked"))
    GpuReader().read(state)


def test_processes_of_this_run_are_told_from_others():
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        assert is_ours(child.pid)
        assert is_ours(os.getpid())
        assert is_ours(os.getppid())
        assert not is_ours(2**22 + 1)
    finally:
        child.communicate(b"\n")
