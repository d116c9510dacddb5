"""What in a chain of dataset operations is random, and what feeds what."""

import pytest

from quickfit.pipeline_model.match import Operation
from quickfit.signals.written_chain import (
    below,
    cached_below,
    draws_random,
    main_line,
    may_be_random,
)


def operation(number=1, kind="map", inputs=(), **facts):
    return Operation(number, kind, "train.py", number, tuple(inputs), facts)


@pytest.mark.parametrize(
    "op",
    ["RandomUniform", "StatelessRandomUniformV2", "StatefulUniform", "RngReadAndSkip",
     "SampleDistortedBoundingBoxV2", "StatelessRandomGetKeyCounter", "Multinomial"],
)  # fmt: skip
def test_operations_that_draw_numbers_are_random(op):
    assert draws_random(operation(ops=["Cast", op]))
    assert may_be_random(operation(ops=["Cast", op]))


@pytest.mark.parametrize(
    "facts",
    [
        pytest.param({"ops": ["Cast"]}, id="without state"),
        pytest.param({"ops": ["Assert"], "is_stateful": True}, id="a check"),
        pytest.param({"ops": ["LookupTableFindV2"], "is_stateful": True}, id="words"),
        pytest.param({"ops": ["If", "DecodePng"], "is_stateful": True}, id="a condition"),
    ],
)
def test_what_gives_the_same_every_time_is_not(facts):
    assert not may_be_random(operation(**facts))


@pytest.mark.parametrize(
    "op",
    [
        pytest.param(operation(runs_python=True), id="Python"),
        pytest.param(operation(ops=["Unheard"], is_stateful=True), id="unknown state"),
        pytest.param(operation(ops=["Assert", "AssignVariableOp"], is_stateful=True), id="writes"),
        pytest.param(operation(ops=[f"Op{n}" for n in range(60)]), id="a list that was cut"),
        pytest.param(operation(kind="shuffle"), id="a shuffle"),
        pytest.param(operation(kind="generator"), id="a generator"),
    ],
)
def test_in_doubt_it_may_be_random(op):
    assert may_be_random(op)


def test_a_chain_is_followed_to_where_it_branches():
    one, two = operation(1, "range"), operation(2, "range")
    both = operation(3, "zip", (1, 2))
    cache = operation(4, "cache", (3,))
    top = operation(5, "batch", (4,), sub=[2])
    known = {op.id: op for op in (one, two, both, cache, top)}
    assert [op.id for op in main_line(top, known)] == [5, 4, 3]
    assert set(below(top, known)) == {1, 2, 3, 4, 5}
    assert set(cached_below(main_line(top, known), known)) == {1, 2, 3, 4}
