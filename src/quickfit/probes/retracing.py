"""Watches every trace of a `tf.function`: how long it took, of what, called from where."""

from __future__ import annotations

import sys
from types import FrameType, ModuleType
from typing import Any

from quickfit.probes._guard import guarded
from quickfit.probes._hooks import wrap_quick
from quickfit.probes._imports import Patch, patching
from quickfit.probes._places import Place, is_user_file, place_of_function, user_place
from quickfit.probes._probe import Probe
from quickfit.probes._state import Current, State, now

GRAPHS = "tensorflow.python.framework.func_graph"
CALLBACKS = "tensorflow.python.eager.polymorphic_function.transform"
EAGER_RUN = "tensorflow.python.eager.polymorphic_function.eager_function_run"
MAX_SIGNATURE = 1500


def new_probe() -> Probe:
    """Return the probe of traces."""
    return Probe("retracing", needs=(GRAPHS, CALLBACKS))


def patches() -> dict[str, Patch]:
    """Return what to patch after which import."""
    return {
        GRAPHS: patching("retracing", _patch_graphs),
        CALLBACKS: patching("retracing", _patch_callbacks),
        EAGER_RUN: patching("retracing", _patch_eager_run),
    }


def _patch_graphs(module: ModuleType) -> None:
    wrap_quick(module.FuncGraph, "__init__", _graph_begins)


def _patch_callbacks(module: ModuleType) -> None:
    # A list that TensorFlow keeps for this: called with every new ConcreteFunction.
    module.CONCRETE_FUNCTION_CALLBACKS.append(_traced)


def _patch_eager_run(module: ModuleType) -> None:
    wrap_quick(module, "run_functions_eagerly", _functions_run_eagerly)


def _functions_run_eagerly(_: None, *args: Any) -> None:
    state = Current.state
    if state is not None:
        state.kept["run_functions_eagerly"] = user_place(sys._getframe(2))


def _graph_begins(_: None, graph: Any, *__: Any) -> None:
    graph._quickfit_began_s = now()


def _traced(concrete_function: Any) -> None:
    state = Current.state
    if state is not None:
        guarded(state.probes["retracing"], _record)(concrete_function, state)


def _record(concrete_function: Any, state: State) -> None:
    at_s = now()
    frame = _tracing_frame(sys._getframe(1))
    if frame is None:
        return
    options = frame.f_locals["tracing_options"]
    graph = concrete_function.graph
    began_s = getattr(graph, "_quickfit_began_s", at_s)
    function = state.source(_place_of(options.python_function))
    caller = state.source(user_place(frame))
    loop = state.current_loop()
    state.writer.add(
        "traces",
        (
            at_s,
            at_s - began_s,
            str(options.name),
            function.file if function else None,
            function.line if function else None,
            caller.file if caller else None,
            caller.line if caller else None,
            len(graph._nodes_by_name) if hasattr(graph, "_nodes_by_name") else None,
            _signature(frame.f_locals["function_type"]),
            id(options.function_cache) % (1 << 31),
            int(_tracing_frame(frame.f_back) is not None),
            loop.id if loop else None,
        ),
    )


def _signature(function_type: Any) -> str:
    """Return the arguments of a trace as text, without what it returns."""
    return ", ".join(str(p) for p in function_type.parameters.values())[:MAX_SIGNATURE]


def _tracing_frame(frame: FrameType | None) -> FrameType | None:
    while frame is not None:
        if frame.f_code.co_name == "_create_concrete_function":
            return frame
        frame = frame.f_back
    return None


def _place_of(function: Any) -> Place | None:
    """Return where the traced function is written, behind autograph's and Keras's wrappers."""
    decorator = sys.modules.get("tensorflow.python.util.tf_decorator")
    if decorator is not None:
        function = decorator.unwrap(function)[1]
    place = place_of_function(function)
    if place is not None and not is_user_file(place.file):
        return None
    return place
