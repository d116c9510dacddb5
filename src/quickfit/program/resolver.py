"""Says what an expression may stand for: follows names, calls and imports through a program."""

from __future__ import annotations

import ast
import builtins

from quickfit.program.bindings import Binding
from quickfit.program.callers import callers
from quickfit.program.classes import ancestors
from quickfit.program.files import Files
from quickfit.program.folding import folded
from quickfit.program.frames import Frame
from quickfit.program.module import (
    FUNCTIONS,
    Function,
    Module,
    argument,
    keyword,
    own_nodes,
)
from quickfit.program.names import canonical, starred
from quickfit.program.parameters import (
    assigned_to_self,
    default_of,
    is_first,
    is_index,
    position_of,
)
from quickfit.program.records import field
from quickfit.program.spread import is_hidden, parts
from quickfit.program.values import (
    UNKNOWN,
    Class,
    Computed,
    External,
    File,
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
                folded(node, lambda part: self._of(module, part, frame)) or Computed(node, module),
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
                outside.append(canonical(full))
            elif other is not module and (found := self.exported(other, name)):
                return found
        if hasattr(builtins, name):
            return (External(f"builtins.{name}"),)
        guess = starred(name, outside) if outside else ""
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
        return File(found) if found is not None else External(canonical(name))

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
        return (External(canonical(f"{binding.module}.{binding.name}")),)

    # -- parts ------------------------------------------------------------------------------

    def member(self, base: Value, name: str) -> Values:
        """Return what an attribute of something may be."""
        if isinstance(base, External):
            return (External(canonical(f"{base.name}.{name}")),)
        if isinstance(base, File):
            inner = self.files.imported(base.module.path, f".{name}")
            found = self.exported(base.module, name)
            return found or ((File(inner),) if inner is not None else (UNKNOWN,))
        if isinstance(base, Instance):
            known = field(self, base, name) or self.attribute(base.made, name)
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
        return ancestors(self, owner)

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
            return callers(self, module, function)
        finally:
            self._open.discard(key)

    def _parameter(self, module: Module, node: ast.arg, frame: Frame | None) -> Values:
        function = module.around(node, *FUNCTIONS)
        if not isinstance(function, FUNCTIONS):
            return (UNKNOWN,)
        owner = module.parents.get(function)
        if isinstance(owner, ast.ClassDef) and is_first(function, node.arg):
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
        default = default_of(function, node.arg)
        unknown: Values = (Parameter(function, node.arg, module),)
        return (self._of(module, default, None) if default is not None else ()) + unknown

    def _given(self, module: Module, function: Function, name: str, frame: Frame) -> Values:
        """Return what one call of a function gives for a parameter."""
        call, at = frame.call, position_of(module, function, name)
        given = argument(call, name, at) if at >= 0 else keyword(call, name)
        if given is not None:
            return self._of(frame.module, given, frame.outer)
        default = default_of(function, name)
        if is_hidden(call, at):
            found = parts(self, frame, at, is_needed=default is None)
            if found:
                return found
        return self._of(module, default, None) if default is not None else (UNKNOWN,)


def _unique(values: Values) -> Values:
    """Return each value once; more than a person would follow are unknown."""
    found = tuple(dict.fromkeys(values))
    return found if len(found) <= MAX_VALUES else (*found[:MAX_VALUES], UNKNOWN)
