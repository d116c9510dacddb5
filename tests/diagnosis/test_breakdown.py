"""The parts of the training time add up to the whole, and what nobody knows is said."""

import pytest

from quickfit.account.step_parts import LABELS
from quickfit.diagnosis.breakdown import breakdown
from quickfit.signals import Signals

from builders import CALLBACK_LINE, FIT_LINE, SCRIPT, START_S, recording

PER_EPOCH, EPOCHS = 35, 3
COUNTED = PER_EPOCH * EPOCHS - 5


class Run:
    """A run that a test changes before its time is broken down."""

    def __init__(self, **given):
        self.recording = recording(**given)
        self.tables = self.recording.main.tables

    def pause_after_epochs(self, seconds, *, validation_s=0.0):
        """Put time between the last step of each epoch and the first one of the next."""
        for epoch in self.tables["epochs"]:
            late_s = seconds * (epoch["epoch"] - 1)
            epoch["begin_s"] += late_s
            epoch["end_s"] += late_s + seconds
            epoch["validation_s"] = validation_s
        for step in self.tables["steps"]:
            late_s = seconds * (step["epoch"] - 1)
            step["begin_s"] += late_s
            step["end_s"] += late_s

    def hook(self, name, wall_s, *, hook="on_epoch_end", calls=EPOCHS):
        row = {**self.tables["callbacks"][0], "position": len(self.tables["callbacks"])}
        row |= {"name": name, "hook": hook, "calls": calls, "wall_s": wall_s}
        self.tables["callbacks"].append(row)

    def call(self, kind, wall_s, *, loop=1, line=9, calls=EPOCHS):
        row = {"loop": loop, "kind": kind, "file": SCRIPT, "line": line, "name": "model"}
        row |= {"calls": calls, "wall_s": wall_s, "cpu_s": None, "longest_s": wall_s}
        self.tables.setdefault("calls", []).append(row)

    def by_hand(self, *, wait_s=None, call_s=0.06, kind="custom", source="tf.data"):
        """Make it a loop that the script wrote itself."""
        facts = {"trains": True, "input": source, "head": "next"}
        self.tables["loops"][0] |= {"kind": kind, "facts": facts}
        self.tables["epochs"] = []
        for step in self.tables["steps"]:
            step |= {"callbacks_s": None, "callbacks_cpu_s": None, "logs_s": 0.0}
            step |= {"wait_s": wait_s, "call_s": call_s}
        for name in ("pipelines", "iterators", "datasets", "callbacks"):
            self.tables[name] = []

    def parts(self):
        """Return seconds per step by part, after checking that they add up and none is negative."""
        signals = Signals(self.recording)
        found = breakdown(signals)
        assert found is not None
        assert {part.label for part in found.parts} <= {*LABELS.values()}
        assert all(part.step_s >= 0 for part in found.parts)
        whole_s = signals.whole_time.total_s / found.steps
        assert sum(part.step_s for part in found.parts) == pytest.approx(whole_s)
        assert sum(part.share for part in found.parts) == pytest.approx(1.0)
        return {part.name: part.step_s for part in found.parts}

    def details(self):
        found = breakdown(Signals(self.recording))
        assert found is not None
        return {part.name: part.detail for part in found.parts if part.detail}


def approx(seconds):
    return pytest.approx(seconds, abs=1e-6)


# -- fit ------------------------------------------------------------------------------------------


def test_a_plain_fit_is_wait_step_and_callbacks():
    parts = Run(input_wait_s=0.02, callback_s=0.01).parts()
    assert parts["input_wait"] == pytest.approx(0.02, rel=0.05)
    assert parts["callbacks"] == approx(0.01)
    assert parts["step"] == pytest.approx(0.07, rel=0.05)
    assert parts["between"] == approx(0.0)
    assert parts["unattributed"] == approx(0.0)


def test_a_fit_whose_wait_was_not_measured_claims_none():
    parts = Run(with_model=False).parts()
    assert "input_wait" not in parts
    assert parts["step"] == approx(0.1 - 0.0002)


def test_validation_is_a_part_of_the_whole():
    run = Run()
    run.pause_after_epochs(4.0, validation_s=3.0)
    parts = run.parts()
    assert parts["validation"] == approx(9.0 / COUNTED)
    assert parts["epoch_ends"] == approx(3.0 / COUNTED)
    assert parts["unattributed"] == approx(0.0)


def test_callbacks_at_epochs_and_the_saves_in_them_are_told_apart():
    run = Run()
    run.pause_after_epochs(5.0, validation_s=1.0)
    run.hook("ModelCheckpoint", 6.0)
    run.call("save", 4.5)
    parts = run.parts()
    assert parts["checkpoint"] == approx(4.5 / COUNTED)
    assert parts["epoch_callbacks"] == approx(1.5 / COUNTED)
    assert parts["validation"] == approx(3.0 / COUNTED)
    assert parts["epoch_ends"] == approx((15.0 - 6.0 - 3.0) / COUNTED)


