"""Every number of the table as text."""

import pytest

from compression.shrinking.rows_builder import a_result, row, shrunk
from quickfit.compression.shrinking.cells import accuracy, cells, columns, reasons


@pytest.mark.parametrize("for_training", [False, True])
def test_all_that_was_measured_has_a_column(for_training):
    heads = {column.head for column in columns(a_result(for_training=for_training))}
    assert heads >= {"parameters", "flops", "file", "step", "batch 1", "batch 64", "accuracy"}


def test_what_counts_is_never_left_out():
    kept = {
        for_training: [
            c.head for c in columns(a_result(for_training=for_training)) if not c.is_extra
        ]
        for for_training in (False, True)
    }
    assert {"batch 1", "batch 64", "faster", "file"} <= set(kept[False])
    assert {"step", "faster", "parameters"} <= set(kept[True])


def test_a_row_without_figures_has_dashes():
    missing = cells(a_result())[-1]
    assert missing[0] == "separable-1"
    assert set(missing[1:-1]) == {"–"}
    assert missing[-1] == "not made"


def test_speed_is_that_of_a_step_for_training():
    found = shrunk(row("a", time_s=0.0005, step_s=0.005), for_training=True)
    heads = [column.head for column in columns(found)]
    assert cells(found)[1][heads.index("faster")] == "4.0×"


def test_an_accuracy_that_is_no_share_is_shown_as_it_is():
    assert accuracy(0.956) == "95.6 %"
    assert accuracy(-12.5) == "-12.5"
    assert accuracy(None) == "–"


def test_rows_with_the_same_reason_are_told_together():
    rejected = [row(name, reason="loses 3 points") for name in ("a", "b")]
    assert reasons(shrunk(*rejected)) == ["a, b: loses 3 points"]
