"""A `tf.function` is traced again and again: for every new Python value, or made anew each time.

Why it is slow: a Python number, string or object is built into the graph, so each new one needs a
graph of its own. A function that is decorated inside the loop starts without any graph. Tracing
takes as long as many steps, and every graph is kept, so memory grows too.

How it shows: the same code is traced three times or more while steps run; the traces differ in a
Python value, in an object or in the function object itself; and steps with a trace take much
longer than those without, or tracing is a large part of every step.

Example:
    for step, (x, y) in enumerate(ds):
        train_step(x, y, 0.01 * 0.99**step)

Use instead:
    for step, (x, y) in enumerate(ds):
        train_step(x, y, tf.constant(0.01 * 0.99**step))

Fix class: may change results for a value that becomes a tensor: it is then rounded to 32 bits
first. The same results for a function that is made once, before the loop.

When it is wrong: two or three values that take turns (`training=True` and `False`) cost a trace
each and no more. Traces that differ in shapes only are `retrace-shapes`; what Keras traces for
`fit` again after each `compile` is `fit-or-compile-in-loop`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import dataclass

from quickfit.causes._cause import Cause, example
from quickfit.causes._shared.train_loops.compiled_steps import hoisted_function
from quickfit.code.compiled_functions import is_made_here, is_method, wrapping_lines
from quickfit.code.constants import PythonNumbers
from quickfit.code.graph_code import GraphCode, argument_for_parameter, is_graph_path
from quickfit.code.module import Module
from quickfit.code.program import Program
from quickfit.code.scopes import dotted, import_path, reads, writes
from quickfit.code.syntax import Def
from quickfit.findings import Change, Evidence, Finding, Fix, FixClass, Gain, Location, Symptom
from quickfit.signals import Signals
from quickfit.signals.compiling import delay_share, main_cpu_s
from quickfit.signals.gains import gain
from quickfit.signals.traces import Retraced, TracedSteps, retraced, traced_steps

# Below a tenth of the time the gain is smaller than the noise between runs.
MIN_SHARE = 0.10
# How much goes with the traces where some steps have none, as parts of what was measured.
REMOVED = (0.8, 1.0, 1.2)
# Where every step traces: what goes beside the traces, in multiples of the main thread's other
# work. That is setting up the new graph, a part of which other threads do meanwhile.
GOES = (0.5, 0.95, 1.5)
# Never more than this share of the time goes.
MOST = 0.98
# The reasons, the one that explains most first.
REASONS = ("function", "value", "object", "structure")


def detect(signals: Signals) -> Finding | None:
    """Report the function whose traces for Python's sake take the most time."""
    found = _longest(signals)
    if found is None:
        return None
    (again, times), steps = found, signals.steps
    gained = _gain(signals, again, times)
    share = 1 - 1 / gained.likely
    if share < MIN_SHARE:
        return None
    return Finding(
        summary=_summary(again),
        where=_place(again, signals),
        evidence=(
            Evidence(
                "traces of it while steps ran", again.count, "count", f"in {len(steps.steps)} steps"
            ),
            Evidence("of tracing in all", again.seconds, "s", f"in {steps.total_s:.1f} s of steps"),
            times.evidence,
        ),
        gain=gained,
        cost_share=share,
        # Seconds of a trace are also seconds of what it happens in.
        claims=("tracing", "callbacks" if signals.loop.kind == "fit" else "step"),
        not_found=("shapes that change",),
    )


def _longest(signals: Signals) -> tuple[Retraced, TracedSteps] | None:
    """Return what is traced again for longest of what goes on being traced, and its steps."""
    for again in retraced(signals, REASONS):
        times = traced_steps(signals, again.traces)
        if times is not None and times.is_pattern(again.count, again.earlier):
            return again, times
    return None


def _summary(again: Retraced) -> str:
    reason = again.reason
    if reason.kind == "function":
        return f"`{again.name}` is made into a new `tf.function` and traced each time"
    what = {"value": "Python value", "object": "Python object"}.get(reason.kind, "structure")
    return f"`{again.name}` is traced again for every new {what} of `{reason.argument}`"


def _gain(signals: Signals, again: Retraced, times: TracedSteps) -> Gain:
    steps = signals.steps
    if times.plain:
        share = min(times.cost_s(again.seconds) / steps.total_s, 1.0)
        parts = [1 - min(part * share, MOST) for part in REMOVED]
        return gain(1.0, (parts[0], parts[1], parts[2]), "one graph instead of one for each trace")
    step_s, traced_s = steps.mean_s, again.seconds / len(steps.steps)
    rest_s = max(step_s - traced_s, 0.0)
    # The main thread waits while a graph runs, and works, or stands in line for a core, while one
    # is set up. In `fit` it is not known which of both its own step is.
    busy_s = main_cpu_s(signals) + delay_share(signals) * step_s
    setup_s = 0.0 if signals.loop.kind == "fit" else min(max(busy_s - traced_s, 0.0), rest_s)
    after = [max(rest_s - goes * setup_s, (1 - MOST) * step_s) for goes in GOES]
    basis = "one graph, set up once; what runs while the main thread waits stays"
    return gain(step_s, (after[0], after[1], after[2]), basis)


