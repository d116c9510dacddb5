"""Gives a compiled function a tensor in the place of a Python number: one graph is enough."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import dataclass

from quickfit.findings import FixClass
from quickfit.fixes.bindings import dotted, imported, reads, writes
from quickfit.fixes.change import Change
from quickfit.fixes.graph_calls import is_graph_path
from quickfit.fixes.graph_code import GraphCode, argument
from quickfit.fixes.python_numbers import PythonNumbers
from quickfit.fixes.script import Function, Script

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
    script: Script, line: int, retraced: Argument, scripts: Sequence[Script]
) -> Change | None:
    """Wrap what the call of a function at a line gives for one argument in `tf.constant`."""
    call, made = _call_on(script, line, retraced.name), _compiled(scripts, retraced)
    if call is None or made is None or any(_OTHER_WIDTHS.search(s.text) for s in scripts):
        return None
    given = argument(call, made[1], retraced.argument)
    if given is None or not PythonNumbers(scripts).is_number(script, given):
        return None
    is_whole = retraced.value.lstrip("-").isdecimal()
    uses = _Uses(made[0], made[1], GraphCode(scripts), is_whole)
    alias, imports = script.import_of("tensorflow", "tf")
    if imports or not uses.are_computed_with(retraced.argument):
        return None
    edit = script.replace(given, f"{alias}.constant({script.code(given)}, {alias}.float32)")
    title = f"Give `{retraced.argument}` as a tensor"
    return Change(title, FixClass.EQUIVALENT, (edit,), NOTE)


def _call_on(script: Script, line: int, name: str) -> ast.Call | None:
    """Return the only call of a function whose name stands on a line, or that spans it."""
    named = [c for c in script.all(ast.Call) if dotted(c.func).rpartition(".")[2] == name]
    on_line = [c for c in named if c.func.end_lineno == line]
    within = [c for c in named if c.lineno <= line <= (c.end_lineno or 0)]
    found = on_line or within
    return found[0] if len(found) == 1 else None


def _compiled(scripts: Sequence[Script], retraced: Argument) -> tuple[Script, Function] | None:
    """Return the function that is traced again."""
    for script in scripts:
        for node in script.all(ast.FunctionDef) if script.file == retraced.file else ():
            lines = (node.lineno, *(d.lineno for d in node.decorator_list))
            if node.name == retraced.name and retraced.line in lines:
                return script, node
    return None


@dataclass(frozen=True)
class _Uses:
    """What a function does with a number; `is_whole` where it is given whole ones."""

    script: Script
    function: Function
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
        top, parent = use, self.script.parent(use)
        while isinstance(parent, ast.BinOp | ast.UnaryOp):
            if not isinstance(parent.op, (*_ARITHMETIC, ast.USub)):
                return False
            top, parent = parent, self.script.parent(parent)
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
        is_part = is_part and isinstance(self.script.parent(parent), ast.Return)  # type: ignore[arg-type]
        return isinstance(parent, ast.Return) or is_part

    def _has_tensor(self, value: ast.expr) -> bool:
        """Tell whether a tensor is part of a sum or product."""
        if isinstance(value, ast.BinOp):
            return self._has_tensor(value.left) or self._has_tensor(value.right)
        if isinstance(value, ast.UnaryOp):
            return self._has_tensor(value.operand)
        if isinstance(value, ast.Call):
            path = imported(self.script, dotted(value.func))
            return is_graph_path(path) or self.code.is_object_call(self.script, value.func)
        if not isinstance(value, ast.Name):
            return False
        values = [n for n in ast.walk(self.function) if isinstance(n, ast.Assign)]
        values = [n for n in values if any(dotted(t) == value.id for t in n.targets)]
        if len(values) != 1 or value.id in reads(values[0].value):
            return False
        return self._has_tensor(values[0].value)

    def _is_maths(self, call: ast.Call) -> bool:
        path = imported(self.script, dotted(call.func))
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
