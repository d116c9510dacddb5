"""What has happened to the order of a list between where it is made and where it is used."""

from __future__ import annotations

import ast
from collections import defaultdict
from dataclasses import dataclass, field
from functools import cached_property

from quickfit.program import Module, Program, keyword
from quickfit.program.bindings import Binding, Bindings
from quickfit.program.values import External, Made, Member

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
        if not isinstance(call, ast.Call) or name not in (*call.args, _receiver(call)):
            return
        if self.is_shuffle(call) and name in call.args:
            found.shuffles.append(call)
            found.is_open = found.is_open or not is_sure
        elif name is _receiver(call) and _method(call) == "sort":
            found.is_sorted = True
        elif name is _receiver(call) and _method(call) in _ADDING:
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
            is_part = len(call.args) > 2 or keyword(call, "n_samples") is not None
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
            return len(call.args) != 1 or keyword(call, "random_state") is not None
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


def _receiver(call: ast.Call) -> ast.expr | None:
    return call.func.value if isinstance(call.func, ast.Attribute) else None


def _method(call: ast.Call) -> str:
    if isinstance(call.func, ast.Attribute):
        return call.func.attr
    return call.func.id if isinstance(call.func, ast.Name) else ""
