"""The precision of a graph's products is counted, and the script's files are kept for its line."""

import json
import sys
from types import ModuleType, SimpleNamespace

import pytest

from quickfit.probes import _trace_products
from quickfit.probes._trace_products import keep_files, products


def operation(kind, *types):
    outputs = [SimpleNamespace(dtype=SimpleNamespace(name=name)) for name in types]
    return SimpleNamespace(type=kind, outputs=outputs)


def graph(*operations):
    return SimpleNamespace(get_operations=lambda: list(operations))


@pytest.mark.parametrize(
    ("operations", "expected"),
    [
        pytest.param([], (0, 0), id="nothing"),
        pytest.param([operation("MatMul", "float64")], (1, 1), id="a double"),
        pytest.param([operation("Conv2D", "float32")], (0, 1), id="a single"),
        pytest.param([operation("MatMul", "int32")], (0, 0), id="no float"),
        pytest.param(
            [operation("Cast", "float64"), operation("Mul", "float64")], (0, 0), id="cast"
        ),
        pytest.param([operation("While", "int32", "variant", "float64")], (1, 1), id="a loop"),
        pytest.param([operation("NoOp")], (0, 0), id="no output"),
    ],
)
def test_products_are_counted_by_precision(operations, expected):
    assert products(graph(*operations)) == expected


def test_a_graph_of_another_kind_tells_nothing():
    assert products(SimpleNamespace()) == (0, 0)


def test_the_files_of_the_script_are_kept_once(state, monkeypatch, tmp_path):
    mine = ModuleType("mine_of_doubles")
    mine.__file__ = str(tmp_path / "mine.py")
    monkeypatch.setitem(sys.modules, "mine_of_doubles", mine)
    monkeypatch.setattr(_trace_products, "MAX_FILES", 100_000)
    keep_files(state)
    keep_files(state)
    assert state.writer.sources.count(mine.__file__) == 1
    assert json.__file__ not in state.writer.sources