def test_a_save_in_a_batch_callback_is_taken_out_of_the_callbacks():
    run = Run(callback_s=0.05)
    run.call("save", 1.0)
    parts = run.parts()
    assert parts["checkpoint"] == approx(1.0 / COUNTED)
    assert parts["callbacks"] == approx(0.05 - 1.0 / COUNTED)


def test_saves_at_epochs_and_in_batches_are_one_part():
    run = Run(callback_s=0.05)
    run.pause_after_epochs(1.0)
    run.hook("ModelCheckpoint", 2.0)
    run.call("save", 3.0)
    assert run.parts()["checkpoint"] == approx(3.0 / COUNTED)


def test_the_conversion_of_logs_is_taken_out_of_the_step():
    run = Run(with_model=False)
    for step in run.tables["steps"]:
        step["logs_s"] = 0.03 if step["step"] % 2 else None
    parts = run.parts()
    assert parts["logs"] == approx(0.03)
    assert parts["step"] == approx(0.1 - 0.0002 - 0.03)


def test_copies_are_taken_out_of_the_step():
    run = Run(with_model=False)
    row = {"loop": 1, "at_s": START_S + 5, "window_s": 1.0, "steps": 10, "copies": 20}
    run.tables["copies"] = [{**row, "copies_s": 0.1}]
    parts = run.parts()
    assert parts["copies"] == approx(0.01)


def test_more_than_the_step_took_cannot_be_taken_out_of_it():
    run = Run(with_model=False)
    row = {"loop": 1, "at_s": START_S + 5, "window_s": 1.0, "steps": 1, "copies": 20}
    run.tables["copies"] = [{**row, "copies_s": 99.0}]
    for step in run.tables["steps"]:
        step["logs_s"] = 50.0
    parts = run.parts()
    assert parts["step"] == approx(0.0)


def test_tracing_is_taken_out_of_the_step():
    run = Run(with_model=False, traces=[(50, 0.08, "a"), (60, 0.08, "b")])
    assert run.parts()["tracing"] == approx(0.16 / COUNTED)


def test_a_trace_that_is_longer_than_all_steps_does_not_make_them_longer():
    Run(with_model=False, traces=[(50, 500.0, "a")]).parts()


def test_ends_of_iterators_are_a_part_of_their_own():
    run = Run()
    run.pause_after_epochs(3.0)
    run.call("end", 6.0)
    parts = run.parts()
    assert parts["iterator_ends"] == approx(6.0 / COUNTED)
    assert parts["epoch_ends"] == approx(3.0 / COUNTED)


def test_what_lies_before_an_epoch_that_did_not_end_is_not_attributed():
    run = Run()
    run.pause_after_epochs(2.0)
    run.tables["epochs"].pop()
    run.tables["epochs"][1]["end_s"] -= 2.0
    parts = run.parts()
    assert parts["unattributed"] == approx(2.0 / COUNTED)


def test_time_that_is_in_no_step_and_no_epoch_is_not_attributed():
    run = Run()
    run.pause_after_epochs(2.0)
    run.tables["epochs"] = []
    parts = run.parts()
    assert parts["unattributed"] + parts["epoch_ends"] == approx(4.0 / COUNTED)


def test_several_calls_of_fit_have_what_lies_between_them():
    run = Run(epochs=1, steps=60)
    (first,) = run.tables["loops"]
    end_s = run.tables["steps"][-1]["end_s"]
    first["end_s"] = end_s
    late_s = end_s - START_S + 5.0
    again = {name: first[name] + late_s for name in ("entered_s", "begin_s", "first_step_s")}
    run.tables["loops"].append({**first, **again, "id": 2, "end_s": end_s + late_s})
    for name in ("steps", "epochs"):
        rows = run.tables[name]
        for row in list(rows):
            moved = {n: row[n] + late_s for n in ("begin_s", "end_s")}
            rows.append({**row, **moved, "loop": 2})
    parts = run.parts()
    assert parts["fit_calls"] == approx(5.0 / (120 - 5)), "one second of it sets up the call"


# -- loops of the script --------------------------------------------------------------------------


def test_a_loop_that_asks_for_its_batches_has_its_wait_beside_its_calls():
    run = Run()
    run.by_hand(wait_s=0.03, call_s=0.06)
    parts = run.parts()
    assert (parts["input_wait"], parts["step"]) == (approx(0.03), approx(0.06))
    assert parts["between"] == approx(0.01)
    assert parts["callbacks"] == approx(0.0)


def test_a_short_loop_that_asks_for_its_batches_adds_up_as_well():
    """Too few steps to conclude from are still broken down."""
    run = Run(steps=15, epochs=1)
    run.by_hand(wait_s=0.03, call_s=0.06)
    parts = run.parts()
    assert parts["input_wait"] == approx(0.03)


