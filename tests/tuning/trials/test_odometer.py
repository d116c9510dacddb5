"""Steps and samples are counted rightly where epochs end and calls are cut short."""

import pytest

from quickfit.tuning.trials.odometer import Odometer, Pace, Travelled


class Tracker:
    """Counts samples as Keras's tracker of the loss does."""

    def __init__(self):
        self.count = 0.0

    def __call__(self):
        return self.count


def epoch(odometer, tracker, counts, *, ends=True):
    """Let calls feed so many samples each, as one epoch."""
    tracker.count = 0.0
    for samples in counts:
        tracker.count += samples
        odometer.call()
    if ends:
        odometer.end_epoch()


def test_full_batches_are_counted():
    tracker = Tracker()
    odometer = Odometer(Pace(32, 1, 96), tracker)
    epoch(odometer, tracker, [32, 32, 32])
    assert odometer.read() == Travelled(3, 96)


def test_the_smaller_last_batch_of_each_epoch_counts_for_what_it_is():
    tracker = Tracker()
    odometer = Odometer(Pace(32, 1, None), tracker)
    epoch(odometer, tracker, [32, 32, 5])
    epoch(odometer, tracker, [32, 32, 5])
    epoch(odometer, tracker, [32], ends=False)
    assert odometer.read() == Travelled(7, 170)


def test_the_call_that_is_cut_short_by_the_end_counts_for_what_it_is():
    tracker = Tracker()
    odometer = Odometer(Pace(32, 8, None), tracker)
    epoch(odometer, tracker, [256, 2 * 32 + 5])
    assert odometer.read() == Travelled(11, 325)


@pytest.mark.parametrize("told", [0.0, 3.0, 10_000.0])
def test_where_the_tracker_tells_no_samples_calls_are_counted(told):
    tracker = Tracker()
    odometer = Odometer(Pace(32, 1, None), tracker)
    epoch(odometer, tracker, [told, 0, 0])
    assert odometer.read() == Travelled(3, 96)


def test_calls_are_never_more_than_the_epoch_has():
    odometer = Odometer(Pace(32, 8, 325), Tracker())
    odometer.call()
    odometer.call()
    assert odometer.read() == Travelled(11, 325)


def test_batches_of_one_are_counted():
    tracker = Tracker()
    odometer = Odometer(Pace(1, 1, None), tracker)
    epoch(odometer, tracker, [1, 1, 1])
    assert odometer.read() == Travelled(3, 3)


def test_nothing_is_nothing():
    odometer = Odometer(Pace(32, 8, None), Tracker())
    assert odometer.read() == Travelled(0, 0)
    assert odometer.is_idle


def test_the_way_between_two_readings():
    assert Travelled(10, 320).since(Travelled(4, 128)) == Travelled(6, 192)
