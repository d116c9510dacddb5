"""The line of a loop that bytecode knows only by its first instruction."""

import textwrap

import pytest

from quickfit.source.loops import loop_line

TEXT = textwrap.dedent(
    """\
    import tensorflow as tf

    while True:
        batch = next(batches)
        step(batch)

    while (
        step_number < limit
        and is_better
    ):
        step(next(batches))

    for batch in ds:
        while improves():
            step(batch)

    losses = [
        step(batch)
        for batch in ds
    ]

    while waits: pass
    """
)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        pytest.param(3, 3, id="the while itself"),
        pytest.param(4, 3, id="the first line of an endless while"),
        pytest.param(5, 5, id="a later line of its body is not its begin"),
        pytest.param(8, 7, id="the test on a line of its own"),
        pytest.param(9, 7, id="the second part of a test"),
        pytest.param(11, 7, id="the first line after a test of many lines"),
        pytest.param(13, 13, id="a for"),
        pytest.param(14, 14, id="a while inside a for"),
        pytest.param(15, 14, id="the first line of the inner one"),
        pytest.param(19, 19, id="a comprehension"),
        pytest.param(22, 22, id="a while on one line"),
        pytest.param(1, 1, id="no loop"),
        pytest.param(99, 99, id="beyond the end"),
        pytest.param(0, 0, id="no line"),
    ],
)
def test_the_line_of_a_loop_is_that_of_its_statement(line, expected):
    assert loop_line(TEXT, line) == expected


def test_of_two_loops_that_begin_together_it_is_the_inner_one():
    text = "while a:\n    while b:\n        step()\n"
    assert [loop_line(text, line) for line in (1, 2, 3)] == [1, 2, 2]


def test_a_for_that_is_the_first_line_of_a_while_is_itself():
    text = "while True:\n    for batch in ds:\n        step(batch)\n"
    assert loop_line(text, 2) == 2


def test_an_asynchronous_loop_is_itself():
    text = "async def main():\n    while True:\n        async for b in ds:\n            step(b)\n"
    assert loop_line(text, 3) == 3


@pytest.mark.parametrize("text", ["", "while True\n    step(\n", "\x00", "%matplotlib inline\n"])
def test_a_text_that_cannot_be_parsed_leaves_the_line(text):
    assert loop_line(text, 2) == 2
