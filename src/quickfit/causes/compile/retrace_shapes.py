"""A `tf.function` is traced again and again because the shapes of its arguments change.

Why it is slow: for each new shape TensorFlow runs the Python function again and builds a new
graph, which takes as long as many steps. Every graph is kept, so memory grows too.

How it shows: the same function is traced three times or more while steps run, the traces differ
in nothing but shapes, and steps with a trace take much longer than those without, or tracing is a
large part of every step.

Example:
    @tf.function
    def score(batch):
        return model(batch, training=False)

    for length in lengths:
        score(data[:, :length])

Use instead:
    @tf.function(reduce_retracing=True)
    def score(batch):
        return model(batch, training=False)

Fix class: same results. The traced graph computes the same for every shape. Padding to a few
fixed sizes, or `drop_remainder=True` for a smaller last batch, are the other ways.

When it is wrong: two traces at the start are normal, and one more for a smaller last batch.
Traces that differ in Python values or in function objects have another cause,
`retrace-python-args`.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Sequence

from quickfit.causes._cause import Cause
from quickfit.code.module import Module
from quickfit.code.program import Program
from quickfit.code.syntax import name_of
from quickfit.findings import (
    Change,
    Edit,
    Evidence,
    Finding,
    Fix,
    FixClass,
    Gain,
    Location,
    Symptom,
)
from quickfit.signals import Signals
from quickfit.signals.gains import gain
from quickfit.signals.traces import Trace, TracedSteps, traced_steps

# Below a tenth of the time the gain is smaller than the noise between runs.
MIN_SHARE = 0.10
# How much goes with the traces, as parts of the share that was measured: the first execution of
# a graph is slow too, and counts only where steps without a trace are there to compare with.
REMOVED = (0.6, 1.0, 1.3)
MOST = 0.99
_SHAPE = re.compile(r"shape=(\([^)]*\)|<unknown>|None)")


def detect(signals: Signals) -> Finding | None:
    """Report a function whose traces differ in shapes only and take a share of the time."""
    steps, found = signals.steps, _longest(signals)
    if found is None:
        return None
    traces, times = found
    traced_s = sum(trace.duration_s for trace in traces)
    share = min(times.cost_s(traced_s) / steps.total_s, 1.0)
    if not traces[0].is_in_loop:
        share = min(share, signals.wait.share)  # beside the step, it costs what is waited for
    if share < MIN_SHARE:
        return None
    return Finding(
        summary=f"`{traces[0].name}` is traced again for every new shape",
        where=_place(traces),
        evidence=(
            Evidence(
                "traces of it while steps ran",
                sum(trace.count for trace in traces),
                "count",
                f"{len({_shapes(t) for t in traces})} different shapes",
                traces[0].location,
            ),
            Evidence("of tracing in all", traced_s, "s", f"in {steps.total_s:.1f} s of steps"),
            times.evidence,
        ),
        gain=_gain(share),
        cost_share=share,
        # Seconds of a trace are also seconds of what it happens in.
        claims=("tracing", "callbacks" if traces[0].is_in_loop else "input_wait"),
        not_found=("changing Python values or new function objects",),
    )


def _gain(share: float) -> Gain:
    """Return the gain of tracing once; every new graph also costs its first execution."""
    basis = "one trace that fits every shape, and one graph to set up"
    parts = [min(part * share, MOST) for part in REMOVED]
    return gain(1.0, (1 - parts[0], 1 - parts[1], 1 - parts[2]), basis)


def _longest(signals: Signals) -> tuple[list[Trace], TracedSteps] | None:
    """Return the traces while steps ran that differ in nothing but shapes and took longest."""
    begin_s, end_s = signals.steps.begin_s, signals.steps.end_s
    groups: dict[tuple[object, ...], list[Trace]] = defaultdict(list)
    for trace in signals.traces:
        if trace.at_s <= end_s and not trace.is_nested:
            without_shapes = _SHAPE.sub("shape", trace.signature)
            key = (trace.name, trace.location, trace.function, without_shapes)
            groups[key].append(trace)
    found = []
    for group in groups.values():
        traces = [trace for trace in group if trace.at_s >= begin_s]
        shapes = {_shapes(trace) for trace in traces}
        earlier = {_shapes(trace) for trace in group} - shapes
        times = traced_steps(signals, traces)
        if times is not None and times.is_pattern(len(shapes), len(earlier)):
            found.append((traces, times))
    return max(found, key=lambda one: sum(t.duration_s for t in one[0]), default=None)


def _shapes(trace: Trace) -> tuple[str, ...]:
    return tuple(_SHAPE.findall(trace.signature))


def _place(traces: list[Trace]) -> Location | None:
    """Return the line that calls it with ever new shapes, where that is the user's."""
    return traces[0].caller or traces[0].location


