"""A `batch` moves before a `map` where both are written plainly, and nowhere else."""

import pytest

from quickfit.source.batch_first import batch_before_map


def test_two_statements_that_follow_each_other():
    text = "ds = ds.map(scale, num_parallel_calls=2)\nds = ds.batch(64).prefetch(1)\n"
    assert batch_before_map(text, 1) == (
        "ds = ds.map(scale, num_parallel_calls=2)\nds = ds.batch(64).prefetch(1)",
        "ds = ds.batch(64)\nds = ds.map(scale, num_parallel_calls=2).prefetch(1)",
    )


def test_two_statements_in_a_function():
    text = "def make(ds):\n    ds = ds.map(scale)\n    ds = ds.batch(64)\n    return ds\n"
    assert batch_before_map(text, 2) == (
        "ds = ds.map(scale)\nds = ds.batch(64)",
        "ds = ds.batch(64)\nds = ds.map(scale)",
    )


def test_one_line():
    text = "ds = files().map(lambda x: x / 2).batch(64, drop_remainder=True).prefetch(1)\n"
    assert batch_before_map(text, 1) == (
        text.strip(),
        "ds = files().batch(64, drop_remainder=True).map(lambda x: x / 2).prefetch(1)",
    )


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("ds = ds.map(scale)\nds = ds.shuffle(9).batch(64)\n", id="something between"),
        pytest.param("ds = ds.map(scale).shuffle(9).batch(64)\n", id="between in one line"),
        pytest.param("a = ds.map(scale)\nb = a.batch(64)\n", id="another name"),
        pytest.param("ds = ds.map(scale)\nprint(ds)\nds = ds.batch(64)\n", id="used between"),
        pytest.param("ds = ds.map(\n    scale,\n)\nds = ds.batch(64)\n", id="over several lines"),
        pytest.param("ds = ds.map(scale)\n", id="no batch"),
        pytest.param("ds = ds.map(", id="no Python"),
        pytest.param("x = 1\n", id="no map"),
    ],
)
def test_nothing_for(text):
    assert batch_before_map(text, 1) is None
