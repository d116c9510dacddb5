"""The loops of a process: what they are, where they end, and what runs around their steps."""

import pytest

from quickfit.findings import Location
from quickfit.signals.loops import BATCH_HOOKS, EPOCH_HOOKS, Call, EagerOps, Epoch, loops_of

from builders import CALLBACK_LINE, FIT_LINE, SCRIPT, START_S, recording, run


def locate(file, line):
    return None if file is None or line is None else Location(file, line, "")


def one_loop(*, with_model=True, **changes):
    """Return the only loop of a recording whose row was changed, and the recording."""
    main = recording(with_model=with_model).main
    main.tables["loops"][0].update(changes)
    (loop,) = loops_of(main, locate)
    return loop, main


def test_a_loop_has_its_line_and_its_times():
    loop, _ = one_loop(end_s=START_S + 20)
    assert loop.location == Location(SCRIPT, FIT_LINE, "")
    assert (loop.begin_s, loop.end_s, loop.duration_s) == (START_S, START_S + 20, 20.0)
    assert loop.is_over
    assert (loop.setup_s, loop.outside_s) == (0.0, 0.0), "one call has neither"


def test_a_loop_that_goes_on_ends_with_its_last_step():
    loop, main = one_loop()
    assert not loop.is_over
    assert loop.end_s == main.rows("steps")[-1]["end_s"]


def test_a_loop_without_a_step_ends_where_it_began():
    main = recording(steps=0).main
    (loop,) = loops_of(main, locate)
    assert (loop.end_s, loop.duration_s) == (loop.begin_s, 0.0)


@pytest.mark.parametrize(
    ("facts", "trains", "source"),
    [
        ({}, True, "unknown"),
        ({"trains": True, "input": "tf.data"}, True, "tf.data"),
        ({"trains": False, "input": "python"}, False, "python"),
    ],
)
def test_a_loop_trains_unless_it_was_seen_not_to(facts, trains, source):
    loop, _ = one_loop(facts=facts, with_model=False)
    assert (loop.trains, loop.input) == (trains, source)


def test_a_loop_whose_function_asks_an_iterator_is_fed_by_tf_data():
    loop, _ = one_loop(facts={"input": "python"})
    assert loop.input == "tf.data"


def callback(**given):
    row = {"loop": 1, "position": 0, "hook": "on_train_batch_end", "name": "Log", "file": SCRIPT}
    totals = {"calls": 10, "wall_s": 2.0, "cpu_s": 1.0, "is_user": 1}
    return {**row, "line": CALLBACK_LINE, **totals, **given}


def times(*rows, hooks=BATCH_HOOKS):
    loop, main = one_loop()
    main.tables["callbacks"] = list(rows)
    return loop.callback_times(main, locate, hooks)


def test_a_callback_has_its_line_and_the_wall_and_cpu_time_of_one_call():
    (time,) = times(callback())
    assert (time.name, time.hook, time.calls) == ("Log", "on_train_batch_end", 10)
    assert (time.step_s, time.cpu_s) == (0.2, 0.1)
    assert time.location == Location(SCRIPT, CALLBACK_LINE, "")
    assert time.is_user


def test_the_slowest_callback_comes_first():
    found = times(callback(name="quick", wall_s=0.1), callback(name="slow", calls=1))
    assert [time.name for time in found] == ["slow", "quick"]


def test_hooks_of_batches_and_of_epochs_are_told_apart():
    rows = [callback(), callback(hook="on_epoch_end", name="Save")]
    assert [time.name for time in times(*rows)] == ["Log"]
    assert [time.name for time in times(*rows, hooks=EPOCH_HOOKS)] == ["Save"]


@pytest.mark.parametrize("change", [{"loop": 2}, {"calls": 0}, {"hook": "on_train_begin"}])
def test_callbacks_that_say_nothing_about_this_loop_are_left_out(change):
    assert times(callback(**change)) == []


def test_a_callback_whose_cpu_was_not_measured_has_none():
    assert times(callback(cpu_s=None))[0].cpu_s is None


@pytest.mark.parametrize(
    ("is_user", "file", "expected"),
    [
        pytest.param(0, None, False, id="Keras's own"),
        pytest.param(1, None, True, id="the user's, of generated code"),
        pytest.param(0, SCRIPT, False, id="told, whatever the file"),
        pytest.param(None, None, False, id="not told, without a file"),
        pytest.param(None, SCRIPT, True, id="not told, in the user's file"),
    ],
)
def test_the_users_callbacks_are_told_from_those_of_keras(is_user, file, expected):
    assert times(callback(is_user=is_user, file=file))[0].is_user is expected


def test_an_older_recording_has_callbacks_without_the_new_columns():
    row = callback()
    del row["cpu_s"], row["is_user"]
    (time,) = times(row)
    assert (time.cpu_s, time.is_user) == (None, True)


def test_a_call_is_read_with_its_line():
    row = {"loop": 3, "kind": "save", "name": "Functional", "file": SCRIPT, "line": 9}
    row |= {"calls": 2, "wall_s": 1.5, "cpu_s": None, "longest_s": 1.0}
    call = Call.from_row(row, locate)
    assert call == Call(3, "save", "Functional", Location(SCRIPT, 9, ""), 2, 1.5, 1.0)


def test_an_epoch_without_validation_spent_no_time_on_it():
    row = {"epoch": 4, "begin_s": 1.0, "end_s": 3.0, "validation_s": None}
    assert Epoch.from_row(row) == Epoch(4, 1.0, 3.0, 0.0)


def test_operations_of_an_eager_step_are_told_per_step():
    row = {"steps": 2, "ops": 10, "ops_s": 0.5, "median_s": 0.01, "heavy_s": 0.25}
    assert EagerOps.from_row(row) == EagerOps(2, 5.0, 0.25, 0.01, 0.125)


# -- the loop that a report is about --------------------------------------------------------------


def two_loops(second):
    """Return the signals of a run with a second, much longer loop."""
    signals = run()
    loops = signals.recording.main.tables["loops"]
    loops.append({**loops[0], "id": 2, "line": 3, "end_s": START_S + 10**6, **second})
    return signals


def test_the_longest_loop_that_trains_is_the_one():
    assert two_loops({"facts": {"trains": True}, "kind": "custom"}).loop.id == 2


def test_a_loop_that_only_predicts_is_not_the_one_however_long_it_takes():
    assert two_loops({"facts": {"trains": False}, "kind": "predict"}).loop.id == 1


def test_a_while_of_the_script_is_named_by_its_own_line():
    """Bytecode knows only where its first instruction is; see SOURCE of the builders."""
    signals = two_loops({"facts": {"trains": True}, "kind": "custom", "line": 6})
    assert signals.loop.location == Location(SCRIPT, 5, "while True:")


def test_a_fit_inside_a_while_keeps_its_own_line():
    signals = two_loops({"facts": {"trains": True}, "kind": "fit", "line": 6})
    assert signals.loop.location.line == 6


def test_calls_come_with_the_longest_first():
    signals = run()
    row = {"loop": 0, "kind": "save", "name": "m", "file": SCRIPT, "line": 9, "longest_s": 1.0}
    rows = [{**row, "calls": 1, "wall_s": wall_s, "cpu_s": None} for wall_s in (1.0, 3.0, 2.0)]
    signals.recording.main.tables["calls"] = rows
    assert [call.wall_s for call in signals.calls] == [3.0, 2.0, 1.0]
