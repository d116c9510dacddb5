"""Values that the text has: where a constant is written out, what surely is a Python number."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from quickfit.code.module import Module
from quickfit.code.program import Program
from quickfit.code.scopes import (
    assigned_value,
    binders,
    binders_in_file,
    dotted,
    import_path,
    imported_from_project,
    only_value_in_file,
    parameters,
    reads_in_file,
    scope_of,
    value_of,
)
from quickfit.code.syntax import Def, called_name, is_open, keyword_value, name_of
from quickfit.findings import Edit

# Names and calls that are followed, one after the other.
MAX_DEPTH = 5


@dataclass(frozen=True)
class WrittenConstant:
    """A constant in the text, and how many places read the name it has; 0 without a name."""

    module: Module
    node: ast.Constant
    reads: int = 0

    @property
    def value(self) -> object:
        """The constant's value."""
        return self.node.value

    def edit(self, code: str) -> Edit:
        """Return the edit that puts other code in its place."""
        return self.module.replace(self.node, code)


def find_constant(
    module: Module, value: ast.expr | None, program: Program, depth: int = 0
) -> WrittenConstant | None:
    """Return where a value is written out: in place, or as the only value of a name.

    Names of modules of the project, entries of a dict, attributes that are set once, arguments of
    a function that is called once and defaults of the command line are followed.
    """
    if isinstance(value, ast.Constant):
        return WrittenConstant(module, value)
    if depth > MAX_DEPTH:
        return None
    if isinstance(value, ast.Name):
        return _named(module, value.id, program, depth)
    if isinstance(value, ast.Subscript):
        return _entry(module, value, program, depth)
    return _attribute(module, value, program) if isinstance(value, ast.Attribute) else None


def _named(module: Module, name: str, program: Program, depth: int) -> WrittenConstant | None:
    other = imported_from_project(module, name, program)
    if other is not None:
        found = _named(*other, program, depth + 1) if depth <= MAX_DEPTH else None
        return found and WrittenConstant(
            found.module, found.node, found.reads + len(reads_in_file(module, name))
        )
    value, reads = only_value_in_file(module, name), len(reads_in_file(module, name))
    if isinstance(value, ast.Constant):
        return WrittenConstant(module, value, reads)
    place = argument_of_only_call(module, name, program)
    found = find_constant(*place, program, depth + 1) if place is not None else None
    # Without a name of its own the constant is read as often as the argument is.
    return found and WrittenConstant(found.module, found.node, max(found.reads, 1) + reads - 1)


def argument_of_only_call(
    module: Module, name: str, program: Program
) -> tuple[Module, ast.expr] | None:
    """Return what the only call of a function gives for the argument of a name."""
    found = binders_in_file(module, name)
    argument_node = found[0] if len(found) == 1 else None
    function = module.around(found[0], ast.FunctionDef) if found else None
    if not isinstance(argument_node, ast.arg) or function is None:
        return None
    calls = [
        (other, call)
        for other in program.modules()
        for call in other.all(ast.Call)
        if called_name(call) == function.name
    ]
    names = [arg.arg for arg in function.args.args]
    if len(calls) != 1 or is_open(calls[0][1]) or argument_node.arg not in names:
        return None
    other, call = calls[0]
    place = names.index(name) - (names[:1] == ["self"])
    value = call.args[place] if 0 <= place < len(call.args) else keyword_value(call, name)
    return (other, value) if value is not None else None


def _entry(
    module: Module, value: ast.Subscript, program: Program, depth: int
) -> WrittenConstant | None:
    """Return where `CFG["size"]` is written in the one dict of that name."""
    if not isinstance(value.value, ast.Name) or not isinstance(value.slice, ast.Constant):
        return None
    name = value.value.id
    given = argument_of_only_call(module, name, program)
    if given is not None and isinstance(given[1], ast.Name) and not _is_changed(module, name):
        there = ast.Subscript(given[1], value.slice, ast.Load())
        found = find_constant(given[0], there, program, depth + 1)
        reads = _reads_entry(module, name, value.slice.value)
        return found and WrittenConstant(found.module, found.node, max(found.reads - 1, 0) + reads)
    owner, known = imported_from_project(module, name, program) or (module, name)
    table = only_value_in_file(owner, known)
    if not isinstance(table, ast.Dict) or _is_changed(module, name) or _is_changed(owner, known):
        return None
    for key, entry in zip(table.keys, table.values, strict=True):
        if isinstance(key, ast.Constant) and key.value == value.slice.value:
            reads = sum(_reads_entry(s, n, key.value) for s, n in {(module, name), (owner, known)})
            return WrittenConstant(owner, entry, reads) if isinstance(entry, ast.Constant) else None
    return None


