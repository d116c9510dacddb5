"""Names of a file: which statements bind them, which reach a use, what a library calls them."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from quickfit.code.module import Module
from quickfit.code.syntax import COMPREHENSIONS, FUNCTIONS, LOOPS, name_of

Scope = ast.Module | ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef | ast.expr
_SCOPES = (*FUNCTIONS, ast.Module, ast.ClassDef, *COMPREHENSIONS)
_WITHS = (ast.With, ast.AsyncWith)
Block = tuple[ast.AST, str]
# Functions and calls of them: more say nothing about one name.
MAX_FOLLOWED = 20


@dataclass(frozen=True)
class Binding:
    """One statement that gives a name its value.

    Args:
        kind: `value`, `element` (of a loop), `import`, `from`, `def`, `class`, `parameter` or
            `other`.
        node: the statement or expression that binds.
        value: what is assigned, looped over or entered.
        path: which part of it, of `a, b = …`.
        module: of an import, the module; of `from`, with the name in `name`.
        name: of a parameter or of what is imported.
    """

    kind: str
    node: ast.AST
    value: ast.expr | None = None
    path: tuple[int, ...] = ()
    module: str = ""
    name: str = ""


class Bindings:
    """All bindings of a file."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.stars: list[ast.ImportFrom] = []
        self._of: dict[ast.AST, dict[str, list[Binding]]] = defaultdict(lambda: defaultdict(list))
        self._globals: dict[ast.AST, set[str]] = defaultdict(set)
        self._blocks: dict[tuple[ast.AST, ast.AST], tuple[Block, ...]] = {}
        self._read: dict[str, list[ast.Name]] | None = None
        for node in module.all(ast.Global):
            self._globals[self.scope(node)].update(node.names)
        for statement in _binding_nodes(module):
            for name, binding in names_bound_by(statement):
                self._of[self._home(statement, name)][name].append(binding)
            if isinstance(statement, ast.ImportFrom) and statement.names[0].name == "*":
                self.stars.append(statement)

    def scope(self, node: ast.AST) -> ast.AST:
        """Return the innermost scope a node is evaluated in."""
        child, found = node, self.module.parents.get(node)
        while found is not None:
            if isinstance(found, _SCOPES) and _is_inside(found, child):
                return found
            child, found = found, self.module.parents.get(found)
        return self.module.tree

    def _home(self, node: ast.AST, name: str) -> ast.AST:
        """Return the scope whose name a node binds."""
        if isinstance(node, ast.arg):
            return self.module.around(node, *FUNCTIONS) or self.module.tree
        if isinstance(node, ast.comprehension):
            return self.module.parents[node]
        scope = self.scope(node)
        while isinstance(scope, COMPREHENSIONS):  # a walrus binds outside
            scope = self.scope(scope)
        return self.module.tree if name in self._globals.get(scope, ()) else scope

    def all(self, scope: ast.AST, name: str) -> list[Binding]:
        """Return what binds a name in a scope, in the order of the text."""
        return self._of[scope][name] if scope in self._of and name in self._of[scope] else []

    def names(self, scope: ast.AST) -> list[str]:
        """Return the names bound in a scope."""
        return list(self._of[scope]) if scope in self._of else []

    def reaching(self, use: ast.AST, name: str) -> list[Binding]:
        """Return the bindings of a name that may hold where it is used; none: it is not ours."""
        scope, is_own = self.scope(use), True
        while True:
            found = self.all(scope, name)
            if found and isinstance(scope, COMPREHENSIONS):
                return found  # its own names hold in all of it, also in front of its `for`
            if found and (is_own or not isinstance(scope, ast.ClassDef)):
                here = [b for b in found if self._is_here(b, scope)]
                # What a function does to a name of the module may hold anywhere.
                away = [b for b in found if b not in here]
                if is_own:
                    return self._reaching(use, here, scope) + away
                return self._when_called(use, here, scope) + away
            if scope is self.module.tree:
                return []
            # A comprehension is run at once, where it stands.
            is_own = is_own and isinstance(scope, COMPREHENSIONS)
            scope = self.scope(scope)

    def _when_called(self, use: ast.AST, bindings: list[Binding], scope: ast.AST) -> list[Binding]:
        """Return what may hold inside a function whenever it runs, as far as its calls are seen."""
        end = self.at_end(bindings, scope)
        if scope is not self.module.tree or len(bindings) < 2:
            return end
        places = self._places_of_calls(use)
        if not places:
            return end
        found = [b for place in places for b in self._reaching(place, bindings, scope)]
        return list(dict.fromkeys(found)) or end

    def _places_of_calls(self, use: ast.AST) -> list[ast.AST]:
        """Return where the module itself runs the function around a node; none: nobody can say."""
        places: list[ast.AST] = []
        waiting, seen = [use], set()
        while waiting:
            function = self.module.function(waiting.pop())
            if function is None or function in seen:
                continue
            seen.add(function)
            is_method = isinstance(self.module.parents.get(function), ast.ClassDef)
            if isinstance(function, ast.Lambda) or is_method or len(seen) > MAX_FOLLOWED:
                return []
            for name in self._reads(function.name):
                above = self.module.parents[name]
                if self.module.function(name) is not None:
                    waiting.append(name)
                elif isinstance(above, ast.Call) and above.func is name:
                    places.append(name)
                else:
                    return []  # handed to something that runs it later
        return places if len(places) <= MAX_FOLLOWED else []

    def _reads(self, name: str) -> list[ast.Name]:
        if self._read is None:
            self._read = defaultdict(list)
            for node in self.module.all(ast.Name):
                if isinstance(node.ctx, ast.Load):
                    self._read[node.id].append(node)
        return self._read.get(name, [])

    def _is_here(self, binding: Binding, scope: ast.AST) -> bool:
        if binding.kind in ("parameter", "element"):
            return True
        return scope is not self.module.tree or self.module.function(binding.node) is None

    def _reaching(self, use: ast.AST, bindings: list[Binding], scope: ast.AST) -> list[Binding]:
        chain = self.blocks(use, scope)
        place = _place(use)
        earlier = [b for b in bindings if _effect_of(b.node) <= place]
        before = [b for b in earlier if not self._is_excluded(b, chain, scope)]
        found, last = self._last(before, chain, scope)
        loops = [node for node, _ in chain if isinstance(node, LOOPS)]
        if last is not None:
            inside = [n for n, _ in self.blocks(last.node, scope)]
            loops = [loop for loop in loops if loop not in inside]
            if isinstance(last.node, LOOPS):
                loops = [loop for loop in loops if loop is not last.node]
        later = [b for b in bindings if b not in before]
        # What a turn of a loop binds behind the use holds in its next turn.
        found += [b for b in later if any(self.module.is_in(b.node, loop) for loop in loops)]
        return found

    def at_end(self, bindings: list[Binding], scope: ast.AST) -> list[Binding]:
        """Return those of a scope's bindings of a name that may hold when the scope is done."""
        return self._last(bindings, ((scope, "body"),), scope)[0]

    def _last(
        self, bindings: list[Binding], chain: tuple[Block, ...], scope: ast.AST
    ) -> tuple[list[Binding], Binding | None]:
        """Return the bindings back to the last one that surely ran, and that one."""
        found: list[Binding] = []
        seen: set[tuple[ast.AST, str]] = set()
        for binding in reversed(bindings):
            found.append(binding)
            blocks = self.blocks(binding.node, scope)
            if binding.kind == "parameter" or (blocks and blocks[0] in chain):
                return found, binding
            if isinstance(binding.node, LOOPS) and (binding.node, "body") in chain:
                return found, binding
            if len(blocks) > 1 and isinstance(blocks[0][0], ast.If):
                seen.add(blocks[0])
                seen |= {(blocks[0][0], f) for f in _BRANCHES if ends_all(getattr(blocks[0][0], f))}
                if {(blocks[0][0], "body"), (blocks[0][0], "orelse")} <= seen and (
                    blocks[1] in chain
                ):
                    return found, None
        return found, None

    def _is_excluded(self, binding: Binding, chain: tuple[Block, ...], scope: ast.AST) -> bool:
        """Tell whether a binding stands in the other branch than the use, or behind it all ends."""
        blocks = self.blocks(binding.node, scope)
        own = dict(blocks)
        branches = [(node, field) for node, field in chain if isinstance(node, ast.If)]
        if any(node in own and own[node] != field for node, field in branches):
            return True
        # What is bound in front of a `return` still holds in the `finally` around it.
        if any(field == "finalbody" for _, field in chain):
            return False
        return any(block not in chain and ends_all(getattr(*block)) for block in blocks)

    def blocks(self, node: ast.AST, scope: ast.AST) -> tuple[Block, ...]:
        """Return the blocks of statements around a node, innermost first, up to its scope."""
        if (node, scope) in self._blocks:
            return self._blocks[node, scope]
        found: list[Block] = []
        child, above = node, self.module.parents.get(node)
        while above is not None:
            for field in ("body", "orelse", "finalbody", "handlers"):
                block = getattr(above, field, None)
                # What stands in a `with` runs as surely as the `with` itself.
                is_with = isinstance(above, _WITHS)
                if isinstance(block, list) and child in block and not is_with:
                    found.append((above, field))
            if above is scope:
                break
            child, above = above, self.module.parents.get(above)
        self._blocks[node, scope] = tuple(found)
        return self._blocks[node, scope]


