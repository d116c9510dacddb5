"""Lists of which items are left out somewhere else: by a function, in a loop, or by a cut."""

from __future__ import annotations

import ast

from quickfit.patterns.lineage import Lineage, Tracer
from quickfit.patterns.partings import Parting
from quickfit.program import Module, Program, argument, own_nodes
from quickfit.program.module import Function
from quickfit.program.parameters import position_of
from quickfit.program.values import Routine

MAX_DEPTH = 3


def shortened(
    tracer: ShortTracer, used: ast.AST, lists: tuple[ast.expr, ast.expr], *, is_silent: bool
) -> Parting | None:
    """Return what leaves items out of one of two lists that are made of one list.

    Args:
        tracer: of the file.
        used: where both are used.
        lists: the two.
        is_silent: nothing is said there of unequal lengths.
    """
    if not is_silent and not any(_may_be_cut(tracer, each) for each in lists):
        return None  # asked first, because it is quick
    one, other = (tracer.trace(each) for each in lists)
    if one.is_open or other.is_open or one.shuffles or other.shuffles:
        return None
    if bool(one.filters) == bool(other.filters) or one.source is not other.source:
        return None
    short, whole = (one, other) if one.filters else (other, one)
    is_whole = one.source is not None and bool(short.names) and bool(whole.names)
    if not is_whole or not (is_silent or whole.cuts):
        return None
    does = f"items are left out of `{short.names[0]}` and not of `{whole.names[0]}`"
    if is_silent:
        return Parting(
            short.filters[0], used, f"{does}: behind the first of them, `zip` makes wrong pairs"
        )
    return Parting(
        whole.cuts[0],
        used,
        f"{does}, which is only cut to a length: behind the first of them, the pairs are wrong",
    )


def _may_be_cut(tracer: ShortTracer, use: ast.expr) -> bool:
    """Tell whether a list is cut where it is used, or where its name gets it."""
    values: list[ast.expr | None] = [use]
    if isinstance(use, ast.Name):
        values = [binding.value for binding in tracer.bindings.reaching(use, use.id)]
    return any(isinstance(v, ast.Subscript) and _is_head(v.slice) for v in values)


class ShortTracer(Tracer):
    """Follows lists back also through what shortens them."""

    def __init__(self, program: Program, module: Module, *, depth: int = MAX_DEPTH) -> None:
        super().__init__(program, module)
        self.depth = depth

    def _before(self, value: ast.expr, scope: ast.AST, found: Lineage) -> ast.expr | None:
        if isinstance(value, ast.Subscript) and _is_head(value.slice):
            found.cuts.append(value)
            return value.value
        if isinstance(value, ast.List) and not value.elts and found.names:
            return self._filled(found.names[-1], scope, found)
        first = self._left(value) if isinstance(value, ast.Call) and self.depth else None
        if first is not None:
            found.filters.append(value)
            return first
        return super()._before(value, scope, found)

    def _left(self, call: ast.Call) -> ast.expr | None:
        """Return the list of which a function of the program gives some items."""
        is_asked = bool(call.args) and self._may_be_own(call.func)
        only = self.program.only(self.module, call.func) if is_asked else None
        if not isinstance(only, Routine) or isinstance(only.node, ast.Lambda):
            return None
        nodes = own_nodes(only.node)
        returns = [n.value for n in nodes if isinstance(n, ast.Return)]
        if any(isinstance(n, ast.Yield | ast.YieldFrom) for n in nodes):
            return None
        tracer = ShortTracer(self.program, only.module, depth=self.depth - 1)
        names = {tracer.kept_of(only.node, value) for value in returns}
        name = names.pop() if len(names) == 1 else ""
        at = position_of(only.module, only.node, name)
        return argument(call, name, at) if name and at >= 0 else None

    def _may_be_own(self, called: ast.expr) -> bool:
        """Tell whether a function may be one of the program; to follow all of them takes long."""
        root = called.value if isinstance(called, ast.Attribute) else called
        if not isinstance(root, ast.Name):
            return False
        kinds = {b.kind for b in self.bindings.reaching(root, root.id)}
        return bool(kinds) and kinds <= {"def", "from", "import"}

    def kept_of(self, function: Function, value: ast.expr | None) -> str:
        """Return the parameter of which a value has some items; empty where that is not sure."""
        found = self.trace(value) if value is not None else Lineage(is_open=True)
        if found.is_open or found.shuffles or found.is_sorted or not found.filters:
            return ""
        name = found.names[-1] if found.names else ""
        is_given = found.source is None and not found.cuts
        bindings = self.bindings.all(function, name)
        is_own = any(b.kind == "parameter" for b in bindings) and not any(b.path for b in bindings)
        return name if is_given and is_own else ""

    def _filled(self, name: str, scope: ast.AST, found: Lineage) -> ast.expr | None:
        """Return the list whose items a loop appends, all of them or some."""
        calls = [c for c in self.module.calls("append", "extend", "insert") if _owner(c) == name]
        calls = [c for c in calls if self.bindings.scope(c) is scope]
        loops = self.module.loops(calls[0]) if len(calls) == 1 else []
        loop = loops[0] if len(loops) == 1 else None
        if not isinstance(loop, ast.For) or not isinstance(loop.target, ast.Name):
            return None
        added = calls[0].args[0] if calls[0].args else None
        names = _names(added) if added is not None else set()
        if loop.target.id not in names or ast.unparse(calls[0].func) != f"{name}.append":
            return None
        if not self._takes_all(calls[0], loop):
            if not self._chooses(calls[0], loop):
                return None
            found.filters.append(calls[0])
        return loop.iter

    def _takes_all(self, added: ast.Call, loop: ast.For) -> bool:
        is_direct = self.module.parent(self.module.statement(added)) is loop
        leaves = any(isinstance(n, ast.Continue | ast.Break) for n in ast.walk(loop))
        return is_direct and not leaves

    def _chooses(self, added: ast.Call, loop: ast.For) -> bool:
        """Tell whether it is the items that decide which of them are added, not their number."""
        parts = list(ast.walk(loop))
        if any(isinstance(n, ast.Break) for n in parts):
            return False
        made = {n.id for n in ast.walk(loop.target) if isinstance(n, ast.Name)}
        for node in parts:
            if isinstance(node, ast.Assign) and _names(node.value) & made:
                made |= {n for target in node.targets for n in _names(target)}
        tests = [n.test for n in parts if isinstance(n, ast.If)]
        own = _owner(added)
        if any(not _names(test) & made or own in _names(test) for test in tests):
            return False
        return bool(tests) or any(isinstance(n, ast.Try) for n in parts)


def _is_head(part: ast.expr) -> bool:
    return isinstance(part, ast.Slice) and part.lower is None and part.step is None


def _owner(call: ast.Call) -> str:
    owner = call.func.value if isinstance(call.func, ast.Attribute) else None
    return owner.id if isinstance(owner, ast.Name) else ""


def _names(node: ast.AST) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
