"""The loops of a process: what they are, where they end, and what runs around their steps."""

from itertools import pairwise

import pytest

from quickfit.findings import Location
from quickfit.signals.loops import (
    BATCH_HOOKS,
    EPOCH_HOOKS,
    MAX_INNER,
    OF_LOOPS,
    Call,
    EagerOps,
    Epoch,
    loops_of,
    with_inner_steps,
    with_merged_loops,
)

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


def twice(second_line):
    """Return the recording of two calls of `fit`, the second at a given line."""
    main = recording(steps=40, epochs=2).main
    late_s = 100.0
    main.tables["loops"].append({**main.tables["loops"][0], "id": 2, "line": second_line})
    for name in ("steps", "epochs", "callbacks"):
        rows = main.tables[name]
        for row in list(rows):
            moved = {k: v + late_s for k, v in row.items() if k in ("begin_s", "end_s")}
            rows.append({**row, **moved, "loop": 2})
    return main


def test_two_calls_at_one_line_are_one_loop_with_all_its_steps():
    merged = with_merged_loops(twice(FIT_LINE))
    assert [row["id"] for row in merged.rows("loops")] == [1]
    assert {row["loop"] for row in merged.rows("steps")} == {1}
    assert len(merged.rows("steps")) == 80


def test_epochs_of_two_calls_stay_apart():
    merged = with_merged_loops(twice(FIT_LINE))
    assert len({row["epoch"] for row in merged.rows("epochs")}) == 4


def test_the_totals_of_a_callback_are_added_up():
    merged = with_merged_loops(twice(FIT_LINE))
    (row,) = merged.rows("callbacks")
    assert row["calls"] == 80


def test_calls_at_two_lines_stay_two_loops():
    main = twice(FIT_LINE + 1)
    assert with_merged_loops(main) is main


def test_loops_of_two_kinds_at_one_line_stay_two_loops():
    main = twice(FIT_LINE)
    main.tables["loops"][1]["kind"] = "custom"
    assert with_merged_loops(main) is main


def test_loops_without_a_line_have_nothing_in_common():
    main = twice(None)
    main.tables["loops"][0]["line"] = None
    assert with_merged_loops(main) is main


def test_every_table_that_names_a_loop_follows_its_number():
    main = twice(FIT_LINE)
    for name in OF_LOOPS:
        rows = main.tables.setdefault(name, [])
        if not any(row["loop"] == 2 for row in rows):
            rows.append({"loop": 2, "kind": "save", "file": SCRIPT, "line": 3})
    merged = with_merged_loops(main)
    assert {row["loop"] for name in OF_LOOPS for row in merged.rows(name)} == {1}


def a_call(loop, **given):
    row = {"loop": loop, "kind": "save", "file": SCRIPT, "line": 3, "name": "Functional"}
    return {**row, "calls": 1, "wall_s": 0.5, "cpu_s": None, "longest_s": 0.5, **given}


def test_the_calls_of_one_line_are_added_up_and_the_longest_stays_the_longest():
    main = twice(FIT_LINE)
    main.tables["calls"] = [a_call(1), a_call(2, calls=3, wall_s=4.5, longest_s=4.0)]
    main.tables["calls"].append(a_call(2, line=9))
    first, second = with_merged_loops(main).rows("calls")
    assert (first["calls"], first["wall_s"], first["cpu_s"]) == (4, 5.0, None)
    assert first["longest_s"] == 4.0
    assert (second["line"], second["calls"]) == (9, 1)


def test_the_cpu_of_a_callback_is_added_up_where_it_was_measured():
    main = twice(FIT_LINE)
    for row in main.tables["callbacks"]:
        row["cpu_s"] = 0.25
    (row,) = with_merged_loops(main).rows("callbacks")
    assert row["cpu_s"] == 0.5


def test_setting_up_further_calls_and_the_time_between_them_are_told_apart():
    main = twice(FIT_LINE)
    first, second = main.tables["loops"]
    first.update(entered_s=START_S - 1, begin_s=START_S, end_s=START_S + 40)
    second.update(entered_s=START_S + 90, begin_s=START_S + 100, end_s=START_S + 150)
    main.tables["loops"].append({**second, "id": 3, "entered_s": START_S + 151})
    main.tables["loops"][-1].update(begin_s=START_S + 153, end_s=None)
    (row,) = with_merged_loops(main).rows("loops")
    assert row["outside_s"] == 50 + 1
    assert row["setup_s"] == 10 + 2, "that of the first call is time to the first step"
    assert (row["begin_s"], row["end_s"]) == (START_S, None)


def test_the_newest_call_tells_how_the_model_is_set_up():
    main = twice(FIT_LINE)
    main.tables["loops"][1]["facts"] = {"input": "arrays"}
    (row,) = with_merged_loops(main).rows("loops")
    assert row["facts"] == {"input": "arrays"}


def test_merging_leaves_the_recording_as_it_was():
    main = twice(FIT_LINE)
    before = repr(main.tables)
    with_merged_loops(main)
    assert repr(main.tables) == before


# -- loops inside a compiled function -------------------------------------------------------------


def graph(inner, **step):
    """Return the recording of a loop inside a function, each call of which takes some steps."""
    main = recording(steps=6, epochs=1).main
    main.tables["loops"][0].update(kind="graph", facts={"steps_per_execution": inner})
    for row in main.tables["steps"]:
        row.update({"callbacks_s": None, "callbacks_cpu_s": None, "cpu_s": None, **step})
    return main


def test_the_steps_inside_a_function_are_taken_to_be_equally_long():
    main = graph(4)
    rows = with_inner_steps(main).rows("steps")
    assert [row["step"] for row in rows] == list(range(1, 25))
    assert (rows[0]["begin_s"], rows[-1]["end_s"]) == (START_S, main.rows("steps")[-1]["end_s"])
    lengths = [row["end_s"] - row["begin_s"] for row in rows[4:]]
    assert lengths == pytest.approx([0.025] * 20)
    assert all(two["begin_s"] == pytest.approx(one["end_s"]) for one, two in pairwise(rows))


@pytest.mark.parametrize("part", ["call_s", "wait_s", "cpu_s", "logs_s"])
def test_what_a_call_took_is_shared_by_its_steps(part):
    rows = with_inner_steps(graph(4, **{part: 0.5})).rows("steps")
    assert sum(row[part] for row in rows) == pytest.approx(6 * 0.5)


def test_what_was_not_measured_of_a_call_is_not_made_up_for_its_steps():
    rows = with_inner_steps(graph(4)).rows("steps")
    assert {(row["wait_s"], row["cpu_s"], row["callbacks_s"]) for row in rows} == {(None,) * 3}


def test_the_steps_are_said_to_be_one_each():
    (row,) = with_inner_steps(graph(4)).rows("loops")
    assert row["facts"] == {"steps_per_execution": 1}


@pytest.mark.parametrize("inner", [1, None])
def test_a_call_of_one_step_is_left_as_it_is(inner):
    main = graph(inner)
    assert with_inner_steps(main) is main


def test_other_loops_are_left_as_they_are():
    main = recording(steps=40, epochs=2).main
    main.tables["loops"][0]["facts"]["steps_per_execution"] = 8
    assert with_inner_steps(main) is main


def test_a_call_of_very_many_steps_stays_a_bounded_number_of_rows():
    assert len(with_inner_steps(graph(10**9)).rows("steps")) == 6 * MAX_INNER
