"""Says what an expression may stand for: follows names, calls and imports through a program."""

from __future__ import annotations

import ast
import builtins
import operator
from collections.abc import Callable
from pathlib import Path
from typing import Any

from quickfit.code.calls import (
    assigned_to_self,
    default_of_parameter,
    is_first_parameter,
    is_hidden_in_spread,
    is_index,
    parts_of_spread,
    position_of_parameter,
)
from quickfit.code.files import Files
from quickfit.code.module import Module
from quickfit.code.names import Binding, canonical_name, star_imported_name
from quickfit.code.syntax import (
    FUNCTIONS,
    Function,
    argument,
    is_open,
    keyword_value,
    name_of,
    own_nodes,
)
from quickfit.code.values import (
    UNKNOWN,
    Class,
    Computed,
    External,
    File,
    Frame,
    Group,
    Instance,
    Item,
    Literal,
    Made,
    Member,
    Parameter,
    Routine,
    Value,
    Values,
)

# A function of a large program is called from hundreds of places; these tell enough.
MAX_LOOKED_AT = 60


def callers_of(
    resolver: Resolver, module: Module, function: Function
) -> list[tuple[Module, ast.Call]]:
    """Return the calls of a function that the program is seen to make, not those by itself."""
    name = _called_name(module, function)
    if not name or name.startswith("__"):
        return []
    # Who calls a function of another file has to import that file.
    places = [module, *resolver.files.mentioning(name, module.path, _import_name(module))]
    calls = [(m, c) for m in places for c in m.calls(name) if not m.is_in(c, function)]
    return [(m, c) for m, c in calls[:MAX_LOOKED_AT] if _means(resolver, m, c, function)]


def _import_name(module: Module) -> str:
    path = Path(module.path)
    return path.parent.name if path.stem == "__init__" else path.stem


def _called_name(module: Module, function: Function) -> str:
    owner = module.parents.get(function)
    if isinstance(function, ast.Lambda):
        assigned = isinstance(owner, ast.Assign) and len(owner.targets) == 1
        target = owner.targets[0] if assigned and isinstance(owner, ast.Assign) else None
        return target.id if isinstance(target, ast.Name) else ""
    if function.name == "__init__" and isinstance(owner, ast.ClassDef):
        return owner.name
    return function.name


def _means(resolver: Resolver, module: Module, call: ast.Call, function: Function) -> bool:
    """Tell whether a call may be one of this function, or of the class that it initialises."""
    for value in resolver.meaning(module, call.func):
        if isinstance(value, Routine) and value.node is function:
            return True
        made = resolver.attribute(value, "__init__") if isinstance(value, Class) else ()
        if any(isinstance(m, Routine) and m.node is function for m in made):
            return True
    return False


def library_ancestors(resolver: Resolver, owner: Class) -> set[str]:
    """Return the full names of the library classes that a class comes from."""
    found: set[str] = set()
    waiting, seen = [owner], set()
    while waiting:
        each = waiting.pop()
        seen.add(each)
        for base in resolver.bases(each):
            if isinstance(base, External):
                found.add(base.name)
            elif isinstance(base, Class) and base not in seen:
                waiting.append(base)
    return found


# Whole numbers beyond this are no sizes of anything, and may take for ever to compute.
MAX_NUMBER = 10**15
_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Div: operator.truediv,
    ast.Mod: operator.mod,
}


def fold_arithmetic(
    node: ast.UnaryOp | ast.BinOp, values: Callable[[ast.expr], Values]
) -> Literal | None:
    """Return the result of arithmetic on known numbers; None where one is not known."""
    if isinstance(node, ast.UnaryOp):
        number = _number(values(node.operand))
        return Literal(-number) if number is not None and isinstance(node.op, ast.USub) else None
    left, right = _number(values(node.left)), _number(values(node.right))
    compute = _BINARY.get(type(node.op))
    if left is None or right is None:
        return None
    if isinstance(node.op, ast.Pow) and 0 <= right <= 40 and abs(left) <= 16:
        return Literal(left**right)
    if compute is None or (right == 0 and not isinstance(node.op, ast.Add | ast.Sub | ast.Mult)):
        return None
    return Literal(compute(left, right))


def _number(values: Values) -> int | float | None:
    if len(values) != 1 or not isinstance(values[0], Literal):
        return None
    value = values[0].value
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    return value if abs(value) < MAX_NUMBER else None


