"""How many steps each epoch ran, against how many it was asked for."""

import pytest

from quickfit.signals import Signals
from quickfit.signals.epoch_lengths import EpochLengths, epoch_lengths

from builders import recording


def lengths(*steps, asked=None, is_asked=True):
    return EpochLengths(steps, asked, is_asked, None, None)


def test_the_last_epoch_may_be_ended_by_anybody():
    assert lengths(7, 3, 7, 3, asked=7).short == (3,)
    assert lengths(7, 7, 3, asked=7).short == ()


def test_without_a_number_the_longest_epoch_was_meant():
    assert lengths(9, 2, 0, 9, is_asked=False).short == (2, 0)
    assert lengths().expected == 0


def test_what_was_lost_is_a_share_of_what_was_asked_for():
    assert lengths(7, 3, 7, 3, asked=7).lost_share == pytest.approx(8 / 28)
    assert lengths(8, 8, asked=7).lost_share == 0.0
    assert lengths().lost_share == 0.0


def counted(log_lines=None, **facts):
    made = recording(steps=90, epochs=3)
    made.main.tables["loops"][0]["facts"] |= facts
    if log_lines is not None:
        made.run["log_lines"] = log_lines
    return made


def test_steps_are_counted_by_epoch():
    found = epoch_lengths(Signals(counted(steps_per_epoch=40, data_batches=70)))
    assert found.steps == (30, 30, 30)
    assert (found.asked, found.is_asked, found.data_batches) == (40, True, 70)
    assert found.ran_out is None
    found = epoch_lengths(Signals(counted(data_batches=30)))
    assert (found.asked, found.is_asked) == (30, False)
    assert epoch_lengths(Signals(counted())).asked is None


def test_several_steps_in_one_call_count_as_one():
    found = epoch_lengths(Signals(counted(steps_per_epoch=75, steps_per_execution=10)))
    assert found.asked == 8


def test_epochs_whose_steps_were_merged_are_left_out():
    made = counted(steps_per_epoch=30)
    made.main.tables["steps"] = made.main.tables["steps"][40:]
    made.main.tables["step_blocks"] = [{"loop": 1}]
    assert epoch_lengths(Signals(made)).steps == (30,)


def test_the_log_confirms():
    line = {"pattern": "ran-out-of-data", "count": 2, "first_s": 1.0, "last_s": 2.0}
    made = counted([{**line, "text": "input ran out of data", "numbers": []}])
    assert epoch_lengths(Signals(made)).ran_out == 2
    assert epoch_lengths(Signals(counted([]))).ran_out == 0