def names_bound_by(node: ast.AST) -> Iterator[tuple[str, Binding]]:
    """Yield the names that a node binds."""
    if isinstance(node, ast.Assign):
        for target in node.targets:
            yield from _targets(target, node, node.value)
    elif isinstance(node, ast.AnnAssign):
        if node.value is not None:
            yield from _targets(node.target, node, node.value)
    elif isinstance(node, ast.NamedExpr):
        yield node.target.id, Binding("value", node, node.value)
    elif isinstance(node, ast.AugAssign):
        if isinstance(node.target, ast.Name):
            yield node.target.id, Binding("other", node)
    elif isinstance(node, ast.For | ast.AsyncFor | ast.comprehension):
        for name, found in _targets(node.target, node, node.iter):
            yield name, Binding("element", node, node.iter, found.path)
    elif isinstance(node, ast.With | ast.AsyncWith):
        for item in node.items:
            if item.optional_vars is not None:
                yield from _targets(item.optional_vars, node, item.context_expr)
    elif isinstance(node, ast.Import | ast.ImportFrom):
        yield from _imported(node)
    elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        yield node.name, Binding("def", node)
    elif isinstance(node, ast.ClassDef):
        yield node.name, Binding("class", node)
    elif isinstance(node, ast.arg):
        yield node.arg, Binding("parameter", node, name=node.arg)
    elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name:
        yield node.name, Binding("other", node)


