"""What `fit` works on, as its frame and its compiled step tell it."""

import sys
import threading
import weakref
from types import SimpleNamespace

import numpy as np
import pytest

from graphs import PAIRS, Graph
from quickfit.probes import fit_shapes


@pytest.fixture(autouse=True)
def _names_are_there(state):
    state.kept["fit_shapes"] = True


def spec(shape, dtype="float32"):
    return SimpleNamespace(shape=shape, dtype=SimpleNamespace(name=dtype))


def frame(parts, **given):
    adapter = SimpleNamespace(num_batches=given.pop("batches", None))
    dataset = SimpleNamespace(element_spec=parts)
    epochs = SimpleNamespace(data_adapter=adapter, _distributed_dataset=dataset)
    return frame_with({"epoch_iterator": epochs, **given})


def frame_with(names):
    """Return what stands for the frame of `fit`."""
    return SimpleNamespace(f_locals=names, f_trace=None, f_code=noted.__code__)


def model(graph=None):
    """Return a model with one weight and, if a graph is given, a step that was compiled."""
    weight = SimpleNamespace(shape=(4, 1), dtype="float32")
    small = SimpleNamespace(shape=(1,), dtype="float16")
    made = SimpleNamespace(trainable_variables=[small, weight])
    if graph is not None:
        concrete = SimpleNamespace(
            graph=graph, structured_input_signature=(((spec([None, 4]), spec([None])),), {})
        )
        function = SimpleNamespace(_list_all_concrete_functions=lambda: [concrete])
        made.train_function = _closure(SimpleNamespace(__wrapped__=function))
    return made


def _closure(one_step_on_data):
    def train_function():
        return one_step_on_data

    return train_function


def noted(*args):
    facts = {}
    fit_shapes.note(*args[:2], facts, args[2])
    return facts


def test_types_and_shapes_of_a_batch_are_noted(state):
    parts = ({"b": spec([None, 2]), "a": spec([None], "int64")}, [spec([None, 1])], spec([None]))
    facts = noted(model(), frame(parts, batches=9, steps_per_epoch=7, validation_steps=None), state)
    assert facts["batch"] == [
        ["input", "int64", [None]],
        ["input", "float32", [None, 2]],
        ["label", "float32", [None, 1]],
        ["weight", "float32", [None]],
    ]
    assert (facts["data_batches"], facts["steps_per_epoch"]) == (9, 7)
    assert facts["variable_dtype"] == "float32"
    assert "validation_steps" not in facts
    assert "labels_broadcast" not in facts


def test_labels_are_followed_through_the_compiled_step(state):
    graph = Graph()
    graph.loss("Sub", PAIRS, graph.labels, graph.predictions)
    facts = noted(model(graph), frame((spec([None, 4]), spec([None]))), state)
    assert facts["labels_broadcast"]["result"] == [None, None]


def test_inputs_are_no_labels(state):
    graph = Graph()
    scaled = graph.op("Mul", (None, 4, 4), graph.x, graph.op("Const", (4, 1)))
    graph.op("Mul", (None, 4, 4), scaled, name="gradient_tape/Mul")
    facts = noted(model(graph), frame((spec([None, 4]), spec([None]))), state)
    assert "labels_broadcast" not in facts


@pytest.mark.parametrize("count", [[3], "x", -1, None])
def test_what_is_no_count_stays_away(state, count):
    facts = noted(model(), frame(spec([None, 2]), validation_freq=count), state)
    assert "validation_freq" not in facts
    assert facts["data_batches"] is None
    assert facts["batch"] == [["input", "float32", [None, 2]]]


def test_nothing_is_noted_without_a_frame_or_without_the_names(state):
    assert noted(model(), None, state) == {}
    state.kept["fit_shapes"] = False
    assert noted(model(), frame(spec([None, 2])), state) == {}


def test_what_fit_drops_is_gone(state):
    def fit():
        iterator = Batches()
        seen = weakref.ref(iterator)
        noted(model(), sys._current_frames()[threading.get_ident()], state)
        del iterator
        return seen()

    assert fit() is None, "the iterator of the first epoch lives as long as `fit`"


def test_an_odd_model_tells_what_it_can(state):
    odd = frame_with({"epoch_iterator": None})
    assert noted(SimpleNamespace(), odd, state) == {}


class Batches:
    """A PyDataset whose properties are code of the user's, which the probe must not run."""

    def __init__(self, **given):
        vars(self).update(given)

    @property
    def workers(self):
        raise AssertionError


def fed_by(**adapter):
    made = frame((spec([None, 8, 8, 3]), spec([None])))
    vars(made.f_locals["epoch_iterator"].data_adapter).update(adapter)
    return made


@pytest.mark.parametrize(
    ("adapter", "examples"),
    [
        ({"_first_batches": [(np.zeros((24, 8)), np.zeros(24))] * 2}, 24),
        ({"_first_batches": [(np.zeros((24, 8)), np.zeros(24)), (np.zeros((9, 8)), None)]}, None),
        ({"py_dataset": Batches(batch_size=24, shuffle=True)}, 24),
        ({"py_dataset": Batches(batch_size=24, batch=9)}, None),
        ({"py_dataset": Batches(batch_size="24")}, None),
        ({"py_dataset": Batches(batch_size=True)}, None),
        ({"py_dataset": Batches()}, None),
        ({}, None),
    ],
)
def test_the_examples_of_a_batch_that_python_makes_are_noted(state, adapter, examples):
    assert noted(model(), fed_by(**adapter), state).get("batch_examples") == examples
