"""Time in the garbage collector, from looks that leave nothing behind."""

import gc
import os
import signal

import pytest

from quickfit.probes import collector
from quickfit.probes.collector import Collector


@pytest.fixture(autouse=True)
def clean():
    """No entry of ours is in the list before and after a test."""
    before = list(gc.callbacks)
    yield
    collector._remove_all()
    assert gc.callbacks == before


def test_full_collections_are_counted_and_timed():
    read = Collector()
    full, seconds = read.read()
    assert seconds is None, "nothing was looked at yet"
    gc.collect()
    gc.collect()
    later, seconds = read.read()
    assert later == full + 2
    assert seconds > 0


def test_collections_outside_a_look_are_estimated_from_those_inside():
    read = Collector()
    read.read()
    gc.collect()
    _, inside = read.read()
    gc.collect()
    gc.collect()
    _, seconds = read.read()
    assert seconds == pytest.approx(3 * read._seen_s[2], rel=0.5)
    assert seconds > inside


def test_a_look_is_open_once_in_ten_readings():
    before = len(gc.callbacks)
    read = Collector()
    opened = []
    for _ in range(20):
        read.read()
        opened.append(len(gc.callbacks) - before)
    assert opened == [1, *(0,) * 9, 1, *(0,) * 9]


def test_a_look_waits_for_the_first_full_collection_but_not_for_ever():
    read = Collector()
    read._pending[2] = 1
    before = len(gc.callbacks)
    read.read()
    gc.disable()
    try:
        for _ in range(collector.MAX_LOOK - 1):
            read.read()
            assert len(gc.callbacks) == before + 1
        read.read()
    finally:
        gc.enable()
    assert len(gc.callbacks) == before


def test_a_script_that_empties_the_list_does_no_harm():
    kept = list(gc.callbacks)
    read = Collector()
    read.read()
    gc.callbacks.clear()
    try:
        read.read()
    finally:
        gc.callbacks[:] = kept


def test_a_look_that_missed_a_beginning_is_not_believed():
    read = Collector()
    read._learn([0.5], [0, 0, 2])
    assert read.total_s is None


def test_the_longest_collections_are_taken_for_the_full_ones():
    read = Collector()
    read._learn([0.5, 0.001, 0.02, 0.002], [2, 1, 1])
    assert read._seen_s == [pytest.approx(0.003), 0.02, 0.5]


def test_a_signal_during_a_collection_reaches_the_script():
    class Interrupts:
        def __init__(self):
            self.myself = self

        def __del__(self):
            os.kill(os.getpid(), signal.SIGUSR1)

    heard = []
    before = signal.signal(signal.SIGUSR1, lambda *args: heard.append(gc.callbacks[-1]))
    read = Collector()
    read.read()
    try:
        Interrupts()
        gc.collect()
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert len(heard) == 1
    read.read()


def test_a_forked_child_has_no_entry():
    Collector().read()
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(write_end, str(len(collector._looks)).encode())
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(read_end, 10) == b"0"
    os.close(read_end)
    os.close(write_end)


def test_nothing_is_added_to_the_collectors_callbacks_before_a_loop_begins():
    read = Collector()
    before = list(gc.callbacks)
    read.read(may_look=False)
    assert gc.callbacks == before
    read.read()
    assert len(gc.callbacks) == len(before) + 1
    read.read()
    assert gc.callbacks == before
