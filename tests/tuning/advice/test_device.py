"""What trains here, in a line, and how many trainings fit into memory at once."""

import pytest

from quickfit.tuning.advice.device import MAX_ROOM, device_line, hardware_here, room_for
from quickfit.tuning.precision.hardware import Gpu, Hardware

CPU = Hardware(cpu_flags=frozenset({"avx2"}), cpu="AMD EPYC")
GPU = Hardware(gpus=(Gpu("NVIDIA T4", (7, 5)),))


def test_the_line_names_what_trains():
    assert device_line(CPU, 2) == "AMD EPYC, 2 cores, no GPU"
    assert device_line(CPU, 1) == "AMD EPYC, 1 core, no GPU"
    assert device_line(GPU, 8) == "NVIDIA T4 (compute capability 7.5); 8 cores"


@pytest.mark.parametrize(
    ("peak", "free", "room"),
    [(1e9, 24e9, 13), (1e9, 2e9, 2), (4e9, 5e9, 1), (1e6, 64e9, MAX_ROOM), (0, 64e9, MAX_ROOM)],
)
def test_memory_limits_how_many_run_at_once(peak, free, room):
    assert room_for(peak, CPU, free) == room


def test_a_gpu_holds_two():
    assert room_for(1e9, GPU, 64e9) == 2


def test_this_machine_has_a_name():
    assert hardware_here().device
