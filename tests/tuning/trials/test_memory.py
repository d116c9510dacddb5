"""Memory of a process: its peak, and a limit that is kept."""

import subprocess
import sys

from quickfit.tuning.trials import memory


def test_a_process_holds_some_memory_and_its_peak_is_no_less():
    assert 0 < memory.held_bytes() <= memory.peak_bytes() * 1.01


def run(code):
    head = "from quickfit.tuning.trials import memory\n"
    return subprocess.run(
        [sys.executable, "-c", head + code], capture_output=True, text=True, check=False
    )


def test_the_peak_is_looked_for_anew():
    ran = run(
        "held = bytearray(200_000_000); del held; before = memory.peak_bytes()\n"
        "memory.forget_peak(); print(before - memory.peak_bytes() > 150_000_000)"
    )
    assert ran.stdout == "True\n"


def test_memory_can_grow_to_the_limit_and_not_beyond():
    ran = run(
        "memory.limit_growth(100_000_000)\nheld = bytearray(60_000_000); print('fits')\n"
        "more = bytearray(60_000_000)"
    )
    assert ran.stdout == "fits\n"
    assert ran.stderr.strip().endswith("MemoryError")
