"""Edits of single calls on LibCST's tree: spaces, commas and comments stay where they belong."""

import pytest

from quickfit.fixes import codemods


def call_in(text):
    """Return the last call of a text that begins in its first column."""
    wrapper = codemods.module(text)
    lines = text.rstrip("\n").split("\n")
    found = codemods.call_at(wrapper, (1, 0), (len(lines), len(lines[-1])))
    assert found is not None
    return found


def after(text, edit):
    return codemods.codes(call_in(text), edit)


def test_the_code_of_a_call_is_the_users():
    text = "ds.map( f ,\n   g = 1 )"
    assert after(text + "\n", lambda call: call) == (text, text)


def test_the_calls_of_a_chain_are_told_apart_by_their_ends():
    wrapper = codemods.module("ds.map(f).batch(32)\n")
    inner = codemods.call_at(wrapper, (1, 0), (1, 9))
    outer = codemods.call_at(wrapper, (1, 0), (1, 19))
    assert codemods.codes(inner, lambda c: c)[0] == "ds.map(f)"
    assert codemods.codes(outer, lambda c: c)[0] == "ds.map(f).batch(32)"


def test_where_no_call_fills_the_span_there_is_none():
    wrapper = codemods.module("ds.map(f)\n")
    assert codemods.call_at(wrapper, (1, 0), (1, 6)) is None
    assert codemods.call_at(wrapper, (2, 0), (2, 1)) is None


def test_columns_are_characters():
    wrapper = codemods.module("größe = '😀', f(1)\n")
    assert codemods.call_at(wrapper, (1, 13), (1, 17)) is not None


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        pytest.param("f(\n  a,  # one\n  b,  # two\n)", "f(\n  a,  # one\n  b,  # two\n  n=2,\n)"),
        pytest.param("f(\n  # all\n  a,\n)", "f(\n  # all\n  a,\n  n=2,\n)"),
        pytest.param("f(a,  # one\n)", "f(a,  # one\nn=2,\n)"),
        pytest.param("f(a  # one\n)", "f(a,  # one\nn=2\n)"),
        pytest.param("f(a, b,\n  # end\n)", "f(a, b, n=2,\n  # end\n)"),
    ],
)
def test_a_comment_stays_with_the_argument_it_is_of(text, wanted):
    assert after(text, lambda call: codemods.with_keyword(call, "n", "2"))[1] == wanted


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        pytest.param("f(\n  a,  # one\n  n=2  # two\n)", "f(\n  a  # one\n)"),
        pytest.param("f(\n  a,  # one\n  n=2,  # two\n)", "f(\n  a,  # one\n)"),
        pytest.param("f(a,  # one\n  n=2, )", "f(a,  # one\n  )"),
        pytest.param("f(a,\n  n=2)", "f(a)"),
        pytest.param("f(\n  n=2,  # two\n  b=1,\n)", "f(\n  b=1,\n)"),
    ],
)
def test_the_comment_of_a_removed_argument_goes_with_it_and_no_other(text, wanted):
    assert after(text, lambda call: codemods.without_keyword(call, "n"))[1] == wanted


def test_a_value_may_be_any_expression():
    added = after("f(a)", lambda call: codemods.with_keyword(call, "n", "tf.data.AUTOTUNE"))
    assert added[1] == "f(a, n=tf.data.AUTOTUNE)"
