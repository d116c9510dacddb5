"""A function is traced again and again, and the graph of every trace is kept.

Why it is slow: a `tf.function` keeps one graph for every new shape, type or Python value it is
called with, for as long as it lives, and never drops the oldest. Each is a megabyte or more. A
graph of TensorFlow 1 that is added to in every step grows the same way.

How it shows: memory in use grows to the end of the run, and only while something is traced; each
trace leaves hundreds of Python's memory blocks behind, and the graphs it made are still alive.

Example:
    @tf.function
    def train_step(x, rate):
        return update(x, rate)

    for step in range(10_000):
        train_step(x, 0.1 / (step + 1))

Use instead:
    @tf.function
    def train_step(x, rate):
        return update(x, rate)

    for step in range(10_000):
        train_step(x, tf.constant(0.1 / (step + 1)))

Fix class: same results. Numbers are handed over as tensors; lengths that change are padded to a
few sizes or declared in `input_signature`; what is compiled in a loop is compiled once before it.
`retrace-shapes` and `retrace-python-args` say what differed, where they find the time.

When it is wrong: some tens of traces at the start belong to every run, and so do those of
validation. They end, and nothing is reported.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from quickfit.causes._cause import Cause, running_out
from quickfit.causes._shared.train_loops.steps_in_text import COMPILES, compiles, is_over_dataset
from quickfit.code.conditions import is_for_tests, never_runs
from quickfit.code.keras_models import is_model
from quickfit.code.loops import COMPREHENSIONS, Turns, is_many, turns_around
from quickfit.code.module import Module
from quickfit.code.program import Program
from quickfit.code.syntax import FUNCTIONS, LOOPS, Function, name_of
from quickfit.findings import Effect, Evidence, Finding, Fix, FixClass, Spotted, Symptom
from quickfit.signals import Signals
from quickfit.signals.holders import keeping_line, said_by
from quickfit.signals.leak_kinds import KeptTraces, grown_graph, kept_traces
from quickfit.signals.leaks import Leak

# So many function objects of one piece of code: it is defined anew each time.
MIN_FUNCTIONS = 5


def detect(signals: Signals) -> Finding | None:
    """Report graphs that stay alive while memory grows."""
    leak = signals.leak
    if leak is None or leak.kind not in ("traces", "graph"):
        return None
    traces = kept_traces(signals, leak)
    if traces is not None:
        return _of_traces(leak, traces)
    return _of_graph(signals, leak)


def scan(module: Module, program: Program) -> Iterator[Spotted]:
    """Report every `tf.function` that a loop makes, and traces, anew in each turn."""
    if is_for_tests(module):
        return
    for found in retraced(program, module):
        if never_runs(program, module, found.node):
            continue
        loop = found.around
        what = f"`{found.name}`" if found.name else "this function"
        yield Spotted(
            where=module.span(found.node),
            summary=f"{what} is compiled anew in each turn of the loop at line {loop.line}: "
            "it is traced each time, and every graph is kept",
            effect=Effect.SLOW,
            related=((loop.module.span(loop.loop), "the loop"),) if loop.calls else (),
        )


def _of_traces(leak: Leak, traces: KeptTraces) -> Finding:
    each = leak.growth.total / traces.traces
    facts = [
        *leak.evidence(),
        Evidence("traces meanwhile", traces.traces, "count", f"{each / 1e3:,.0f} kB for each"),
    ]
    if traces.graphs is not None:
        span = f"counted {traces.graphs.window_s:.0f} s apart"
        facts.append(Evidence("more graphs are alive", traces.graphs.total, "count", span))
    elif traces.blocks is not None:
        what = "of Python's memory blocks are left by each trace"
        facts.append(Evidence(what, traces.blocks, "count"))
    where = traces.caller or traces.location
    return running_out(leak.exhaustion(), _summary(traces), where, *facts)


def _summary(traces: KeptTraces) -> str:
    if traces.functions >= MIN_FUNCTIONS:
        return f"`{traces.name}` is made and traced anew, and its graphs are kept"
    return f"every trace of `{traces.name}` keeps a graph"


def _of_graph(signals: Signals, leak: Leak) -> Finding | None:
    grown = grown_graph(signals)
    if grown is None:
        return None
    line = keeping_line(signals, ())
    more = Evidence(
        "more operations in graphs are alive",
        grown.total,
        "count",
        f"{grown.per_step or 0:.1f} with every step, without a trace; {said_by(line, signals)}",
    )
    where = line.location if line is not None else signals.loop.location
    summary = "a graph is added to in every step"
    return running_out(leak.exhaustion(), summary, where, *leak.evidence(), more)


# One for each of a few models or settings is meant so.
MIN_TURNS = 4
# Give numbers.
_NUMBERS = frozenset(
    f"builtins.{name}" for name in ("min", "max", "abs", "round", "float", "int", "pow", "len")
)


@dataclass(frozen=True)
class Retraced:
    """A compiled function that a loop makes anew; `node` is what makes it."""

    node: ast.AST
    name: str
    around: Turns


def retraced(program: Program, module: Module) -> Iterator[Retraced]:
    """Yield what compiles the same function again in each turn of a loop."""
    for node, name, place in (*_decorated(program, module), *_wrapped(program, module)):
        around = turns_around(program, module, place)
        if not around or not is_many(program, around, MIN_TURNS):
            continue
        if not _is_called(module, place, name) or _is_cached(module, place):
            continue
        if all(_is_the_same(program, module, place, each) for each in around):
            yield Retraced(node, name, around[0])


def _decorated(program: Program, module: Module) -> Iterator[tuple[ast.AST, str, ast.AST]]:
    for function in module.all(ast.FunctionDef):
        for decorator in function.decorator_list:
            if _mentions(decorator) and compiles(program, module, decorator):
                yield decorator, function.name, function


def _mentions(decorator: ast.expr) -> bool:
    named = decorator.func if isinstance(decorator, ast.Call) else decorator
    return name_of(named) in ("function", "partial", "tf_function")


def _wrapped(program: Program, module: Module) -> Iterator[tuple[ast.AST, str, ast.AST]]:
    """Yield the calls `step = tf.function(step)` and `tf.function(step)(x)`."""
    for call in module.calls("function"):
        above = module.parent(call)
        if not call.args or program.called(module, call) != COMPILES:
            continue
        if isinstance(above, ast.Call) and above.func is call:
            yield call, "", call
        elif isinstance(above, ast.Assign) and isinstance(above.targets[0], ast.Name):
            yield call, above.targets[0].id, call


def _is_called(module: Module, place: ast.AST, name: str) -> bool:
    """Tell whether the function is called where it is made, and goes nowhere else."""
    if not name:
        return True
    home = module.around(place, *FUNCTIONS, *LOOPS) or module.tree
    uses = [n for n in ast.walk(home) if isinstance(n, ast.Name) and n.id == name]
    reads = [n for n in uses if isinstance(n.ctx, ast.Load) and not module.is_in(n, place)]
    called = [n for n in reads if _is_function_of_call(module, n)]
    return bool(called) and len(called) == len(reads)


def _is_function_of_call(module: Module, node: ast.AST) -> bool:
    above = module.parent(node)
    return isinstance(above, ast.Call) and above.func is node


def _is_cached(module: Module, place: ast.AST) -> bool:
    """Tell whether the function around is one that is run once for each of its arguments."""
    around = module.function(place)
    return bool(getattr(around, "decorator_list", []))


def _is_the_same(program: Program, module: Module, place: ast.AST, around: Turns) -> bool:
    """Tell whether nothing that a function is made of is new in a turn, but data and numbers."""
    loop = around.loop
    if around.calls:
        return _is_given_the_same(program, module, place, around)
    # The parts of an outer loop count as well, such as the model of a fold.
    names = [n for n in ast.walk(_source(program, module, place)) if isinstance(n, ast.Name)]
    bindings = program.files.bindings(module)
    for name in names:
        for binding in bindings.reaching(name, name.id):
            node = binding.node
            if module.is_in(node, place) or not module.is_in(node, loop) or node is place:
                continue
            if not _is_data(program, module, node):
                return False
    return True


def _source(program: Program, module: Module, place: ast.AST) -> ast.AST:
    """Return the function that is compiled, where it stands in the loop; else what names it."""
    if not isinstance(place, ast.Call):
        return place
    for value in program.values(module, place.args[0]):
        node = getattr(value, "node", None)
        if isinstance(node, FUNCTIONS) and getattr(value, "module", None) is module:
            return node
    return place


def _is_data(program: Program, module: Module, node: ast.AST) -> bool:
    """Tell whether a loop counts, or runs over a dataset, or a number is computed: no model."""
    if isinstance(node, ast.For):
        return is_over_dataset(program, module, node) or _is_counting(node)
    if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
        return _is_number(program, module, node.value)
    return isinstance(node, ast.FunctionDef | ast.AugAssign)


def _is_number(program: Program, module: Module, node: ast.expr) -> bool:
    """Tell whether an expression is arithmetic: `min(1.0, epoch / 10)`."""
    if not isinstance(node, ast.BinOp | ast.UnaryOp | ast.Compare | ast.Constant | ast.Call):
        return False
    calls = [n for n in ast.walk(node) if isinstance(n, ast.Call)]
    return all(_is_arithmetic(program.called(module, call)) for call in calls)


def _is_arithmetic(name: str) -> bool:
    return name in _NUMBERS or name.startswith("math.")


def _is_counting(loop: ast.For) -> bool:
    iterated = loop.iter
    return isinstance(iterated, ast.Call) and name_of(iterated.func) in ("range", "trange")


def _is_given_the_same(program: Program, module: Module, place: ast.AST, around: Turns) -> bool:
    """Tell whether the call in a loop hands no model over that is new in the turn."""
    function = module.function(place)
    if function is None or _makes_model(program, module, function):
        return False
    other, call = around.calls[0]
    parts = [*call.args, *(k.value for k in call.keywords)]
    parts += [call.func.value] if isinstance(call.func, ast.Attribute) else []
    bindings = program.files.bindings(other)
    for name in (n for part in parts for n in ast.walk(part) if isinstance(n, ast.Name)):
        for binding in bindings.reaching(name, name.id):
            is_new = other.is_in(binding.node, around.loop) and other is around.module
            if is_new and not _is_data(program, other, binding.node):
                return False
    return isinstance(around.loop, (*LOOPS, *COMPREHENSIONS))


def _makes_model(program: Program, module: Module, function: Function) -> bool:
    """Tell whether a function makes a model or an optimizer, for which it needs a new step."""
    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            made = program.maker(module, node.value)
            if is_model(program, module, node.value) or made.startswith("keras."):
                return True
            if made in ("tensorflow.Variable", "") and not _is_step_value(program, module, node):
                return True
    return False


def _is_step_value(program: Program, module: Module, node: ast.Assign) -> bool:
    """Tell whether something is a result of methods or functions, no new object of a class."""
    name = name_of(node.value.func) if isinstance(node.value, ast.Call) else ""
    return not name[:1].isupper() and not name.startswith(("build", "make", "create", "get_model"))


CAUSE = Cause(
    title="Every trace keeps its graph",
    symptom=Symptom.MEMORY,
    detect=detect,
    scan=scan,
    advice=Fix(
        title="Call the function with tensors of a few shapes, and define it once",
        kind=FixClass.SAME_RESULTS,
        note="Graphs that are kept already go with the function object that holds them.",
    ),
)
