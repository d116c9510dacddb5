"""What has happened to the order and length of a list since it was made, and what parts two."""

from __future__ import annotations

import ast
from collections import defaultdict
from dataclasses import dataclass, field
from functools import cached_property

from quickfit.code.calls import position_of_parameter
from quickfit.code.module import Module
from quickfit.code.names import Binding, Bindings
from quickfit.code.program import Program
from quickfit.code.syntax import (
    FUNCTIONS,
    Function,
    argument,
    keyword_value,
    names_in,
    own_nodes,
    receiver_of,
)
from quickfit.code.values import External, Made, Member, Routine

Place = tuple[int, int]
MAX_STEPS = 12
# Give the items of their first argument in the same order.
_KEEPING = frozenset(
    (
        *("builtins.list", "builtins.tuple", "numpy.array", "numpy.asarray", "numpy.stack"),
        *("tensorflow.constant", "tensorflow.convert_to_tensor", "numpy.copy"),
    )
)
_SORTING = frozenset(("builtins.sorted", "natsort.natsorted", "natsort.os_sorted"))
_LISTING = frozenset(("glob.glob", "glob.iglob", "os.listdir", "os.scandir"))
_LISTING_METHODS = frozenset(("glob", "rglob", "iterdir"))
_PERMUTING = frozenset(("numpy.random.permutation", "sklearn.utils.shuffle", "random.sample"))
_KNOWN = {
    name.rsplit(".", 1)[-1]
    for name in (*_KEEPING, *_SORTING, *_LISTING, *_PERMUTING, "builtins.map")
}
_FILLING = frozenset(("zeros", "ones", "full", "zeros_like", "ones_like", "full_like", "tile"))
# In place.
SHUFFLES = ("random.shuffle", "numpy.random.shuffle")
_GENERATORS = ("numpy.random.default_rng", "numpy.random.RandomState", "random.Random")
# Say something about a list and leave it alone.
_TELLING = frozenset(("print", "info", "debug", "warning", "write"))
_ADDING = frozenset(("append", "extend"))


@dataclass
class Lineage:
    """A list's way back.

    Args:
        names: that it has been called, the last one first.
        shuffles: the calls that shuffled it.
        filters: the comprehensions that left items out.
        cuts: where it was cut to a length.
        is_sorted: it was sorted at some time.
        source: the expression it begins with; None where that is open.
        begins: where that stands.
        built: where the last item was added.
        is_constant: all items are alike.
        is_open: something may have happened to it that the text does not tell.
    """

    names: list[str] = field(default_factory=list)
    shuffles: list[ast.Call] = field(default_factory=list)
    filters: list[ast.expr] = field(default_factory=list)
    cuts: list[ast.expr] = field(default_factory=list)
    is_sorted: bool = False
    source: ast.expr | None = None
    begins: Place = (0, 0)
    built: Place = (0, 0)
    is_constant: bool = False
    is_open: bool = False


