"""Edits of one call in a chain: exact, and refused where the text would break."""

import pytest

from quickfit.source.calls import call_at
from quickfit.source.chains import with_call_after, with_call_replaced, with_first_argument


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ("ds = ds.map(f)", "ds = ds.map(f).cache()"),
        ("ds = ds.map(f).batch(2)  # why", "ds = ds.map(f).cache().batch(2)  # why"),
        ("ds = größe.map(f, 'ä').batch(2)", "ds = größe.map(f, 'ä').cache().batch(2)"),
    ],
)
def test_a_call_is_added_behind_another(text, after):
    call = call_at(text, 1, "map")
    assert call is not None
    assert with_call_after(text, call, "cache") == (text, after)


def test_the_last_line_of_a_long_call_is_the_one_that_changes():
    text = "ds = (\n    ds.map(\n        f,\n    )\n    .batch(2)\n)"
    call = call_at(text, 2, "map")
    assert call is not None
    assert with_call_after(text, call, "cache") == (")", ").cache()")


def test_a_call_is_replaced():
    text = "ds = ds.map(f).cache().take(5)"
    call = call_at(text, 1, "cache")
    assert call is not None
    edit = with_call_replaced(text, call, ".take(5).cache()")
    assert edit == (text, "ds = ds.map(f).take(5).cache().take(5)")


def test_a_function_that_is_no_method_is_not_replaced():
    text = "ds = cache(ds)"
    call = call_at(text, 1, "cache")
    assert call is not None
    assert with_call_replaced(text, call, ".cache()") is None


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ("ds.shuffle(len(x), seed=1)", "ds.shuffle(1_000, seed=1)"),
        ("ds.shuffle(buffer_size=N)", "ds.shuffle(buffer_size=1_000)"),
        ("ds.shuffle(seed=1, buffer_size=N)", "ds.shuffle(seed=1, buffer_size=1_000)"),
    ],
)
def test_the_size_of_a_buffer_is_changed(text, after):
    call = call_at(text, 1, "shuffle")
    assert call is not None
    assert with_first_argument(text, call, "1_000") == (text, after)


def test_a_size_that_is_not_there_is_not_changed():
    text = "ds.shuffle(seed=1)"
    call = call_at(text, 1, "shuffle")
    assert call is not None
    assert with_first_argument(text, call, "1_000") is None
