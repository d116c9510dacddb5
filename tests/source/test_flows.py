"""The lines of a loop that make what one of its lines works on."""

import textwrap

import pytest

from quickfit.source.flows import feeding_lines, loop_end

TEXT = textwrap.dedent(
    """\
    images = load()
    scale = 255.0
    for start in range(0, 100, 10):
        chosen = order[start:start + 10]
        batch = images[chosen]
        if flip:
            batch = batch[:, ::-1]
        batch = (
            batch / scale
        )
        loss = train_step(batch)
        print(loss)

    def sample(n):
        rows = [memory[i] for i in pick(n)]
        names = read()
        states = tf.constant(
            np.array(rows))
        return states

    for batch in batches():
        step(batch)
        other()
    """
)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        pytest.param(
            11, {3, 4, 5, 7, 8, 9, 10, 11}, id="all of a batch, not what is before the loop"
        ),
        pytest.param(5, {3, 4, 5}, id="the first of several of the same name"),
        pytest.param(12, {3, 4, 5, 7, 8, 9, 10, 11, 12}, id="what a step gives"),
        pytest.param(18, {15, 17, 18}, id="in a function, over lines"),
        pytest.param(22, {21, 22}, id="a generator at the head of the loop"),
        pytest.param(23, {23}, id="not what has nothing to do with it"),
        pytest.param(2, {2}, id="alone"),
        pytest.param(99, {99}, id="beyond the end"),
    ],
)
def test_lines_that_feed_a_line(line, expected):
    assert feeding_lines(TEXT, line) == expected


def test_a_text_that_is_no_python_tells_only_the_line():
    assert feeding_lines("for :", 1) == {1}


@pytest.mark.parametrize(("line", "end"), [(3, 12), (4, 4), (14, 14), (99, 99)])
def test_the_end_of_a_loop(line, end):
    assert loop_end(TEXT, line) == end
