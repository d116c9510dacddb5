"""Step times: warm-up is dropped, epochs are told apart, and totals add up."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quickfit.recording.reader import ProcessRecording
from quickfit.signals.loops import Epoch, Loop, loops_of
from quickfit.signals.steps import (
    WARMUP_STEPS,
    WholeTime,
    after_warmup,
    calls_s,
    copies_per_step_s,
    every_step_of_loop,
    steps_of_loop,
    whole_time,
)


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


STEP_S, PER_EPOCH = 0.5, 10
BETWEEN = (
    "validation_s",
    "epoch_callbacks_s",
    "saves_s",
    "epoch_ends_s",
    "calls_s",
    "iterator_ends_s",
)


class Run:
    """A run whose epochs are separated by what a test puts between them."""

    def __init__(self, *, kind="fit", epochs=3, step_s=STEP_S, before_s=0.0, after_s=0.0):
        self.kind, self.steps, self.epochs, self.calls, self.hooks = kind, [], [], [], []
        self.others, self.setup_s, self.outside_s = [], 0.0, 0.0
        at_s = 100.0
        for epoch in range(1, epochs + 1):
            begin_s = at_s
            at_s += before_s
            for _ in range(PER_EPOCH):
                self.steps.append(self._step(at_s, at_s + step_s, epoch))
                at_s += step_s
            at_s += after_s
            if kind == "fit":
                self.epochs.append(Epoch(epoch, begin_s, at_s, 0.0))

    def _step(self, begin_s, end_s, epoch, loop=1):
        row = dict.fromkeys(("callbacks_s", "callbacks_cpu_s", "cpu_s", "logs_s", "wait_s"))
        row |= {"loop": loop, "epoch": epoch, "step": len(self.steps) + 1, "call_s": 0.1}
        return {**row, "begin_s": begin_s, "end_s": end_s}

    def validates(self, each_s):
        self.epochs = [Epoch(e.number, e.begin_s, e.end_s, each_s) for e in self.epochs]

    def hook(self, wall_s, name="on_epoch_end", loop=1):
        self.hooks.append({"loop": loop, "hook": name, "wall_s": wall_s, "calls": 1})

    def call(self, kind, wall_s, loop=1):
        self.calls.append({"loop": loop, "kind": kind, "wall_s": wall_s, "calls": 1})

    def other_loop(self, begin_s, end_s, *, trains=False, thread="1", kind="custom"):
        number = len(self.others) + 2
        facts = {} if trains is None else {"trains": trains}
        self.others.append({"id": number, "kind": kind, "thread": thread, "facts": facts})
        self.steps.append(self._step(begin_s, end_s, 1, loop=number))

    def whole(self):
        loops = [{"id": 1, "kind": self.kind, "thread": "1", "facts": {}}, *self.others]
        places = dict.fromkeys(("file", "line", "first_step_s", "end_s"))
        loops = [{**row, **places, "entered_s": 99.0, "begin_s": 100.0} for row in loops]
        loops[0] |= {"setup_s": self.setup_s, "outside_s": self.outside_s}
        tables = {"loops": loops, "steps": self.steps, "calls": self.calls, "callbacks": self.hooks}
        process = ProcessRecording(Path("run.qfrun/1.sqlite"), {}, tables)
        steps = steps_of_loop(self.steps, 1)
        assert steps is not None
        loop: Loop = loops_of(process, lambda file, line: None)[0]
        return whole_time(process, loop, steps, self.epochs)


def sum_of_parts(whole: WholeTime) -> float:
    parts = [getattr(whole, name) for name in BETWEEN]
    assert min(parts) >= 0
    return whole.steps_s + sum(parts) + whole.unattributed_s


def test_steps_without_anything_between_them_are_the_whole_time():
    whole = Run().whole()
    assert whole.total_s == whole.steps_s == (3 * PER_EPOCH - WARMUP_STEPS) * STEP_S
    assert [getattr(whole, name) for name in BETWEEN] == [0.0] * 6
    assert (whole.unattributed_s, whole.steps_share) == (0.0, 1.0)


def test_what_keras_does_around_the_steps_of_an_epoch_is_known_as_such():
    whole = Run(before_s=0.25, after_s=1.0).whole()
    assert whole.epoch_ends_s == pytest.approx(2 * 0.25 + 3 * 1.0)
    assert whole.unattributed_s == pytest.approx(0.0)
    assert sum_of_parts(whole) == pytest.approx(whole.total_s)


def test_validation_and_callbacks_are_taken_out_of_the_ends_of_epochs():
    run = Run(after_s=4.0)
    run.validates(2.0)
    run.hook(1.5)
    whole = run.whole()
    assert (whole.validation_s, whole.epoch_callbacks_s) == (6.0, 1.5)
    assert whole.epoch_ends_s == pytest.approx(12.0 - 6.0 - 1.5)
    assert sum_of_parts(whole) == pytest.approx(whole.total_s)


def test_hooks_of_batches_and_of_other_loops_are_not_the_time_between_epochs():
    run = Run(after_s=1.0)
    run.hook(1.0, name="on_train_batch_end")
    run.hook(1.0, loop=2)
    assert run.whole().epoch_callbacks_s == 0.0


def test_a_save_in_a_callback_is_taken_out_of_the_callback():
    run = Run(after_s=2.0)
    run.hook(3.0)
    run.call("save", 2.0)
    whole = run.whole()
    assert (whole.saves_s, whole.epoch_callbacks_s, whole.saves_in_steps_s) == (2.0, 1.0, 0.0)
    assert whole.epoch_ends_s == pytest.approx(6.0 - 3.0)


def test_a_save_at_the_end_of_a_batch_is_a_part_of_the_steps():
    run = Run(after_s=2.0)
    run.call("save", 2.0)
    whole = run.whole()
    assert (whole.saves_s, whole.saves_in_steps_s) == (0.0, 2.0)
    assert whole.epoch_ends_s == pytest.approx(6.0)


def test_a_script_that_saves_between_its_epochs_has_it_between_them():
    run = Run(kind="custom", after_s=2.0)
    run.call("save", 3.0)
    whole = run.whole()
    assert (whole.saves_s, whole.saves_in_steps_s) == (3.0, 0.0)
    assert sum_of_parts(whole) == pytest.approx(whole.total_s)


@pytest.mark.parametrize("kind", ["predict", "evaluate", "test"])
def test_a_script_that_looks_at_its_model_between_its_epochs_validates(kind):
    run = Run(kind="custom", after_s=2.0)
    run.call(kind, 3.0)
    whole = run.whole()
    assert (whole.validation_s, whole.looks_in_steps_s) == (3.0, 0.0)
    assert whole.epoch_ends_s == pytest.approx(1.0)


def test_a_script_that_looks_at_its_model_in_every_step_does_it_in_the_steps():
    run = Run(kind="custom")
    run.call("predict", 3.0)
    whole = run.whole()
    assert (whole.validation_s, whole.looks_in_steps_s) == (0.0, 3.0)
    assert whole.unattributed_s == 0.0


def test_calls_outside_the_loop_are_not_in_it():
    run = Run(kind="custom", after_s=2.0)
    run.call("predict", 3.0, loop=0)
    assert run.whole().validation_s == 0.0


def test_a_loop_of_the_script_that_only_looks_is_validation():
    run = Run(kind="custom", after_s=4.0)
    run.other_loop(106.0, 107.5)
    whole = run.whole()
    assert whole.validation_s == 1.5
    assert sum_of_parts(whole) == pytest.approx(whole.total_s)


@pytest.mark.parametrize(
    "how",
    [
        pytest.param({"trains": True}, id="it trains"),
        pytest.param({"trains": None, "kind": "fit"}, id="it is a fit"),
        pytest.param({"thread": "2"}, id="it runs on another thread"),
        pytest.param({"begin_s": 90.0, "end_s": 91.0}, id="it ran before"),
        pytest.param({"begin_s": 990.0, "end_s": 991.0}, id="it ran after"),
    ],
)
def test_another_loop_is_no_validation_if(how):
    run = Run(kind="custom", after_s=4.0)
    run.other_loop(**{"begin_s": 106.0, "end_s": 107.5, **how})
    assert run.whole().validation_s == 0.0


def test_calling_fit_again_and_again_is_known_as_such():
    run = Run(before_s=1.0, after_s=1.0)
    run.setup_s, run.outside_s = 1.25, 0.5
    whole = run.whole()
    assert whole.calls_s == 1.75
    assert sum_of_parts(whole) == pytest.approx(whole.total_s)


def test_iterators_that_take_long_to_end_are_taken_out_of_the_ends_of_epochs():
    run = Run(after_s=2.0)
    run.call("end", 4.5)
    whole = run.whole()
    assert whole.iterator_ends_s == 4.5
    assert whole.epoch_ends_s == pytest.approx(1.5)
    assert sum_of_parts(whole) == pytest.approx(whole.total_s)


def test_what_lies_before_an_epoch_that_has_not_ended_is_not_attributed():
    run = Run(before_s=0.25)
    run.epochs.pop()
    whole = run.whole()
    assert whole.epoch_ends_s == pytest.approx(0.25)
    assert whole.unattributed_s == pytest.approx(0.25)
    assert sum_of_parts(whole) == pytest.approx(whole.total_s)


def test_an_epoch_that_had_ended_before_the_steps_that_count_is_left_out():
    run = Run()
    run.epochs.insert(0, Epoch(0, 10.0, 20.0, 5.0))
    whole = run.whole()
    assert whole.validation_s == 0.0
    assert whole.total_s == whole.steps_s


seconds = st.floats(min_value=0.0, max_value=50.0)


@given(
    kind=st.sampled_from(["fit", "custom", "train_on_batch", "graph"]),
    around=st.tuples(seconds, seconds),
    validation_s=seconds,
    hooks_s=seconds,
    calls=st.lists(
        st.tuples(st.sampled_from(["save", "predict", "next", "evaluate", "end"]), seconds)
    ),
    setup_s=seconds,
)
def test_whatever_was_measured_the_parts_add_up_to_the_whole(
    kind, around, validation_s, hooks_s, calls, setup_s
):
    run = Run(kind=kind, before_s=around[0], after_s=around[1])
    run.validates(validation_s)
    run.hook(hooks_s)
    for name, wall_s in calls:
        run.call(name, wall_s)
    run.setup_s = setup_s
    whole = run.whole()
    assert sum_of_parts(whole) == pytest.approx(whole.total_s)
    assert whole.looks_in_steps_s >= 0
    assert whole.saves_in_steps_s >= 0
    assert 0 < whole.steps_share <= 1


def test_the_calls_of_a_loop_are_added_up_by_kind():
    run = Run()
    for kind, wall_s, loop in (("save", 1.0, 1), ("save", 2.0, 1), ("save", 9.0, 2)):
        run.call(kind, wall_s, loop)
    run.call("predict", 4.0)
    process = ProcessRecording(Path("1.sqlite"), {}, {"calls": run.calls})
    assert calls_s(process, 1, ("save",)) == 3.0
    assert calls_s(process, 1, ("save", "predict")) == 7.0
    assert calls_s(process, 3, ("save",)) == 0.0


def test_copies_are_told_per_step_over_all_looks_at_the_loop():
    looks = [{"loop": 1, "steps": 4, "copies_s": 0.2}, {"loop": 1, "steps": 6, "copies_s": 0.4}]
    looks.append({"loop": 2, "steps": 1, "copies_s": 9.0})
    assert copies_per_step_s(looks, 1) == pytest.approx(0.06)


def test_a_loop_that_nobody_looked_at_has_no_copies_that_are_known():
    assert copies_per_step_s([], 1) is None
    assert copies_per_step_s([{"loop": 2, "steps": 4, "copies_s": 0.2}], 1) is None


def test_steps_that_trace_a_function_again_are_a_cost_and_not_a_warm_up():
    every = every_step_of_loop(rows([1.0] * 20 + [0.1] * 20), 1)
    assert every is not None
    assert after_warmup(every).warmup == 20
    ends = [step.end_s - 0.1 for step in every.steps[:20]]
    assert after_warmup(every, ends).warmup == 5
    assert after_warmup(every, ends[:2]).warmup == 20, "in the warm-up itself"
