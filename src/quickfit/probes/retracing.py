"""Watches every trace of a `tf.function`: how long it took, of what, called from where."""

from __future__ import annotations

import sys
from json.encoder import encode_basestring_ascii as quoted
from types import FrameType, ModuleType
from typing import Any

from quickfit.probes import _label_uses
from quickfit.probes._guard import guarded
from quickfit.probes._hooks import wrap_quick
from quickfit.probes._imports import Patch, patching
from quickfit.probes._places import Place, absolute, is_user_file, place_of_function, user_place
from quickfit.probes._probe import Probe
from quickfit.probes._state import Current, State, now
from quickfit.probes._trace_products import keep_files, products
from quickfit.probes._trace_types import Leaf, Numbers, leaves

GRAPHS = "tensorflow.python.framework.func_graph"
CALLBACKS = "tensorflow.python.eager.polymorphic_function.transform"
EAGER_RUN = "tensorflow.python.eager.polymorphic_function.eager_function_run"
# Not patched: what is read of them is looked for when they are imported.
READ_ONLY = (
    "tensorflow.python.eager.polymorphic_function.tracing_compilation",
    "tensorflow.core.function.polymorphism.function_cache",
    "tensorflow.core.function.trace_type.default_types",
    "tensorflow.python.data.ops.structured_function",
    "tensorflow.python.autograph.impl.api",
)
# Function objects whose place is remembered; a script that makes new ones all the time has more.
MAX_PLACES = 5_000
# In the name of every file that autograph writes.
_GENERATED = "__autograph_generated_file"


def new_probe() -> Probe:
    """Return the probe of traces."""
    return Probe("retracing", needs=(GRAPHS, CALLBACKS))


def patches() -> dict[str, Patch]:
    """Return what to patch after which import."""
    return {
        GRAPHS: patching("retracing", _patch_graphs),
        CALLBACKS: patching("retracing", _patch_callbacks),
        EAGER_RUN: patching("retracing", _patch_eager_run),
        **{module: patching("retracing", lambda _: None) for module in READ_ONLY},
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
    if state is not None and not state.is_waiting:
        record = state.kept.get("record of a trace")
        if record is None:
            record = guarded(state.probes["retracing"], _record)
            state.kept["record of a trace"] = record
        record(concrete_function, state)


def _record(concrete_function: Any, state: State) -> None:
    at_s = now()
    frame = _tracing_frame(sys._getframe(1))
    if frame is None:
        return
    options = frame.f_locals["tracing_options"]
    graph = concrete_function.graph
    began_s = getattr(graph, "_quickfit_began_s", at_s)
    number = _function_number(options.function_cache, state)
    function = _known_place(number, frame, options, state)
    caller = state.source(line_of(frame))
    loop = state.current_loop()
    objects = state.kept.setdefault("traced objects", Numbers())
    found, more = leaves(frame.f_locals["function_type"], objects)
    is_nested = _tracing_frame(frame.f_back) is not None
    if function is not None and not is_nested:
        _label_uses.follow(concrete_function, state)
    state.new_id("trace")
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
            graph.num_operations() if hasattr(graph, "num_operations") else None,
            None,
            number,
            int(is_nested),
            loop.id if loop else None,
            _arguments(found, more, options, _products(graph, state)),
        ),
    )


def _products(graph: Any, state: State) -> str:
    """Return how many products of a graph are in double precision as JSON; nothing for none."""
    doubles, total = products(graph)
    if doubles:
        keep_files(state)
    return f',"products":[{doubles},{total}]' if total else ""


def _arguments(found: list[Leaf], more: int, options: Any, more_facts: str) -> str:
    """Return what the arguments were as JSON, with how the trace was asked for and what it is."""
    # By hand, this takes a fifth of the time that `json` needs.
    args = ",".join([f"[{quoted(a)},{quoted(b)},{quoted(c)}]" for a, b, c in found])
    more_text = f',"more":{more}' if more else ""
    is_compiled = options.attributes and options.attributes.get("_XlaMustCompile")
    jit = ',"jit":true' if is_compiled else ""
    relaxed = ',"relaxed":true' if options.reduce_retracing else ""
    return f'{{"args":[{args}]{more_text}{jit}{relaxed}{more_facts}}}'


def _known_place(number: int, frame: FrameType, options: Any, state: State) -> Place | None:
    """Return where the function of that number is written; looked for only once."""
    places: dict[int, Place | None] = state.kept.setdefault("traced places", {})
    if number not in places:
        if len(places) >= MAX_PLACES:
            places.clear()
        found = _place_of(options.python_function) or _place_of_map(frame, options)
        places[number] = state.source(found)
    return places[number]


def _function_number(cache: Any, state: State) -> int:
    """Return the number of a `tf.function` object, which its cache of traces stands for.

    The cache takes no weak reference, the dictionary in it does. What is traced without a cache,
    such as the function of a `Dataset.map`, is traced once and gets a number of its own.
    """
    functions: Numbers = state.kept.setdefault("traced functions", Numbers())
    return functions.of(getattr(cache, "_primary", None))


def _tracing_frame(frame: FrameType | None) -> FrameType | None:
    while frame is not None and frame.f_code.co_name != "_create_concrete_function":
        frame = frame.f_back
    return frame


def line_of(frame: FrameType | None) -> Place | None:
    """Return the user's line at or above a frame, also when it runs as autograph rewrote it."""
    rewritten: tuple[str, int] | None = None
    while frame is not None:
        code = frame.f_code
        if is_user_file(code.co_filename):
            return user_place(frame)
        if rewritten is None and _GENERATED in code.co_filename:
            rewritten = (code.co_filename, frame.f_lineno or code.co_firstlineno)
        elif rewritten is not None and code.co_name == "converted_call":
            place = _written(frame.f_locals.get("converted_f"), rewritten)
            if place is not None:
                return place
        frame = frame.f_back
    return None


def _written(converted: Any, rewritten: tuple[str, int]) -> Place | None:
    """Return the line of the user that a line of autograph's file was made from."""
    origin = getattr(converted, "ag_source_map", {}).get(rewritten)
    if origin is None or not is_user_file(origin.loc.filename):
        return None
    return Place(absolute(origin.loc.filename), origin.loc.lineno, origin.function_name)


def _place_of(function: Any) -> Place | None:
    """Return where the traced function is written, behind autograph's and Keras's wrappers."""
    decorator = sys.modules.get("tensorflow.python.util.tf_decorator")
    if decorator is not None:
        function = decorator.unwrap(function)[1]
    place = place_of_function(function)
    if place is not None and not is_user_file(place.file):
        return None
    return place


def _place_of_map(frame: FrameType, options: Any) -> Place | None:
    """Return where the function is written that was given to a method of a dataset."""
    if not (options.attributes or {}).get("_tf_data_function"):
        return None
    maker = frame.f_back
    while maker is not None and not maker.f_code.co_filename.endswith("structured_function.py"):
        maker = maker.f_back
    return _place_of(maker.f_locals.get("func")) if maker is not None else None
