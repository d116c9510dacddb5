"""What trains here, in one line, and what that means for 16-bit precision."""

from __future__ import annotations

import sys
from pathlib import Path

from quickfit.tuning.precision.hardware import Hardware, read_cpu, read_hardware

# Where the drivers of accelerators show themselves.
_DRIVERS = (Path("/dev/nvidiactl"), Path("/dev/kfd"), Path("/dev/accel0"), Path("/dev/dxg"))
# A process needs more than it held when it was looked at, and others need some too.
_MARGIN = 1.5
_SHARE = 0.8
# On a GPU each process keeps its own context, and its memory cannot be seen from outside.
_GPU_ROOM = 2
MAX_ROOM = 16


def hardware_here() -> Hardware:
    """Return what can train here; TensorFlow is asked where there may be more than a CPU."""
    if "tensorflow" in sys.modules or any(driver.exists() for driver in _DRIVERS):
        return read_hardware()
    flags, name = read_cpu()
    return Hardware(cpu_flags=flags, cpu=name)


def device_line(hardware: Hardware, cores: int) -> str:
    """Return what trains: `AMD EPYC 7B13, 2 cores, no GPU`."""
    if hardware.gpus or hardware.tpus:
        return f"{hardware.device}; {cores} cores"
    return f"{hardware.device}, {cores} core{'s' * (cores != 1)}, no GPU"


def room_for(peak_bytes: float, hardware: Hardware, free_bytes: float) -> int:
    """Return how many trainings like this fit into memory at once, one that runs already included.

    Args:
        peak_bytes: what one of them takes.
        hardware: that they share.
        free_bytes: what can be had beside the one that runs.
    """
    if hardware.gpus or hardware.tpus:
        return _GPU_ROOM
    more = int(_SHARE * free_bytes / max(_MARGIN * peak_bytes, 1.0))
    return min(1 + more, MAX_ROOM)