def _targets(target: ast.expr, node: ast.AST, value: ast.expr) -> Iterator[tuple[str, Binding]]:
    waiting: list[tuple[ast.expr, tuple[int, ...]]] = [(target, ())]
    while waiting:
        each, path = waiting.pop()
        if isinstance(each, ast.Name):
            yield each.id, Binding("value", node, value, path)
        elif isinstance(each, ast.Tuple | ast.List):
            waiting += [(part, (*path, number)) for number, part in enumerate(each.elts)]
        elif isinstance(each, ast.Starred) and isinstance(each.value, ast.Name):
            yield each.value.id, Binding("other", node)


def _imported(node: ast.Import | ast.ImportFrom) -> Iterator[tuple[str, Binding]]:
    for alias in node.names:
        if isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            if alias.name != "*":
                binding = Binding("from", node, module=module, name=alias.name)
                yield alias.asname or alias.name, binding
        elif alias.asname:
            yield alias.asname, Binding("import", node, module=alias.name)
        else:  # `import a.b` binds `a`
            first = alias.name.split(".")[0]
            yield first, Binding("import", node, module=first)


_BINDING = (
    *(ast.Assign, ast.AnnAssign, ast.NamedExpr, ast.AugAssign, ast.For, ast.AsyncFor),
    *(ast.comprehension, ast.With, ast.AsyncWith, ast.Import, ast.ImportFrom, ast.FunctionDef),
    *(ast.AsyncFunctionDef, ast.ClassDef, ast.arg, ast.ExceptHandler, ast.MatchAs, ast.MatchStar),
)