def _is_changed(module: Module, name: str) -> bool:
    """Tell whether an entry of a dict is set, or the dict is handed to code that may set one."""
    for node in reads_in_file(module, name):
        parent = module.parent(node)
        if isinstance(parent, ast.Subscript) and not isinstance(parent.ctx, ast.Load):
            return True
        if isinstance(parent, ast.Attribute) and parent.attr in ("update", "pop", "setdefault"):
            return True
    return False


def _reads_entry(module: Module, name: str, key: object) -> int:
    parents = [module.parent(node) for node in reads_in_file(module, name)]
    whole = sum(not isinstance(parent, ast.Subscript) for parent in parents)
    slices = [p.slice for p in parents if isinstance(p, ast.Subscript)]
    return whole + sum(isinstance(s, ast.Constant) and s.value == key for s in slices)


def _attribute(module: Module, value: ast.Attribute, program: Program) -> WrittenConstant | None:
    """Return where `args.size` or `self.size` gets its only value."""
    if not isinstance(value.value, ast.Name):
        return None
    stores = [
        node
        for other in program.modules()
        for node in other.all(ast.Attribute)
        if node.attr == value.attr and not isinstance(node.ctx, ast.Load)
    ]
    reads = sum(node.attr == value.attr for node in module.all(ast.Attribute)) - len(stores)
    if value.value.id == "self":
        found = _of_class(module, value, stores)
    else:
        made = only_value_in_file(module, value.value.id) if not stores else None
        found = _default(module, value.attr) if _is_parsed(made) else _of_made(module, made, value)
    return WrittenConstant(module, found, reads) if found is not None else None


def _of_class(
    module: Module, value: ast.Attribute, stores: list[ast.Attribute]
) -> ast.Constant | None:
    """Return the constant that a class, or one assignment to `self`, gives to an attribute."""
    owner = module.around(value, ast.ClassDef)
    if owner is None:
        return None
    names = [n for s in owner.body if isinstance(s, ast.Assign) for n in s.targets]
    given: list[ast.AST] = [*stores, *(n for n in names if name_of(n) == value.attr)]
    found = assigned_value(module, given[0]) if len(given) == 1 else None
    return found if isinstance(found, ast.Constant) else None


def _of_made(module: Module, made: ast.expr | None, value: ast.Attribute) -> ast.Constant | None:
    """Return the default of an attribute of `Config()`, which is made without arguments."""
    if not isinstance(made, ast.Call) or made.args or made.keywords:
        return None
    owners = [owner for owner in module.all(ast.ClassDef) if owner.name == called_name(made)]
    body = owners[0].body if len(owners) == 1 and not owners[0].bases else []
    found = [s.value for s in body if isinstance(s, ast.AnnAssign) and _sets(s, value.attr)]
    return found[0] if len(found) == 1 and isinstance(found[0], ast.Constant) else None


def _sets(statement: ast.AnnAssign, name: str) -> bool:
    return name_of(statement.target) == name


def _is_parsed(value: ast.expr | None) -> bool:
    return isinstance(value, ast.Call) and called_name(value) in ("parse_args", "get_args", "parse")


def _default(module: Module, name: str) -> ast.Constant | None:
    """Return the default of the option of the command line that has a name."""
    found = [call for call in _options(module) if _option(call) == name]
    default = keyword_value(found[0], "default") if len(found) == 1 else None
    return default if isinstance(default, ast.Constant) else None


def _options(module: Module) -> Iterator[ast.Call]:
    return (
        call for call in module.all(ast.Call) if called_name(call) == "add_argument" and call.args
    )


def _option(call: ast.Call) -> str:
    dest = keyword_value(call, "dest")
    if isinstance(dest, ast.Constant):
        return str(dest.value)
    texts = [str(arg.value) for arg in call.args if isinstance(arg, ast.Constant)]
    long = [text for text in texts if text.startswith("--")] or texts[-1:]
    return long[0].lstrip("-").replace("-", "_") if long else ""


_BUILTINS = {"float", "len", "max", "min", "int", "abs", "round"}