def changes(finding: Finding, signals: Signals, program: Program) -> list[Change]:
    """Trace the function once for every shape, where its code does not ask for one."""
    found = _longest(signals)
    location = found[0][0].location if found is not None else None
    if location is None:
        return []
    modules = program.modules()
    change = traced_once(modules, file=location.file, line=location.line)
    return [change] if change is not None else []


Function = ast.FunctionDef | ast.AsyncFunctionDef
# What a graph for every shape cannot tell while it is traced.
_STATIC = ("get_shape", "int_shape", "as_list", "ndims", "unstack", "numpy")
# They decide otherwise, or compile for each shape anyway.
_SETTINGS = ("input_signature", "jit_compile", "experimental_relax_shapes", "experimental_compile")


def traced_once(modules: Sequence[Module], *, file: str, line: int) -> Change | None:
    """Return the change for the `tf.function` whose code begins at a line of a file."""
    function = _function_at(modules, file, line)
    if function is None or _needs_shape(modules, function):
        return None
    places = [*_decorated(modules, function, file), *_wrapped(modules, function.name)]
    if len(places) != 1:
        return None
    module, maker = places[0]
    edit = _relaxed(module, maker)
    if edit is None:
        return None
    return Change("Trace the function once for every shape", FixClass.SAME_RESULTS, (edit,))


def _function_at(modules: Sequence[Module], file: str, line: int) -> Function | None:
    for module in modules:
        for function in _functions(module) if module.path == file else ():
            if line in (function.lineno, module.begin(function)[0]):
                return function
    return None


def _functions(module: Module) -> list[Function]:
    return [*module.all(ast.FunctionDef), *module.all(ast.AsyncFunctionDef)]


def _decorated(
    modules: Sequence[Module], function: Function, file: str
) -> list[tuple[Module, ast.expr]]:
    module = next(module for module in modules if module.path == file)
    return [(module, maker) for maker in function.decorator_list if _is_tf_function(maker)]


def _wrapped(modules: Sequence[Module], name: str) -> list[tuple[Module, ast.expr]]:
    """Return the calls `tf.function(name)`."""
    return [
        (module, call)
        for module in modules
        for call in module.all(ast.Call)
        if _is_tf_function(call.func) and call.args and name_of(call.args[0]) == name
    ]


def _is_tf_function(node: ast.expr) -> bool:
    """Tell whether an expression is `tf.function`, `function` or a call of one with settings."""
    if isinstance(node, ast.Call) and not node.args:
        return _is_tf_function(node.func)
    return not isinstance(node, ast.Call) and name_of(node) == "function"


def _relaxed(module: Module, maker: ast.expr) -> Edit | None:
    if not isinstance(maker, ast.Call):
        return module.replace(maker, f"{module.code(maker)}(reduce_retracing=True)")
    if any(keyword.arg in _SETTINGS for keyword in maker.keywords) or len(maker.args) > 1:
        return None
    asked = [k.value for k in maker.keywords if k.arg == "reduce_retracing"]
    if any(not isinstance(value, ast.Constant) or value.value for value in asked):
        return None
    return module.with_keyword(maker, "reduce_retracing", "True")


def _needs_shape(modules: Sequence[Module], function: Function) -> bool:
    """Tell whether a function, or what it calls, asks in Python how large its arguments are."""
    known: dict[str, list[Function]] = {}
    for module in modules:
        for other in _functions(module):
            known.setdefault(other.name, []).append(other)
    # A model calls these by itself.
    waiting = [function, *known.get("call", ()), *known.get("train_step", ())]
    seen: set[Function] = set()
    while waiting:
        one = waiting.pop()
        if one in seen:
            continue
        seen.add(one)
        if any(_asks(node) for statement in one.body for node in ast.walk(statement)):
            return True
        calls = [n for n in ast.walk(one) if isinstance(n, ast.Call)]
        waiting += [other for call in calls for other in known.get(name_of(call.func), ())]
    return False


def _asks(node: ast.AST) -> bool:
    if isinstance(node, ast.Attribute) and node.attr == "shape":
        return name_of(node.value) not in ("tf", "tensorflow", "ops", "K", "backend")
    if isinstance(node, ast.Call):
        return name_of(node.func) in (*_STATIC, "len")
    return isinstance(node, ast.Attribute) and node.attr in _STATIC


CAUSE = Cause(
    title="A function is traced again for every shape",
    symptom=Symptom.SLOW,
    detect=detect,
    advice=Fix(title="Trace the function once for every shape", kind=FixClass.SAME_RESULTS),
    changes=changes,
)
