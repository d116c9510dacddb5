"""Memory of a process: its peak, and a limit that is kept."""

import os
import subprocess
import sys

import pytest

from quickfit.tuning.trials import resources
from quickfit.tuning.trials.resources import (
    HeldMemory,
    MemoryWatch,
    OtherLoad,
    machine_busy_s,
    step_bytes,
)


def test_a_process_holds_some_memory_and_its_peak_is_no_less():
    assert 0 < resources.held_bytes() <= resources.peak_bytes() * 1.01


def run(code):
    head = "from quickfit.lab.child_side import limit_memory\n"
    head += "from quickfit.tuning.trials import resources as memory\n"
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
        "limit_memory(100_000_000)\nheld = bytearray(60_000_000); print('fits')\n"
        "more = bytearray(60_000_000)"
    )
    assert ran.stdout == "fits\n"
    assert ran.stderr.strip().endswith("MemoryError")


@pytest.mark.loads_tf
def test_the_outputs_of_all_layers_are_added_up_also_of_inner_models(tf):
    import keras

    inner = keras.Sequential([keras.Input((8,)), keras.layers.Dense(100)])
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(8), inner])
    found = step_bytes(model, 10)
    assert 4 * 10 * (8 + 100) <= found <= 4 * 10 * (4 + 8 + 8 + 2 * 100)
    assert step_bytes(model, 20) == 2 * found


@pytest.mark.loads_tf
def test_a_length_that_is_open_counts_once_and_half_floats_half(tf):
    import keras

    layer = keras.layers.Dense(16, dtype="mixed_bfloat16")
    inputs = keras.Input((None, 4))
    model = keras.Model(inputs, layer(inputs))
    assert step_bytes(model, 10) == 10 * (4 * 4 + 2 * 16)


@pytest.mark.loads_tf
def test_of_a_subclassed_model_nothing_is_known(tf):
    import keras

    class Own(keras.Model):
        def __init__(self):
            super().__init__()
            self.dense = keras.layers.Dense(4)

        def call(self, x):
            return self.dense(x)

    assert step_bytes(Own(), 10) == 0


@pytest.mark.loads_tf
def test_a_layer_that_is_used_twice_has_no_single_output(tf):
    import keras

    dense = keras.layers.Dense(4)
    inputs = keras.Input((4,))
    assert step_bytes(keras.Model(inputs, dense(dense(inputs))), 10) >= 4 * 10 * 4


_CODE = """
from quickfit.lab.child_side import limit_memory
limit_memory(400_000_000)
held = bytearray(300_000_000)
print(flush=True)
input()
"""


def test_one_that_took_most_of_its_limit_is_seen_and_remembered():
    ran = subprocess.Popen(
        [sys.executable, "-c", _CODE], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    ran.stdout.readline()
    holdings = MemoryWatch(ran.pid, 400_000_000)
    holdings.look()
    ran.communicate(b"\n")
    seen = holdings.held
    assert seen.peak_bytes > 300_000_000
    assert 0.7 < seen.limit_share < 0.9
    holdings.look()
    assert holdings.held == seen


def test_without_a_limit_there_is_no_share_of_it():
    holdings = MemoryWatch(os.getpid(), None)
    holdings.look()
    assert holdings.held.peak_bytes > 0
    assert holdings.held.limit_share == 0.0


def test_one_that_is_not_there_holds_nothing():
    holdings = MemoryWatch(2**30, 1000)
    holdings.look()
    assert holdings.held == HeldMemory()


class Counter:
    busy_s = 100.0

    def __call__(self):
        return self.busy_s


def load_with(busy_s, *, wall_s=2.0, own_s=2.0, **kwargs):
    counter = Counter()
    load = OtherLoad(counter, **{"cores": 2, "elsewhere": 0, **kwargs})
    load.begin()
    counter.busy_s += busy_s
    load.end(wall_s=wall_s, own_s=own_s)
    return load


def test_what_others_used_is_what_is_left_of_the_machine():
    load = load_with(4.6)
    assert load.is_busy
    assert load.words == "other programs kept 1.3 of 2 cores busy meanwhile"


def test_a_machine_of_our_own_is_quiet():
    load = load_with(2.1)
    assert not load.is_busy
    assert load.words == "the machine was otherwise quiet"


def test_cores_that_are_not_ours_are_not_in_our_way():
    assert not load_with(22.0, elsewhere=10).is_busy


def test_too_short_a_time_says_nothing():
    load = load_with(1.0, wall_s=0.1, own_s=0.1)
    assert load.other_cores is None
    assert load.words == ""
    assert not load.is_busy


def test_the_counter_of_the_machine_is_read():
    assert machine_busy_s() > 0
