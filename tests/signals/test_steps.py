"""Step times: warm-up is dropped, epochs are told apart, and totals add up."""

import pytest

from quickfit.signals.steps import steps_of_loop


def rows(times, per_epoch=1000):
    """Return rows of steps that follow each other without a gap."""
    at_s, result = 10.0, []
    for index, step_s in enumerate(times):
        result.append(
            {
                "loop": 1,
                "epoch": index // per_epoch + 1,
                "step": index + 1,
                "begin_s": at_s,
                "call_s": step_s * 0.9,
                "logs_s": None,
                "callbacks_s": step_s * 0.1,
                "callbacks_cpu_s": 0.0,
                "end_s": at_s + step_s,
                "cpu_s": 0.001,
                "wait_s": None,
            }
        )
        at_s += step_s
    return result


def test_the_first_five_steps_are_dropped():
    steps = steps_of_loop(rows([9.0] + [0.1] * 29), 1)
    assert steps is not None
    assert steps.warmup == 5
    assert len(steps.steps) == 25
    assert steps.mean_s == pytest.approx(0.1)


def test_a_long_warm_up_is_dropped_until_it_calms_down():
    steps = steps_of_loop(rows([1.0] * 9 + [0.1] * 51), 1)
    assert steps is not None
    assert steps.warmup == 9


def test_a_slow_start_of_an_epoch_is_a_cost_and_not_a_warm_up():
    steps = steps_of_loop(rows([0.1] * 5 + [1.0] + [0.1] * 30, per_epoch=5), 1)
    assert steps is not None
    assert steps.warmup == 5
    assert steps.steps[0].cycle_s == pytest.approx(1.0)


def test_the_time_between_epochs_belongs_to_no_step():
    made = rows([0.1] * 40, per_epoch=20)
    for row in made[20:]:
        row["begin_s"] += 5.0
        row["end_s"] += 5.0
    steps = steps_of_loop(made, 1)
    assert steps is not None
    assert steps.total_s == pytest.approx(3.5)


def test_steps_of_another_loop_do_not_count():
    assert steps_of_loop(rows([0.1] * 30), 2) is None


def test_the_steps_before_a_moment_are_found():
    steps = steps_of_loop(rows([0.1] * 30), 1)
    assert steps is not None
    recent = steps.before(12.05, 3)
    assert [step.number for step in recent] == [18, 19, 20]
    assert len(steps.before(0.0, 3)) == 0


def test_a_part_that_was_not_measured_is_left_out_of_its_mean():
    made = rows([0.1] * 30)
    for index, row in enumerate(made):
        row["callbacks_s"] = None
        row["wait_s"] = 0.02 if index % 2 else None
        row["logs_s"] = 0.01
    steps = steps_of_loop(made, 1)
    assert steps is not None
    assert steps.mean_of("wait_s") == pytest.approx(0.02)
    assert steps.mean_of("logs_s") == pytest.approx(0.01)
    assert steps.mean_of("callbacks_s") == 0.0
    assert {step.callbacks_s for step in steps.steps} == {None}


def test_steps_whose_call_was_not_measured_have_their_times_all_the_same():
    """A loop inside a compiled function tells only how often its optimizer has counted."""
    made = rows([9.0] + [0.1] * 29)
    for row in made:
        row.update(call_s=None, logs_s=None, callbacks_s=None, callbacks_cpu_s=None, cpu_s=None)
    steps = steps_of_loop(made, 1)
    assert steps is not None
    assert (steps.warmup, steps.mean_s) == (5, pytest.approx(0.1))
    assert steps.mean_of("call_s") == 0.0


def test_a_recording_without_the_column_of_waits_has_none():
    made = rows([0.1] * 30)
    for row in made:
        del row["wait_s"]
    steps = steps_of_loop(made, 1)
    assert steps is not None
    assert {step.wait_s for step in steps.steps} == {None}


@pytest.mark.parametrize(("steps", "left"), [(30, 25), (25, 20), (10, 8), (3, 2), (2, 1), (1, 1)])
def test_of_a_short_training_a_fifth_and_its_first_step_are_left_out(steps, left):
    found = steps_of_loop(rows([0.1] * steps), 1)
    assert found is not None
    assert len(found.steps) == left


def test_the_cpu_time_of_validation_is_no_part_of_a_step():
    given = rows([0.5] * 12, per_epoch=6)
    given[6]["cpu_s"] = 5.0  # counted from the last step before validation
    steps = steps_of_loop(given, 1)
    assert steps is not None
    assert steps.mean_of("cpu_s") == pytest.approx(0.001)


def test_where_every_step_is_an_epoch_its_cpu_time_is_at_most_its_time():
    given = rows([0.5] * 12, per_epoch=1)
    for row in given:
        row["cpu_s"] = 5.0
    steps = steps_of_loop(given, 1)
    assert steps is not None
    assert steps.mean_of("cpu_s") == pytest.approx(0.5)
