"""Reads how far a trace has got that is under way: the function, the line, the operations so far.

A trace is recorded when it has ended; one that unrolls a long loop takes minutes. The graph that
it fills is a variable of TensorFlow's frame on the stack of the thread that traces.
"""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

from quickfit.probes import _private
from quickfit.probes._places import Place
from quickfit.probes._state import State, now
from quickfit.probes.retracing import GRAPHS, line_of
from quickfit.probes.stacks import all_frames

TRACES = "func_graph_from_py_func"
# The bodies of `tf.while_loop` and `tf.cond` have graphs too, of classes made from this one.
_OF_FUNCTION = "FuncGraph"


def write(state: State) -> None:
    """Record the traces that are under way, one per thread."""
    if not _is_known(state):
        return
    at_s = now()
    for frame in all_frames().values():
        graphs = _graphs(frame)
        if graphs:
            place = state.source(line_of(frame))
            state.writer.add("tracing", _row(at_s, graphs, place))


def _is_known(state: State) -> bool:
    """Tell whether TensorFlow is there, and its frames are as they were when this was written."""
    module = sys.modules.get(GRAPHS)
    known: bool | None = state.kept.get("tracing")
    if known is None and module is not None and hasattr(module, TRACES):
        hooks = _private.hooks_of("tracing", module)
        state.hooks.update(((hook.probe, hook.name), hook) for hook in hooks)
        known = state.kept["tracing"] = all(hook.state == "active" for hook in hooks)
    return bool(known)


def _graphs(frame: FrameType | None) -> list[Any]:
    """Return the graphs of the innermost function that a thread traces, the innermost first."""
    graphs: list[Any] = []
    while frame is not None:
        code = frame.f_code
        if code.co_name == TRACES and code.co_filename.endswith("func_graph.py"):
            graph = frame.f_locals.get("func_graph")
            if graph is not None:
                graphs.append(graph)
            if type(graph).__name__ == _OF_FUNCTION:
                break
        frame = frame.f_back
    return graphs


def _row(at_s: float, graphs: list[Any], place: Place | None) -> tuple[Any, ...]:
    function = graphs[-1]
    operations = sum(graph.num_operations() for graph in graphs)
    began_s = getattr(function, "_quickfit_began_s", at_s)
    file, line = (place.file, place.line) if place is not None else (None, None)
    return (at_s, str(function.name), file, line, began_s, operations)