class Tracer:
    """Follows lists back inside one function or file."""

    def __init__(self, program: Program, module: Module) -> None:
        self.program = program
        self.module = module
        self.bindings: Bindings = program.files.bindings(module)

    @cached_property
    def _names(self) -> dict[str, list[ast.Name]]:
        found: dict[str, list[ast.Name]] = defaultdict(list)
        for name in self.module.all(ast.Name):
            found[name.id].append(name)
        return found

    def trace(self, use: ast.expr) -> Lineage:
        """Return what happened to a list before one use of it."""
        found = Lineage(source=use, begins=place(use))
        scope = self.bindings.scope(use)
        value: ast.expr | None = use
        for _ in range(MAX_STEPS):
            if value is None or found.is_open:
                break
            found.source, found.begins = value, place(value)
            value = self._before(value, scope, found)
        return found

    def _before(self, value: ast.expr, scope: ast.AST, found: Lineage) -> ast.expr | None:
        """Return what a value was made of, item by item; None where its way begins."""
        if isinstance(value, ast.Name):
            return self._bound(value, scope, found)
        if isinstance(value, ast.ListComp):
            return self._comprehended(value, found)
        if isinstance(value, ast.Call):
            return self._made(value, found)
        is_filled = isinstance(value, ast.BinOp) and isinstance(value.op, ast.Mult)
        found.is_constant = found.is_constant or is_filled
        return None

    def _bound(self, name: ast.Name, scope: ast.AST, found: Lineage) -> ast.expr | None:
        reaching = self.bindings.reaching(name, name.id)
        own = self.bindings.all(scope, name.id)
        if len(reaching) != 1 or reaching[0] not in own:
            found.is_open = True
            return None
        binding = reaching[0]
        found.names.append(name.id)
        found.begins = place(binding.node)
        self._look_between(binding, name, scope, found)
        if binding.kind != "value" or binding.path or binding.value is None:
            # A part of something else: that is where its way begins.
            found.source = None
            found.is_open = found.is_open or binding.kind not in ("value", "parameter")
            return None
        return binding.value

    def _look_between(
        self, binding: Binding, use: ast.Name, scope: ast.AST, found: Lineage
    ) -> None:
        """Note what is done to a name in place between its binding and a use."""
        begin, end = place(binding.node), place(use)
        blocks = self.bindings.blocks(self.module.statement(use), scope)
        for other in self._names[use.id]:
            if other is use or not begin < place(other) < end:
                continue
            if self.bindings.scope(other) is not scope:
                continue
            statement = self.module.statement(other)
            around = self.bindings.blocks(statement, scope)
            is_sure = bool(around) and around[0] in blocks
            self._note(other, statement, found, is_sure=is_sure)

    def _note(self, name: ast.Name, statement: ast.stmt, found: Lineage, *, is_sure: bool) -> None:
        parent = self.module.parent(name)
        if isinstance(parent, ast.Subscript) and isinstance(parent.ctx, ast.Store | ast.Del):
            found.is_open = True
        call = statement.value if isinstance(statement, ast.Expr) else None
        if not isinstance(call, ast.Call) or name not in (*call.args, receiver_of(call)):
            return
        if self.is_shuffle(call) and name in call.args:
            found.shuffles.append(call)
            found.is_open = found.is_open or not is_sure
        elif name is receiver_of(call) and _method(call) == "sort":
            found.is_sorted = True
        elif name is receiver_of(call) and _method(call) in _ADDING:
            found.built = max(found.built, place(call))
        elif _method(call) not in _TELLING:
            found.is_open = True

    def is_shuffle(self, call: ast.Call) -> bool:
        """Tell whether a call shuffles a list in place."""
        if _method(call) != "shuffle":
            return False
        for value in self.program.values(self.module, call.func):
            if isinstance(value, External) and value.name in SHUFFLES:
                continue
            if isinstance(value, Member) and value.name == "shuffle":
                of = value.of
                if isinstance(of, Made) and of.maker in _GENERATORS:
                    continue
            return False
        return len(call.args) == 1

    def _comprehended(self, value: ast.ListComp, found: Lineage) -> ast.expr | None:
        if len(value.generators) != 1:
            return None
        loop = value.generators[0]
        targets = {n.id for n in ast.walk(loop.target) if isinstance(n, ast.Name)}
        if not any(isinstance(n, ast.Name) and n.id in targets for n in ast.walk(value.elt)):
            found.is_constant = True
            return None
        if loop.ifs:
            found.filters.append(value)
        return loop.iter

    def _name(self, call: ast.Call) -> str:
        """Return the full name of what is called; to follow what nobody asks for takes long."""
        return self.program.called(self.module, call) if _method(call) in _KNOWN else ""

    def _made(self, call: ast.Call, found: Lineage) -> ast.expr | None:
        name = self._name(call)
        first = call.args[0] if call.args else None
        if name in _PERMUTING and first is not None and not self._is_counted(call):
            found.shuffles.append(call)
            is_part = len(call.args) > 2 or keyword_value(call, "n_samples") is not None
            found.is_open = found.is_open or is_part
            return first
        if name in _SORTING:
            found.is_sorted = True
            return first
        if name == "builtins.map" and len(call.args) == 2:
            return call.args[1]
        found.is_constant = _method(call) in _FILLING
        return first if name in _KEEPING and first is not None else None

    def _is_counted(self, call: ast.Call) -> bool:
        """Tell whether it is numbers that are permuted, or several lists together."""
        if self._name(call) == "sklearn.utils.shuffle":
            return len(call.args) != 1 or keyword_value(call, "random_state") is not None
        first = call.args[0]
        is_len = isinstance(first, ast.Call) and _method(first) == "len"
        return is_len or isinstance(self.program.literal(self.module, first), int)

    def is_listing(self, node: ast.expr | None) -> bool:
        """Tell whether an expression lists files, in whatever order the disk gives them."""
        if not isinstance(node, ast.Call):
            return False
        if self._name(node) in _LISTING:
            return True
        if _method(node) not in _LISTING_METHODS:
            return False
        values = self.program.values(self.module, node)
        return bool(values) and all(
            isinstance(v, Made)
            and v.method in _LISTING_METHODS
            and all(isinstance(r, Made) and r.maker == "pathlib.Path" for r in v.receiver)
            and bool(v.receiver)
            for v in values
        )


def place(node: ast.AST) -> Place:
    """Return where a node begins, to tell which of two comes first."""
    return getattr(node, "lineno", 0), getattr(node, "col_offset", 0)


def _method(call: ast.Call) -> str:
    if isinstance(call.func, ast.Attribute):
        return call.func.attr
    return call.func.id if isinstance(call.func, ast.Name) else ""


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
        at = position_of_parameter(only.module, only.node, name)
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
        names = names_in(added) if added is not None else set()
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
            if isinstance(node, ast.Assign) and names_in(node.value) & made:
                made |= {n for target in node.targets for n in names_in(target)}
        tests = [n.test for n in parts if isinstance(n, ast.If)]
        own = _owner(added)
        if any(not names_in(test) & made or own in names_in(test) for test in tests):
            return False
        return bool(tests) or any(isinstance(n, ast.Try) for n in parts)


def _is_head(part: ast.expr) -> bool:
    return isinstance(part, ast.Slice) and part.lower is None and part.step is None


def _owner(call: ast.Call) -> str:
    owner = call.func.value if isinstance(call.func, ast.Attribute) else None
    return owner.id if isinstance(owner, ast.Name) else ""


# Let two shuffles draw the same.
_SEEDING = (
    *("seed", "set_state", "setstate", "default_rng", "RandomState", "Random", "set_seed"),
    *("set_random_seed", "get_state", "getstate"),
)


@dataclass(frozen=True)
class Parting:
    """What parts two lists, in a sentence.

    Args:
        at: the code that does it.
        used: where both are used.
        summary: what happens.
    """

    at: ast.expr
    used: ast.AST
    summary: str


def draws_differ(module: Module, first: ast.Call, second: ast.Call) -> bool:
    """Tell whether two shuffles draw from one generator, and nobody winds it back between."""
    if ast.unparse(first.func) != ast.unparse(second.func) or first.keywords or second.keywords:
        return False
    if any(isinstance(n, ast.Call) for n in ast.walk(first.func)):
        return False  # `Random(4).shuffle(x)`: a generator for each
    if module.around(first, *FUNCTIONS) is not module.around(second, *FUNCTIONS):
        return False
    between = [c for c in module.calls(*_SEEDING) if place(first) < place(c) < place(second)]
    return not between and module.loops(first) == module.loops(second)
