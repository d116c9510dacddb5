"""Calls of `fit` at one line are one loop; calls at other lines are not."""

from quickfit.signals.merging import with_merged_loops

from builders import FIT_LINE, recording


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
