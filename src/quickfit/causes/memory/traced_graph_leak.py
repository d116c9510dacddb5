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

from collections.abc import Iterator

from quickfit.causes._cause import Cause, example, running_out
from quickfit.findings import Effect, Evidence, Finding, Fix, FixClass, Spotted, Symptom
from quickfit.patterns.retraced import retraced
from quickfit.program import Module, Program
from quickfit.program.conditions import never_runs
from quickfit.program.purposes import is_for_tests
from quickfit.signals import Signals
from quickfit.signals.kept_objects import keeping_line, said_by
from quickfit.signals.kept_traces import KeptTraces, grown_graph, kept_traces
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


def fix(finding: Finding, signals: Signals) -> Fix | None:
    """Show how to call a function with one signature."""
    return Fix(
        title="Call the function with tensors of a few shapes, and define it once",
        kind=FixClass.SAME_RESULTS,
        example=example(__doc__ or "", "Use instead"),
        note="Graphs that are kept already go with the function object that holds them.",
    )


CAUSE = Cause(
    title="Every trace keeps its graph",
    symptom=Symptom.MEMORY,
    detect=detect,
    scan=scan,
    fix=fix,
)
