"""Calls by their name, and lines with another value in them."""

import pytest

from quickfit.source.keywords import (
    calls_named,
    fit_with_keyword,
    keyword_of,
    line_of,
    whole_number,
    with_value,
)

TEXT = """\
last = callbacks.ModelCheckpoint("läst.keras", save_freq=5)
keep = (
    keras.callbacks
    .ModelCheckpoint("best.keras", save_freq="epoch")
)
model.fit(x, y, epochs=3)
model.fit(*data, epochs=3)
model.fit(x, y, **options)
"""


def test_calls_are_found_in_the_order_of_lines_at_the_line_of_their_name():
    found = calls_named(TEXT, "ModelCheckpoint", "BackupAndRestore")
    assert [line_of(call) for call in found] == [1, 4]
    assert calls_named("no python", "fit") == []


def test_only_a_number_that_is_written_out_is_one():
    first, second = calls_named(TEXT, "ModelCheckpoint")
    assert whole_number(keyword_of(first, "save_freq")) == 5
    assert whole_number(keyword_of(second, "save_freq")) is None
    assert whole_number(keyword_of(first, "monitor")) is None


def test_a_value_is_replaced_also_behind_letters_of_two_bytes():
    (call, _) = calls_named(TEXT, "ModelCheckpoint")
    value = keyword_of(call, "save_freq")
    assert value is not None
    edit = with_value(TEXT, value, "50")
    assert edit is not None
    assert edit[1] == 'last = callbacks.ModelCheckpoint("läst.keras", save_freq=50)'


@pytest.mark.parametrize(
    ("line", "expected"),
    [(6, "model.fit(x, y, epochs=3, validation_freq=5)"), (7, None), (8, None), (1, None)],
)
def test_a_keyword_is_added_unless_it_may_be_there_already(line, expected):
    edit = fit_with_keyword(TEXT, line, "validation_freq", "5")
    assert (edit[1] if edit else None) == expected
