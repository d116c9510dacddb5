"""Keywords given to a call and taken from it: spaces, commas and comments stay in place."""

import pytest

from quickfit.code import Module
from quickfit.code.edits import apply_edits


def after(text, change):
    """Return a text with an edit made of the call that it is."""
    script = Module("train.py", text)
    edit = change(script, script.tree.body[0].value)
    assert edit is not None
    return apply_edits(text, [edit])


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
    assert after(text, lambda s, call: s.with_keyword(call, "n", "2")) == wanted


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
    assert after(text, lambda s, call: s.without_keyword(call, "n")) == wanted


def test_a_value_may_be_any_expression():
    added = after("f(a)", lambda s, call: s.with_keyword(call, "n", "tf.data.AUTOTUNE"))
    assert added == "f(a, n=tf.data.AUTOTUNE)"