_MAKERS = ("dataclasses.dataclass", "attr.s", "attr.dataclass", "attrs.define", "attrs.frozen")
_TUPLES = ("typing.NamedTuple", "typing_extensions.NamedTuple")


def is_record(resolver: Resolver, owner: Class) -> bool:
    """Tell whether a class is one whose calls fill its fields."""
    for decorator in owner.node.decorator_list:
        made = decorator.func if isinstance(decorator, ast.Call) else decorator
        names = [v.name for v in resolver.meaning(owner.module, made) if isinstance(v, External)]
        if any(name in _MAKERS for name in names):
            return True
    return bool(resolver.ancestors(owner) & set(_TUPLES))


def record_field(resolver: Resolver, record: Instance, name: str) -> Values:
    """Return what a field of a record may be; empty where its class has no such field."""
    names = [field_name for field_name, _ in _record_fields(record.made)]
    if name not in names or not is_record(resolver, record.made):
        return ()
    if any(_is_assigned(module, name) for module in (record.module, record.made.module)):
        return (UNKNOWN,)
    given = argument(record.call, name, names.index(name))
    if given is not None:
        return resolver.meaning(record.module, given)
    if is_open(record.call):
        return (UNKNOWN,)
    default = dict(_record_fields(record.made))[name]
    return _default(resolver, record.made, default) if default is not None else (UNKNOWN,)


def _is_assigned(module: Module, name: str) -> bool:
    """Tell whether a file gives some object's attribute of this name another value."""
    stores = (n for n in module.all(ast.Attribute) if isinstance(n.ctx, ast.Store))
    return any(node.attr == name for node in stores)


def _record_fields(owner: Class) -> list[tuple[str, ast.expr | None]]:
    body = [s for s in owner.node.body if isinstance(s, ast.AnnAssign)]
    return [(s.target.id, s.value) for s in body if isinstance(s.target, ast.Name)]


def _default(resolver: Resolver, owner: Class, default: ast.expr) -> Values:
    if not isinstance(default, ast.Call) or name_of(default.func) not in ("field", "ib"):
        return resolver.meaning(owner.module, default)
    value = keyword_value(default, "default")
    if value is not None:
        return resolver.meaning(owner.module, value)
    factory = keyword_value(default, "default_factory") or keyword_value(default, "factory")
    if factory is None:
        return (UNKNOWN,)
    made = ast.Call(func=factory, args=[], keywords=[])
    return tuple(
        Instance(v, made, owner.module) if isinstance(v, Class) else UNKNOWN
        for v in resolver.meaning(owner.module, factory)
    )


# Deeper than any program that a person follows; and a bound for programs that run in circles.
MAX_DEPTH, MAX_VALUES, MAX_CALLS, MAX_WORK = 40, 12, 12, 2_000


