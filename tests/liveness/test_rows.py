"""Reading a recording that grows: the newest rows, and nothing where there is nothing."""

import pytest

from growing import Growing
from quickfit.liveness.rows import NewRows, value_of


@pytest.fixture
def run(tmp_path):
    run = Growing(tmp_path)
    yield run
    run.close()


def test_the_newest_rows_come_in_the_order_they_were_written(run):
    for number in range(5):
        run.add("notes", at_s=float(number), text=str(number))
    assert [row["text"] for row in run.rows.newest("notes", 2)] == ["3", "4"]
    assert [row["text"] for row in run.rows.since("notes", 1.0, 3)] == ["2", "3", "4"]


def test_what_is_written_later_is_seen(run):
    rows = run.rows
    assert rows.newest("notes", 9) == []
    run.add("notes", at_s=1.0, text="new")
    assert len(rows.newest("notes", 9)) == 1


def test_facts_are_read_as_values(run):
    assert run.rows.facts()["role"] == "main"


def test_no_file_yet_has_no_rows(tmp_path):
    rows = NewRows(tmp_path / "1.sqlite")
    assert (rows.newest("steps", 9), rows.facts()) == ([], {})
    assert not list(tmp_path.iterdir())


def test_what_is_no_recording_has_no_rows(tmp_path):
    (tmp_path / "1.sqlite").write_text("text")
    assert NewRows(tmp_path / "1.sqlite").newest("steps", 9) == []


def test_a_table_that_is_missing_has_no_rows(run):
    assert run.rows.newest("no_such_table", 9) == []


@pytest.mark.parametrize(
    ("text", "value"),
    [("[1]", [1]), (None, None), ("{", None), ("", None), ("[" * 100_000, None)],
)
def test_a_text_that_is_cut_off_means_nothing(text, value):
    assert value_of(text) == value
