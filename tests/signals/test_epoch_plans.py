"""What is left of the first epoch."""

from memory_runs import memory_run
from quickfit.signals.epoch_plans import first_epoch_left, planned_steps


def planned(steps, **given):
    signals = memory_run(seconds=20, **given)
    signals.recording.main.tables["loops"][0]["facts"] |= {"steps": steps}
    return signals


def test_steps_left_of_the_first_epoch():
    assert first_epoch_left(planned(500)) == 300
    assert first_epoch_left(planned(150)) == 0


def test_a_second_epoch_or_no_plan_leaves_nothing_to_tell():
    assert first_epoch_left(planned(500, epochs=2)) is None
    assert first_epoch_left(planned(None)) is None


def test_one_call_of_many_steps_counts_as_one():
    signals = planned(500)
    signals.recording.main.tables["loops"][0]["facts"]["steps_per_execution"] = 8
    assert planned_steps(signals) == 63
