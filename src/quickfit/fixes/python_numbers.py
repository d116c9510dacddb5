"""Tells which expressions are numbers of Python: no tensors, arrays or objects."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from quickfit.fixes.bindings import binders, dotted, imported, parameters, scope_of, value_of
from quickfit.fixes.script import Function, Script

_BUILTINS = {"float", "len", "max", "min", "int", "abs", "round"}


class PythonNumbers:
    """The numbers of a project.

    Args:
        scripts: all files of the project.
    """

    def __init__(self, scripts: Sequence[Script]) -> None:
        self._scripts = scripts
        self._open: set[tuple[int, str]] = set()

    def is_number(self, script: Script, value: ast.expr | None) -> bool:
        """Tell whether an expression is certainly arithmetic of Python's numbers."""
        if isinstance(value, ast.Name):
            return self._is_name(script, value)
        if isinstance(value, ast.BinOp):
            return self.is_number(script, value.left) and self.is_number(script, value.right)
        if isinstance(value, ast.IfExp):
            return self.is_number(script, value.body) and self.is_number(script, value.orelse)
        if isinstance(value, ast.UnaryOp):
            return isinstance(value.op, ast.USub) and self.is_number(script, value.operand)
        if isinstance(value, ast.Call):
            return self._is_call(script, value)
        if isinstance(value, ast.Attribute):
            return dotted(value).startswith("self.") and self._is_attribute(value.attr)
        return isinstance(value, ast.Constant) and type(value.value) in (int, float)

    def _is_name(self, script: Script, name: ast.Name) -> bool:
        scope = scope_of(script, name)
        found = binders(scope, name.id)
        if isinstance(scope, Function) and name.id in parameters(scope):
            return not found and self._is_given(scope, name.id)
        if not found and not isinstance(scope, ast.Module):
            scope, found = script.tree, binders(script.tree, name.id)
        key = (id(scope), name.id)
        if key in self._open:
            return True  # `step = step + 1`: the other values tell
        self._open.add(key)
        is_number = bool(found) and all(self._is_binder(script, node) for node in found)
        self._open.discard(key)
        return is_number

    def _is_binder(self, script: Script, node: ast.AST) -> bool:
        """Tell whether what binds a name gives it a number."""
        parent = script.parent(node)
        if isinstance(parent, ast.AugAssign):
            return self.is_number(script, parent.value)
        if isinstance(parent, ast.For):
            return parent.target is node and _called(parent.iter) in ("range", "trange")
        whole = script.parent(parent) if isinstance(parent, ast.Tuple) else None
        if isinstance(whole, ast.For) and isinstance(parent, ast.Tuple):
            return _called(whole.iter) == "enumerate" and parent.elts[0] is node
        return self.is_number(script, value_of(script, node))

    def _is_given(self, function: Function, name: str) -> bool:
        """Tell whether every call gives a number for a parameter."""
        from quickfit.fixes.graph_code import argument

        key = (id(function), name)
        if key in self._open:
            return True
        self._open.add(key)
        calls = [
            (script, argument(call, function, name))
            for script in self._scripts
            for call in script.all(ast.Call)
            if dotted(call.func).rpartition(".")[2] == function.name
        ]
        is_number = bool(calls) and all(self.is_number(*call) for call in calls)
        self._open.discard(key)
        return is_number

    def _is_call(self, script: Script, call: ast.Call) -> bool:
        name = dotted(call.func)
        if imported(script, name).startswith("math.") or name in _BUILTINS:
            return True
        own = [
            (other, function)
            for other in self._scripts
            for function in other.all(ast.FunctionDef)
            if function.name == name.rpartition(".")[2]
        ]
        if len(own) != 1 or own[0][1].decorator_list:
            return False
        made, function = own[0]
        returned = [n.value for n in ast.walk(function) if isinstance(n, ast.Return)]
        return bool(returned) and all(self.is_number(made, value) for value in returned)

    def _is_attribute(self, name: str) -> bool:
        """Tell whether an attribute is only ever given numbers."""
        key = (0, name)
        if key in self._open:
            return True
        self._open.add(key)
        stores = [
            (script, node)
            for script in self._scripts
            for node in script.all(ast.Attribute)
            if node.attr == name and not isinstance(node.ctx, ast.Load)
        ]
        values = [self._is_binder(script, node) for script, node in stores]
        is_given = all(values) or self._are_from_classes(stores)
        self._open.discard(key)
        return bool(stores) and is_given

    def _are_from_classes(self, stores: Sequence[tuple[Script, ast.Attribute]]) -> bool:
        """Tell whether an attribute is what the class is given when an object is made."""
        return all(self._is_from_class(script, node) for script, node in stores)

    def _is_from_class(self, script: Script, node: ast.Attribute) -> bool:
        from quickfit.fixes.graph_code import argument

        maker, value = scope_of(script, node), value_of(script, node)
        owner = script.parent(maker)
        if not isinstance(owner, ast.ClassDef) or not isinstance(value, ast.Name):
            return self._is_binder(script, node)
        assert isinstance(maker, Function)
        given = [
            (other, argument(call, maker, value.id))
            for other in self._scripts
            for call in other.all(ast.Call)
            if dotted(call.func).rpartition(".")[2] == owner.name
        ]
        return bool(given) and all(self.is_number(*one) for one in given)


def _called(value: ast.expr) -> str:
    return dotted(value.func) if isinstance(value, ast.Call) else ""
