"""What decides how a call of `fit`, `evaluate` or `predict` runs: model, input, compilation."""

from __future__ import annotations

import contextlib
import itertools
import sys
import weakref
from types import FrameType
from typing import Any

from quickfit.probes._frame_locals import read_locals
from quickfit.probes._places import Place
from quickfit.probes._state import State

# Names come again (`clear_session`, a name of the user's), and so does `id` of what is gone.
_numbers: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
_next_number = itertools.count(1)


def _model_number(model: Any) -> int | None:
    """Return a number that no other model of this process has."""
    try:
        return _numbers.setdefault(model, next(_next_number))
    except TypeError:  # it can be no key
        return None


def keras_frame(name: str = "fit") -> FrameType | None:
    """Return the frame of the call of `fit` that is under way on this thread, or None."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_name == name and "callbacks" in frame.f_code.co_varnames:
            return frame
        frame = frame.f_back
    return None


def facts_of(owner: Any, state: State, name: str = "fit") -> dict[str, Any]:
    """Return what decides how this `fit` runs: model, input, compilation, batch."""
    model = owner.model
    facts: dict[str, Any] = {
        "model": getattr(model, "name", None),
        "model_number": _model_number(model),
        "run_eagerly": bool(getattr(model, "run_eagerly", False)),
        "jit_compile": getattr(model, "jit_compile", None),
        "steps_per_execution": int(getattr(model, "steps_per_execution", 1) or 1),
        "steps": (owner.params or {}).get("steps"),
        "epochs": (owner.params or {}).get("epochs"),
        "optimizer": type(getattr(model, "optimizer", None)).__name__,
        "functions_run_eagerly": _functions_run_eagerly(),
    }
    count_parameters(model, facts)
    facts.update(_input_facts(name))
    compiled: Place | None = state.kept.get(f"compile {id(model)}")
    eager: Place | None = state.kept.get("run_functions_eagerly")
    for name, place in (("compile", compiled), ("run_functions_eagerly", eager)):
        if place is not None:
            state.source(place)
            facts[f"{name}_file"], facts[f"{name}_line"] = place.file, place.line
    return facts


def count_parameters(model: Any, facts: dict[str, Any]) -> None:
    """Note how many parameters a model has."""
    # Keras builds a model without an input shape in its first step; before that it has no count.
    with contextlib.suppress(Exception):
        facts["parameters"] = int(model.count_params())


def _functions_run_eagerly() -> bool:
    module = sys.modules.get("tensorflow.python.eager.polymorphic_function.eager_function_run")
    return bool(getattr(module, "RUN_FUNCTIONS_EAGERLY", False))


def _input_facts(name: str) -> dict[str, Any]:
    frame = keras_frame(name)
    adapter = None
    if frame is not None:
        adapter = getattr(read_locals(frame).get("epoch_iterator"), "data_adapter", None)
    if adapter is None:
        return {"input": "unknown"}
    kinds = {
        "GeneratorDataAdapter": "generator",
        "PyDatasetAdapter": "pydataset",
        "TFDatasetAdapter": "tf.data",
        "ArrayDataAdapter": "arrays",
    }
    facts: dict[str, Any] = {"input": kinds.get(type(adapter).__name__, type(adapter).__name__)}
    with contextlib.suppress(Exception):  # not every adapter knows its batch size
        facts["batch_size"] = adapter.batch_size
    return facts