def _place(again: Retraced, signals: Signals) -> Location | None:
    """Return the call, or for a function that is made anew the line that makes it."""
    where = again.location
    if again.reason.kind != "function" or where is None:
        return again.caller or where
    text = signals.source_text(where.file)
    if is_method(text, where.line):
        return again.caller or where  # each new object has its own: it is made elsewhere
    if is_made_here(text, where.line):
        return where
    for file in dict.fromkeys(p.file for p in (again.caller, where) if p is not None):
        lines = wrapping_lines(signals.source_text(file), again.name)
        if len(lines) == 1:
            return signals.location(file, lines[0])
    return again.caller or where


def fix(finding: Finding, signals: Signals) -> Fix | None:
    """Turn the argument into a tensor, or show how to make the function or object once."""
    found = _longest(signals)
    if found is None:
        return None
    again = found[0]
    if again.reason.kind == "function":
        return Fix(
            title="Make the function once, before the loop",
            kind=FixClass.SAME_RESULTS,
            example="@tf.function\ndef step(x):\n    ...\n\nfor x in ds:\n    step(x)",
            note="What it took from the loop's variables becomes an argument, as a tensor.",
        )
    argument = again.reason.argument
    if again.reason.kind != "value":
        return Fix(
            title=f"Give the same `{argument}` each time",
            kind=FixClass.MAY_CHANGE_RESULTS,
            example="settings = Settings()\n\nfor x in ds:\n    step(x, settings)",
            note="What is new in each step goes into tensors: `tf.constant`, `tf.Variable`.",
        )
    return Fix(
        title=f"Give `{argument}` as a tensor",
        kind=FixClass.MAY_CHANGE_RESULTS,
        example=example(__doc__ or "", "Use instead"),
        note=_note(again.reason.after),
    )


def _note(value: str) -> str:
    note = (
        "The value is rounded to 32 bits first; where Python itself needs it (`range`, a shape),"
        " keep it outside the function."
    )
    if value.lstrip("-").isdecimal():
        note += " A whole number stays one: `tf.cast` it where it meets floats."
    return note


def changes(finding: Finding, signals: Signals, program: Program) -> list[Change]:
    """Give a tensor for a number, or make the function once."""
    where, modules = finding.where, program.modules()
    module = program.find_module(where.file) if where is not None else None
    if where is None or module is None:
        return []
    longest = _longest(signals)
    if longest is None:
        return []
    again, found = longest[0], None
    made, reason = again.location, again.reason
    if reason.kind == "function":
        found = hoisted_function(module, where.line, modules)
    elif reason.kind == "value" and made is not None:
        given = Argument(made.file, made.line, again.name, reason.argument, reason.after)
        found = tensor_argument(module, where.line, given, modules)
    return [found] if found is not None else []


NOTE = "The number is rounded to 32 bits first, and what the function computes from it is, too."
_ARITHMETIC = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Pow)
# They compute with each number they are given, and take none for a shape or an axis.
_MATHS = {
    "maximum", "minimum", "exp", "log", "sqrt", "pow", "multiply", "add", "subtract", "divide",
    "square", "abs", "tanh", "sigmoid", "cos", "sin", "reduce_mean", "reduce_sum",
}  # fmt: skip
_INNER = (ast.Lambda, ast.FunctionDef, ast.AsyncFunctionDef)
_ASSIGNS = {"assign", "assign_add", "assign_sub"}
# A 32-bit tensor meets only 32-bit tensors.
_OTHER_WIDTHS = re.compile(r"set_floatx|mixed_|float16|float64|\bdouble\b|dtype_policy")


@dataclass(frozen=True)
class Argument:
    """A compiled function that is given another number each time.

    Args:
        file, line: where the function begins, with its decorator.
        name: what it is called.
        argument: the parameter.
        value: a number that was given, as Python writes it.
    """

    file: str
    line: int
    name: str
    argument: str
    value: str


def tensor_argument(
    module: Module, line: int, retraced: Argument, modules: Sequence[Module]
) -> Change | None:
    """Wrap what the call of a function at a line gives for one argument in `tf.constant`."""
    call, made = _call_on(module, line, retraced.name), _compiled(modules, retraced)
    if call is None or made is None or any(_OTHER_WIDTHS.search(s.text) for s in modules):
        return None
    given = argument_for_parameter(call, made[1], retraced.argument)
    if given is None or not PythonNumbers(modules).is_number(module, given):
        return None
    is_whole = retraced.value.lstrip("-").isdecimal()
    uses = _Uses(made[0], made[1], GraphCode(modules), is_whole)
    alias, imports = module.import_of("tensorflow", "tf")
    if imports or not uses.are_computed_with(retraced.argument):
        return None
    edit = module.replace(given, f"{alias}.constant({module.code(given)}, {alias}.float32)")
    title = f"Give `{retraced.argument}` as a tensor"
    return Change(title, FixClass.EQUIVALENT, (edit,), NOTE)


