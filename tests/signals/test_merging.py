"""Calls of `fit` at one line are one loop; a loop inside a function is taken apart into steps."""

from itertools import pairwise

import pytest

from quickfit.signals.merging import MAX_INNER, OF_LOOPS, with_inner_steps, with_merged_loops

from builders import FIT_LINE, SCRIPT, START_S, recording


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