def _binding_nodes(module: Module) -> list[ast.AST]:
    """Return what binds names, in the order of the text."""
    found: list[ast.AST] = [n for kind in _BINDING for n in module.all(kind)]
    return sorted(found, key=_effect_of)


def _effect_of(node: ast.AST) -> tuple[int, int]:
    """Return the place from which on a node's names hold: behind an assignment, in a block."""
    if isinstance(node, ast.comprehension):
        return _place(node.target)
    if isinstance(node, ast.For | ast.AsyncFor):
        return node.iter.end_lineno or 0, node.iter.end_col_offset or 0
    if isinstance(node, ast.With | ast.AsyncWith):
        last = node.items[-1].optional_vars or node.items[-1].context_expr
        return last.end_lineno or 0, last.end_col_offset or 0
    if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign | ast.NamedExpr):
        return node.end_lineno or 0, node.end_col_offset or 0
    return _place(node)


def _place(node: ast.AST) -> tuple[int, int]:
    return getattr(node, "lineno", 0), getattr(node, "col_offset", 0)


def _is_inside(scope: ast.AST, child: ast.AST) -> bool:
    """Tell whether a child is evaluated in a scope: not its defaults and decorators."""
    if isinstance(scope, ast.Module):
        return True
    if isinstance(scope, ast.Lambda):
        return child is scope.body
    if isinstance(scope, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return child in scope.body
    return True  # of a comprehension


_BRANCHES = ("body", "orelse")
_EXITS = ("exit", "_exit", "quit")


def ends_all(block: object) -> bool:
    """Tell whether code behind a block is never come to from it: it ends by `return`, `raise`."""
    last = block[-1] if isinstance(block, list) and block else None
    if isinstance(last, ast.Return | ast.Raise):
        return True
    if isinstance(last, ast.If):
        return ends_all(last.body) and ends_all(last.orelse)
    call = last.value if isinstance(last, ast.Expr) else None
    return isinstance(call, ast.Call) and name_of(call.func) in _EXITS


_LEAVES = (ast.Continue, ast.Break, ast.Return, ast.Raise)


def bindings_that_last(module: Module, bindings: list[Binding]) -> list[Binding]:
    """Leave out what a later statement of the same block surely replaces."""
    last: dict[tuple[ast.AST, str], Binding] = {}
    found: list[Binding] = []
    for bound in sorted(bindings, key=lambda b: getattr(b.node, "lineno", 0), reverse=True):
        above = module.parent(bound.node)
        if above is None or not _runs_through(above, bound.node):
            found.append(bound)
        elif (above, bound.kind) not in last:
            last[above, bound.kind] = bound
            found.append(bound)
    return found


def _runs_through(above: ast.AST, node: ast.AST) -> bool:
    """Tell whether code behind a block is reached only from the block's end."""
    if isinstance(above, ast.With):
        return True
    if isinstance(above, ast.Try):
        leaves = all(isinstance(handler.body[-1], _LEAVES) for handler in above.handlers)
        return node in above.body and leaves
    return False


# The longest prefix that fits is exchanged; what follows it stays.
_PREFIXES = {
    "tensorflow.compat.v2": "tensorflow",
    "tensorflow.keras": "keras",
    "keras.api": "keras",
    "tensorflow.data.experimental.AUTOTUNE": "tensorflow.data.AUTOTUNE",
    "tensorflow.image.decode_image": "tensorflow.io.decode_image",
    "tensorflow.image.decode_jpeg": "tensorflow.io.decode_jpeg",
    "tensorflow.image.decode_png": "tensorflow.io.decode_png",
    "tensorflow.image.decode_gif": "tensorflow.io.decode_gif",
    "tensorflow.image.decode_bmp": "tensorflow.io.decode_bmp",
    "tensorflow.read_file": "tensorflow.io.read_file",
    "keras.models.Sequential": "keras.Sequential",
    "keras.models.Model": "keras.Model",
    "keras.layers.Input": "keras.Input",
    "keras.preprocessing.image_dataset_from_directory": "keras.utils.image_dataset_from_directory",
    "keras.utils.Sequence": "keras.utils.PyDataset",
    "keras.backend.clear_session": "keras.utils.clear_session",
    "keras.experimental": "keras.experimental",
    "keras.losses.MSE": "keras.losses.mean_squared_error",
    "keras.losses.mse": "keras.losses.mean_squared_error",
    "tensorflow.optimizers": "keras.optimizers",
    "tensorflow.losses": "keras.losses",
    "tensorflow.metrics": "keras.metrics",
    "tensorflow.initializers": "keras.initializers",
    "keras.mixed_precision.experimental": "keras.mixed_precision.experimental",
    "keras.mixed_precision.Policy": "keras.dtype_policies.DTypePolicy",
    "keras.mixed_precision.DTypePolicy": "keras.dtype_policies.DTypePolicy",
    "keras.DTypePolicy": "keras.dtype_policies.DTypePolicy",
    "keras.config.set_dtype_policy": "keras.mixed_precision.set_global_policy",
    "keras.mixed_precision.set_dtype_policy": "keras.mixed_precision.set_global_policy",
    "keras.optimizers.LossScaleOptimizer": "keras.mixed_precision.LossScaleOptimizer",
}
# Names that `from keras.xxx import *` brings, where more than one such import could have.
_MODELS = {"Sequential", "Model", "load_model", "clone_model", "model_from_json"}
_OPTIMIZERS = {"Adam", "AdamW", "SGD", "RMSprop", "Adagrad", "Adadelta", "Nadam", "Adamax", "Ftrl"}
_CALLBACKS = {"EarlyStopping", "ModelCheckpoint", "ReduceLROnPlateau", "TensorBoard", "Callback"}


def canonical_name(name: str) -> str:
    """Return the usual full name: `tensorflow.keras.models.Model` is `keras.Model`."""
    for _ in range(4):
        new = _with_usual_prefix(name)
        if new == name:
            return name
        name = new
    return name


def _with_usual_prefix(name: str) -> str:
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        other = _PREFIXES.get(".".join(parts[:length]))
        if other is not None:
            return ".".join([other, *parts[length:]])
    return name


def star_imported_name(name: str, modules: list[str]) -> str:
    """Return what a name means that only `from … import *` can have brought; empty if unclear."""
    keras = [module for module in modules if module.startswith("keras")]
    if not keras or not all(m.split(".")[0] in ("keras", "tensorflow") for m in modules):
        return canonical_name(f"{modules[0]}.{name}") if len(modules) == 1 else ""
    for names, module in (
        (_MODELS, "keras.models"),
        (_OPTIMIZERS, "keras.optimizers"),
        (_CALLBACKS, "keras.callbacks"),
    ):
        if name in names:
            return canonical_name(f"{module}.{name}") if {module, "keras"} & set(keras) else ""
    if len(keras) == 1:
        return canonical_name(f"{keras[0]}.{name}")
    return (
        canonical_name(f"keras.layers.{name}")
        if "keras.layers" in keras and name[0].isupper()
        else ""
    )