def test_a_loop_that_makes_its_batches_itself_has_no_wait():
    run = Run()
    run.by_hand(call_s=0.06, source="python")
    parts = run.parts()
    assert parts["input_wait"] == approx(0.0)
    assert (parts["step"], parts["between"]) == (approx(0.06), approx(0.04))


def test_a_loop_whose_wait_was_not_measured_claims_none():
    run = Run()
    run.by_hand(call_s=0.06)
    parts = run.parts()
    assert "input_wait" not in parts
    assert (parts["step"], parts["between"]) == (approx(0.06), approx(0.04))


def test_a_loop_inside_a_function_is_all_step():
    run = Run()
    run.by_hand(call_s=0.1, kind="graph", source="graph")
    assert run.parts()["step"] == approx(0.1)


def test_a_loop_of_which_nothing_but_its_steps_is_known_is_all_between():
    run = Run()
    run.by_hand(call_s=None)
    parts = run.parts()
    assert (parts["step"], parts["between"]) == (approx(0.0), approx(0.1))


@pytest.mark.parametrize("slow", [2.0, 10.0, 1.0, 0.5])
def test_steps_that_are_not_watched_in_full_do_not_make_the_parts_more_than_the_whole(slow):
    """The others may have been quicker than those that were watched."""
    run = Run()
    run.by_hand(wait_s=None, call_s=None)
    at_s = START_S
    for step in run.tables["steps"]:
        is_watched = step["step"] % 10 == 0
        length_s = 0.1 * slow if is_watched else 0.1
        step |= {"begin_s": at_s, "end_s": at_s + length_s}
        at_s += length_s
        if is_watched:
            step |= {"wait_s": 0.3 * length_s, "call_s": 0.6 * length_s}
    run.parts()


def test_looks_and_saves_in_the_steps_are_taken_out_of_what_lies_between():
    run = Run()
    run.by_hand(wait_s=0.01, call_s=0.03)
    run.call("predict", 2.0)
    run.call("save", 1.0)
    parts = run.parts()
    assert parts["looks"] == approx(2.0 / COUNTED)
    assert parts["checkpoint"] == approx(1.0 / COUNTED)
    assert parts["between"] == approx(0.06 - 3.0 / COUNTED)


def test_looks_and_saves_between_the_epochs_of_a_loop_are_around_its_steps():
    run = Run()
    run.pause_after_epochs(5.0)
    run.by_hand(wait_s=0.01, call_s=0.03)
    run.call("evaluate", 6.0)
    run.call("save", 3.0)
    parts = run.parts()
    assert parts["validation"] == approx(6.0 / COUNTED)
    assert parts["checkpoint"] == approx(3.0 / COUNTED)
    assert parts["epoch_ends"] == approx((10.0 - 9.0) / COUNTED)


def test_calls_that_took_longer_than_there_was_time_do_not_make_more_of_it():
    run = Run()
    run.by_hand(wait_s=0.01, call_s=0.03)
    run.call("predict", 1e4)
    run.call("save", 1e4)
    run.parts()


# -- details --------------------------------------------------------------------------------------


def test_the_slowest_callback_is_named_with_its_line():
    run = Run(callback_s=0.05)
    assert run.details()["callbacks"] == f"Log train.py:{CALLBACK_LINE}"


def test_the_slowest_callback_at_epochs_is_named():
    run = Run()
    run.pause_after_epochs(5.0)
    run.hook("Plots", 9.0)
    run.hook("Quick", 0.1)
    assert run.details()["epoch_callbacks"] == f"Plots train.py:{CALLBACK_LINE}"


def test_the_line_that_saves_is_named():
    run = Run()
    run.pause_after_epochs(5.0)
    run.by_hand(wait_s=0.01, call_s=0.03)
    run.call("save", 8.0, line=14)
    run.call("save", 99.0, line=15, loop=0)
    assert run.details()["checkpoint"] == "train.py:14"


def test_a_small_part_needs_no_detail():
    assert Run(callback_s=0.001).details() == {}


# -- hardly anything ------------------------------------------------------------------------------


def test_a_run_without_a_step_is_not_broken_down():
    assert breakdown(Signals(recording(steps=0, with_model=False))) is None


@pytest.mark.parametrize("steps", [1, 2, 5])
def test_a_few_steps_are_broken_down(steps):
    found = breakdown(Signals(recording(steps=steps)))
    assert found is not None
    assert sum(part.share for part in found.parts) == pytest.approx(1.0, abs=0.01)


def test_a_run_without_a_loop_is_not_broken_down():
    made = recording()
    made.main.tables["loops"] = []
    assert breakdown(Signals(made)) is None


def test_the_time_to_the_first_step_counts_from_the_start_of_the_process():
    found = breakdown(Signals(recording()))
    assert found.time_to_first_step_s == pytest.approx(5.1)
    made = recording()
    made.main.tables["loops"][0]["first_step_s"] = None
    assert breakdown(Signals(made)).time_to_first_step_s is None


def test_every_part_of_a_run_has_its_line_of_the_script():
    assert Signals(recording()).loop.location.line == FIT_LINE