class PythonNumbers:
    """The numbers of a project.

    Args:
        scripts: all files of the project.
    """

    def __init__(self, modules: Sequence[Module]) -> None:
        self._scripts = modules
        self._open: set[tuple[int, str]] = set()

    def is_number(self, module: Module, value: ast.expr | None) -> bool:
        """Tell whether an expression is certainly arithmetic of Python's numbers."""
        if isinstance(value, ast.Name):
            return self._is_name(module, value)
        if isinstance(value, ast.BinOp):
            return self.is_number(module, value.left) and self.is_number(module, value.right)
        if isinstance(value, ast.IfExp):
            return self.is_number(module, value.body) and self.is_number(module, value.orelse)
        if isinstance(value, ast.UnaryOp):
            return isinstance(value.op, ast.USub) and self.is_number(module, value.operand)
        if isinstance(value, ast.Call):
            return self._is_call(module, value)
        if isinstance(value, ast.Attribute):
            return dotted(value).startswith("self.") and self._is_attribute(value.attr)
        return isinstance(value, ast.Constant) and type(value.value) in (int, float)

    def _is_name(self, module: Module, name: ast.Name) -> bool:
        scope = scope_of(module, name)
        found = binders(scope, name.id)
        if isinstance(scope, Def) and name.id in parameters(scope):
            return not found and self._is_given(scope, name.id)
        if not found and not isinstance(scope, ast.Module):
            scope, found = module.tree, binders(module.tree, name.id)
        key = (id(scope), name.id)
        if key in self._open:
            return True  # `step = step + 1`: the other values tell
        self._open.add(key)
        is_number = bool(found) and all(self._is_binder(module, node) for node in found)
        self._open.discard(key)
        return is_number

    def _is_binder(self, module: Module, node: ast.AST) -> bool:
        """Tell whether what binds a name gives it a number."""
        parent = module.parent(node)
        if isinstance(parent, ast.AugAssign):
            return self.is_number(module, parent.value)
        if isinstance(parent, ast.For):
            return parent.target is node and _called_path(parent.iter) in ("range", "trange")
        whole = module.parent(parent) if isinstance(parent, ast.Tuple) else None
        if isinstance(whole, ast.For) and isinstance(parent, ast.Tuple):
            return _called_path(whole.iter) == "enumerate" and parent.elts[0] is node
        return self.is_number(module, value_of(module, node))

    def _is_given(self, function: Def, name: str) -> bool:
        """Tell whether every call gives a number for a parameter."""
        from quickfit.code.graph_code import argument_for_parameter

        key = (id(function), name)
        if key in self._open:
            return True
        self._open.add(key)
        calls = [
            (module, argument_for_parameter(call, function, name))
            for module in self._scripts
            for call in module.all(ast.Call)
            if dotted(call.func).rpartition(".")[2] == function.name
        ]
        is_number = bool(calls) and all(self.is_number(*call) for call in calls)
        self._open.discard(key)
        return is_number

    def _is_call(self, module: Module, call: ast.Call) -> bool:
        name = dotted(call.func)
        if import_path(module, name).startswith("math.") or name in _BUILTINS:
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
            (module, node)
            for module in self._scripts
            for node in module.all(ast.Attribute)
            if node.attr == name and not isinstance(node.ctx, ast.Load)
        ]
        values = [self._is_binder(module, node) for module, node in stores]
        is_given = all(values) or self._are_from_classes(stores)
        self._open.discard(key)
        return bool(stores) and is_given

    def _are_from_classes(self, stores: Sequence[tuple[Module, ast.Attribute]]) -> bool:
        """Tell whether an attribute is what the class is given when an object is made."""
        return all(self._is_from_class(module, node) for module, node in stores)

    def _is_from_class(self, module: Module, node: ast.Attribute) -> bool:
        from quickfit.code.graph_code import argument_for_parameter

        maker, value = scope_of(module, node), value_of(module, node)
        owner = module.parent(maker)
        if not isinstance(owner, ast.ClassDef) or not isinstance(value, ast.Name):
            return self._is_binder(module, node)
        assert isinstance(maker, Def)
        given = [
            (other, argument_for_parameter(call, maker, value.id))
            for other in self._scripts
            for call in other.all(ast.Call)
            if dotted(call.func).rpartition(".")[2] == owner.name
        ]
        return bool(given) and all(self.is_number(*one) for one in given)


def _called_path(value: ast.expr) -> str:
    return dotted(value.func) if isinstance(value, ast.Call) else ""