def _call_on(module: Module, line: int, name: str) -> ast.Call | None:
    """Return the only call of a function whose name stands on a line, or that spans it."""
    named = [c for c in module.all(ast.Call) if dotted(c.func).rpartition(".")[2] == name]
    on_line = [c for c in named if c.func.end_lineno == line]
    within = [c for c in named if c.lineno <= line <= (c.end_lineno or 0)]
    found = on_line or within
    return found[0] if len(found) == 1 else None


def _compiled(modules: Sequence[Module], retraced: Argument) -> tuple[Module, Def] | None:
    """Return the function that is traced again."""
    for module in modules:
        for node in module.all(ast.FunctionDef) if module.path == retraced.file else ():
            lines = (node.lineno, *(d.lineno for d in node.decorator_list))
            if node.name == retraced.name and retraced.line in lines:
                return module, node
    return None


@dataclass(frozen=True)
class _Uses:
    """What a function does with a number; `is_whole` where it is given whole ones."""

    module: Module
    function: Def
    code: GraphCode
    is_whole: bool

    def are_computed_with(self, name: str) -> bool:
        """Tell whether the function only computes with a number, as it can with a tensor."""
        body = [n for s in self.function.body for n in ast.walk(s)]
        if name in writes(*self.function.body) or any(isinstance(n, _INNER) for n in body):
            return False
        uses = [n for n in body if isinstance(n, ast.Name) and n.id == name]
        return bool(uses) and all(self._is_legal(n, is_whole=self.is_whole) for n in uses)

    def _is_legal(self, use: ast.expr, *, is_whole: bool) -> bool:
        top, parent = use, self.module.parent(use)
        while isinstance(parent, ast.BinOp | ast.UnaryOp):
            if not isinstance(parent.op, (*_ARITHMETIC, ast.USub)):
                return False
            top, parent = parent, self.module.parent(parent)
        if is_whole and not _is_made_float(top):
            return False  # it may meet whole numbers, which a float tensor does not
        if self._has_tensor(top):
            return True  # with a tensor in it, it was one before
        if isinstance(parent, ast.Call):
            return top in parent.args and self._is_maths(parent)
        if isinstance(parent, ast.Assign):
            return top is not use and self._is_legal_target(parent)
        if isinstance(parent, ast.AugAssign):
            return isinstance(parent.op, _ARITHMETIC) and isinstance(parent.target, ast.Name)
        is_part = isinstance(parent, ast.Tuple)
        is_part = is_part and isinstance(self.module.parent(parent), ast.Return)  # type: ignore[arg-type]
        return isinstance(parent, ast.Return) or is_part

    def _has_tensor(self, value: ast.expr) -> bool:
        """Tell whether a tensor is part of a sum or product."""
        if isinstance(value, ast.BinOp):
            return self._has_tensor(value.left) or self._has_tensor(value.right)
        if isinstance(value, ast.UnaryOp):
            return self._has_tensor(value.operand)
        if isinstance(value, ast.Call):
            path = import_path(self.module, dotted(value.func))
            return is_graph_path(path) or self.code.is_object_call(self.module, value.func)
        if not isinstance(value, ast.Name):
            return False
        values = [n for n in ast.walk(self.function) if isinstance(n, ast.Assign)]
        values = [n for n in values if any(dotted(t) == value.id for t in n.targets)]
        if len(values) != 1 or value.id in reads(values[0].value):
            return False
        return self._has_tensor(values[0].value)

    def _is_maths(self, call: ast.Call) -> bool:
        path = import_path(self.module, dotted(call.func))
        if path.startswith(("tensorflow.", "keras.ops.")):
            return path.rpartition(".")[2] in _MATHS
        return isinstance(call.func, ast.Attribute) and call.func.attr in _ASSIGNS

    def _is_legal_target(self, assign: ast.Assign) -> bool:
        """Tell whether a name that is given a sum or product is itself only computed with."""
        target = assign.targets[0]
        if len(assign.targets) != 1 or not isinstance(target, ast.Name):
            return False
        names = [n for n in ast.walk(self.function) if isinstance(n, ast.Name)]
        names = [n for n in names if n.id == target.id]
        stores = [n for n in names if not isinstance(n.ctx, ast.Load)]
        loads = [n for n in names if isinstance(n.ctx, ast.Load)]
        return len(stores) == 1 and all(self._is_legal(n, is_whole=False) for n in loads)


def _is_made_float(top: ast.expr) -> bool:
    return any(
        (isinstance(n, ast.BinOp) and isinstance(n.op, ast.Div))
        or (isinstance(n, ast.Constant) and isinstance(n.value, float))
        for n in ast.walk(top)
    )


CAUSE = Cause(
    title="A function is traced again for Python values",
    symptom=Symptom.SLOW,
    detect=detect,
    fix=fix,
    changes=changes,
)