class Resolver:
    """Follows values through the files of a program."""

    def __init__(self, files: Files) -> None:
        self.files = files
        self._memo: dict[tuple[ast.AST, Frame | None], Values] = {}
        self._ends: dict[Function, list[ast.expr | None] | None] = {}
        self._open: set[tuple[ast.AST, Frame | None]] = set()
        self._work = 0

    def forget(self) -> None:
        """Forget what was found out, with what was parsed."""
        self._memo.clear()
        self._ends.clear()

    def values(self, module: Module, node: ast.expr, frame: Frame | None = None) -> Values:
        """Return what an expression may stand for, in any call of its function or in one."""
        self._work = 0
        return self._of(module, node, frame)

    def meaning(self, module: Module, node: ast.expr, frame: Frame | None = None) -> Values:
        """Return what an expression may stand for, as part of a question that is open already."""
        return self._of(module, node, frame)

    def _of(self, module: Module, node: ast.expr, frame: Frame | None) -> Values:
        key = (node, frame)
        if key in self._memo:
            return self._memo[key]
        self._work += 1
        if key in self._open or len(self._open) > MAX_DEPTH or self._work > MAX_WORK:
            return (UNKNOWN,)
        self._open.add(key)
        try:
            found = _unique(self._evaluate(module, node, frame))
        finally:
            self._open.discard(key)
        # What was cut short because of where it was asked from is not remembered.
        if not self._open or self._work <= MAX_WORK // 2:
            self._memo[key] = found
        return found

    def _evaluate(self, module: Module, node: ast.expr, frame: Frame | None) -> Values:
        if isinstance(node, ast.Constant):
            return (Literal(node.value),)
        if isinstance(node, ast.Name):
            return self._name(module, node, frame)
        if isinstance(node, ast.Attribute):
            bases = self._of(module, node.value, frame)
            return tuple(v for base in bases for v in self.member(base, node.attr))
        if isinstance(node, ast.Call):
            return self._call(module, node, frame)
        if isinstance(node, ast.IfExp):
            return self._of(module, node.body, frame) + self._of(module, node.orelse, frame)
        if isinstance(node, ast.BoolOp):
            return tuple(v for part in node.values for v in self._of(module, part, frame))
        if isinstance(node, ast.NamedExpr | ast.Await | ast.Starred):
            return self._of(module, node.value, frame)
        if isinstance(node, ast.Subscript):
            return self._subscript(module, node, frame)
        if isinstance(node, ast.Lambda):
            return (Routine(node, module),)
        if isinstance(node, ast.Tuple | ast.List | ast.Set | ast.Dict | ast.ListComp):
            return (Group(node, module),)
        if isinstance(node, ast.GeneratorExp | ast.SetComp | ast.DictComp):
            return (Group(node, module),)
        if isinstance(node, ast.UnaryOp | ast.BinOp):
            return (
                fold_arithmetic(node, lambda part: self._of(module, part, frame))
                or Computed(node, module),
            )
        return (Computed(node, module),)

    # -- names ------------------------------------------------------------------------------

    def _name(self, module: Module, node: ast.Name, frame: Frame | None) -> Values:
        bindings = self.files.bindings(module).reaching(node, node.id)
        if bindings:
            return tuple(v for b in bindings for v in self._bound(module, b, frame))
        return self._unbound(module, node.id)

    def _unbound(self, module: Module, name: str) -> Values:
        stars = self.files.bindings(module).stars
        outside: list[str] = []
        for star in stars:
            full = "." * star.level + (star.module or "")
            other = self.files.imported(module.path, full)
            if other is None:
                outside.append(canonical_name(full))
            elif other is not module and (found := self.exported(other, name)):
                return found
        if hasattr(builtins, name):
            return (External(f"builtins.{name}"),)
        guess = star_imported_name(name, outside) if outside else ""
        return (External(guess) if guess else UNKNOWN,)

    def exported(self, module: Module, name: str) -> Values:
        """Return what a name means at the end of a file; empty where the file has no such name."""
        bindings = self.files.bindings(module)
        found = bindings.at_end(bindings.all(module.tree, name), module.tree)
        return _unique(tuple(v for b in found for v in self._bound(module, b, None)))

    def _bound(self, module: Module, binding: Binding, frame: Frame | None) -> Values:
        node = binding.node
        if binding.kind == "value" and binding.value is not None:
            found = self._of(module, binding.value, frame)
            for index in binding.path:
                found = tuple(v for each in found for v in self.item(each, index, frame))
            return found
        if binding.kind == "element" and binding.value is not None:
            return self._elements(module, binding, frame)
        if binding.kind == "def" and isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            return self._defined(module, node)
        if binding.kind == "class" and isinstance(node, ast.ClassDef):
            return (Class(node, module),)
        if binding.kind == "parameter" and isinstance(node, ast.arg):
            return self._parameter(module, node, frame)
        if binding.kind == "import":
            return (self._module(module, binding.module),)
        if binding.kind == "from":
            return self._from(module, binding)
        return (UNKNOWN,)

    def _defined(self, module: Module, node: ast.FunctionDef | ast.AsyncFunctionDef) -> Values:
        """Return a function; one that an unknown decorator may have exchanged, beside unknown."""
        owner = module.parents.get(node)
        routine = Routine(
            node, module, Class(owner, module) if isinstance(owner, ast.ClassDef) else None
        )
        return (routine,)

    def _module(self, importer: Module, name: str) -> Value:
        found = self.files.imported(importer.path, name)
        return File(found) if found is not None else External(canonical_name(name))

    def _from(self, importer: Module, binding: Binding) -> Values:
        module = self.files.imported(importer.path, binding.module)
        if module is not None and module is not importer:
            found = self.exported(module, binding.name)
            if found:
                return found
        joint = "" if binding.module.endswith(".") else "."
        inner = self.files.imported(importer.path, f"{binding.module}{joint}{binding.name}")
        if inner is not None:
            return (File(inner),)
        if module is not None or binding.module.startswith("."):
            return (UNKNOWN,)
        return (External(canonical_name(f"{binding.module}.{binding.name}")),)

    # -- parts ------------------------------------------------------------------------------

    def member(self, base: Value, name: str) -> Values:
        """Return what an attribute of something may be."""
        if isinstance(base, External):
            return (External(canonical_name(f"{base.name}.{name}")),)
        if isinstance(base, File):
            inner = self.files.imported(base.module.path, f".{name}")
            found = self.exported(base.module, name)
            return found or ((File(inner),) if inner is not None else (UNKNOWN,))
        if isinstance(base, Instance):
            known = record_field(self, base, name) or self.attribute(base.made, name)
            return known or (Member(base, name),)
        if isinstance(base, Class):
            return self.attribute(base, name) or (Member(base, name),)
        return (Member(base, name),)

    def attribute(self, owner: Class, name: str) -> Values:
        """Return what the code of a class, or of those it is derived from, gives a name."""
        module, node = owner.module, owner.node
        bindings = self.files.bindings(module)
        own = bindings.all(node, name)
        found = [v for b in own[-1:] for v in self._bound(module, b, None)]
        for value in assigned_to_self(owner, name):
            found += self._of(module, value, None)
        if found:
            return _unique(tuple(found))
        key = (node, None)
        if key in self._open:
            return ()
        self._open.add(key)
        try:
            above = [base for base in self.bases(owner) if isinstance(base, Class)]
            inherited = (self.attribute(base, name) for base in above)
            return next((values for values in inherited if values), ())
        finally:
            self._open.discard(key)

    def bases(self, owner: Class) -> Values:
        """Return what a class is derived from."""
        if len(self._open) > MAX_DEPTH:
            return (UNKNOWN,)
        return tuple(v for base in owner.node.bases for v in self._of(owner.module, base, None))

    def ancestors(self, owner: Class) -> set[str]:
        """Return the full names of the library classes that a class comes from."""
        return library_ancestors(self, owner)

    def _subscript(self, module: Module, node: ast.Subscript, frame: Frame | None) -> Values:
        index = self._of(module, node.slice, frame) if not isinstance(node.slice, ast.Slice) else ()
        which = index[0].value if len(index) == 1 and isinstance(index[0], Literal) else None
        bases = self._of(module, node.value, frame)
        return tuple(v for base in bases for v in self.item(base, which, frame))

    def item(self, base: Value, index: object, frame: Frame | None) -> Values:
        """Return what a part of something may be."""
        if isinstance(base, Group):
            node = base.node
            if isinstance(node, ast.Tuple | ast.List) and is_index(index, node.elts):
                assert isinstance(index, int)
                return self._of(base.module, node.elts[index], frame)
            if isinstance(node, ast.Dict):
                for key, value in zip(node.keys, node.values, strict=True):
                    if isinstance(key, ast.Constant) and key.value == index:
                        return self._of(base.module, value, frame)
                return (UNKNOWN,)
        return (Item(base, index),)

    def _elements(self, module: Module, binding: Binding, frame: Frame | None) -> Values:
        sources = self._of(module, binding.value, frame) if binding.value is not None else ()
        found: list[Value] = []
        for source in sources:
            parts = self.elements(source, frame)
            for index in binding.path:
                parts = tuple(v for part in parts for v in self.item(part, index, frame))
            found += parts
        return tuple(found) or (UNKNOWN,)

    def elements(self, source: Value, frame: Frame | None = None) -> Values:
        """Return what a loop over something may get."""
        node = source.node if isinstance(source, Group) else None
        if not isinstance(source, Group) or not isinstance(node, ast.Tuple | ast.List | ast.Set):
            return (Item(source),)
        parts = node.elts[:MAX_VALUES]
        return tuple(v for part in parts for v in self._of(source.module, part, frame))

    # -- calls ------------------------------------------------------------------------------

    def _call(self, module: Module, node: ast.Call, frame: Frame | None) -> Values:
        found: list[Value] = []
        for called in self._of(module, node.func, frame):
            found += self._called(called, module, node, frame)
        return tuple(found)

    def _called(self, called: Value, module: Module, node: ast.Call, frame: Frame | None) -> Values:
        if isinstance(called, External):
            return (Made(node, module, maker=called.name, frame=frame),)
        if isinstance(called, Class):
            return (Instance(called, node, module),)
        if isinstance(called, Routine):
            return self.returned(called, module, node, frame)
        if isinstance(called, Instance):
            methods = self.attribute(called.made, "__call__")
            found = [
                v
                for m in methods
                if isinstance(m, Routine)
                for v in self.returned(m, module, node, frame)
            ]
            made = Made(node, module, method="__call__", receiver=(called,), frame=frame)
            return tuple(found) or (made,)
        if isinstance(called, Member):
            return (Made(node, module, method=called.name, receiver=(called.of,), frame=frame),)
        if isinstance(called, Made) and called.maker == "tensorflow.function" and called.call.args:
            inner = self._of(called.module, called.call.args[0], frame)
            return tuple(v for i in inner for v in self._called(i, module, node, frame))
        if isinstance(called, Made):
            return (Made(node, module, method="__call__", receiver=(called,), frame=frame),)
        return (Made(node, module, frame=frame),)

    def returned(
        self, routine: Routine, module: Module, call: ast.Call, frame: Frame | None
    ) -> Values:
        """Return what one call of a function of the program may give."""
        function = routine.node
        depth = frame.depth + 1 if frame is not None else 1
        if depth > 8 or (frame is not None and frame.is_in(function)):
            return (UNKNOWN,)
        inner = Frame(function, call, module, frame, depth)
        if isinstance(function, ast.Lambda):
            return self._of(routine.module, function.body, inner)
        returns = self._returns(function)
        if returns is None:
            return (Made(call, module, maker="generator", receiver=(routine,), frame=frame),)
        if not returns:
            return (Literal(None),)
        none: Values = (Literal(None),)
        found = (self._of(routine.module, r, inner) if r is not None else none for r in returns)
        return tuple(v for values in found for v in values)

    def _returns(self, function: Function) -> list[ast.expr | None] | None:
        """Return what a function gives back; None for one that yields."""
        if function not in self._ends:
            nodes = own_nodes(function)
            yields = any(isinstance(node, ast.Yield | ast.YieldFrom) for node in nodes)
            ends = [n.value for n in nodes if isinstance(n, ast.Return)]
            self._ends[function] = None if yields else ends
        return self._ends[function]

    def callers(self, module: Module, function: Function) -> list[tuple[Module, ast.Call]]:
        """Return the calls of a function that the program is seen to make."""
        key = (function, None)
        if key in self._open:
            return []
        self._open.add(key)
        try:
            return callers_of(self, module, function)
        finally:
            self._open.discard(key)

    def _parameter(self, module: Module, node: ast.arg, frame: Frame | None) -> Values:
        function = module.around(node, *FUNCTIONS)
        if not isinstance(function, FUNCTIONS):
            return (UNKNOWN,)
        owner = module.parents.get(function)
        if isinstance(owner, ast.ClassDef) and is_first_parameter(function, node.arg):
            call = ast.Call(func=ast.Name(id=owner.name), args=[], keywords=[])
            return (Instance(Class(owner, module), call, module),)
        while frame is not None and frame.function is not function:
            frame = frame.outer
        if frame is not None:
            return self._given(module, function, node.arg, frame)
        found: list[Value] = []
        for other, call in self.callers(module, function)[:MAX_CALLS]:
            found += self._given(module, function, node.arg, Frame(function, call, other, None))
        if found:
            return tuple(found)
        default = default_of_parameter(function, node.arg)
        unknown: Values = (Parameter(function, node.arg, module),)
        return (self._of(module, default, None) if default is not None else ()) + unknown

    def _given(self, module: Module, function: Function, name: str, frame: Frame) -> Values:
        """Return what one call of a function gives for a parameter."""
        call, at = frame.call, position_of_parameter(module, function, name)
        given = argument(call, name, at) if at >= 0 else keyword_value(call, name)
        if given is not None:
            return self._of(frame.module, given, frame.outer)
        default = default_of_parameter(function, name)
        if is_hidden_in_spread(call, at):
            found = parts_of_spread(self, frame, at, is_needed=default is None)
            if found:
                return found
        return self._of(module, default, None) if default is not None else (UNKNOWN,)


def _unique(values: Values) -> Values:
    """Return each value once; more than a person would follow are unknown."""
    found = tuple(dict.fromkeys(values))
    return found if len(found) <= MAX_VALUES else (*found[:MAX_VALUES], UNKNOWN)
