"""Arrays of a script: the line that makes one, what surely is one, what changes one in place."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping

from quickfit.code.module import Module
from quickfit.code.program import Program
from quickfit.code.scopes import binders_in_file, nodes_in_scope, reads, writes
from quickfit.code.syntax import Def, Loop, called_name, name_of, parse_or_none

Scope = ast.Module | Def
Line = tuple[str, int]
_LIBRARIES = ("np", "numpy", "pd", "pandas")
# Methods of a random generator that give floats; what they belong to is not the array.
_RANDOM = ("normal", "random", "uniform", "standard_normal", "randn", "rand", "random_sample")
_SINGLE = ("float32", "float16", "half", "single", "bfloat16")
# Assignments and calls that are followed, one after the other.
MAX_LINES_FOLLOWED = 10


class Arrays:
    """The texts of a script's files, by name."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        trees = {file: parse_or_none(text) for file, text in texts.items()}
        self.trees = {file: tree for file, tree in trees.items() if tree is not None}

    def maker(self, file: str, line: int, method: str) -> Line | None:
        """Return the line that makes the first array given to a call of `method` at a line."""
        tree = self.trees.get(file)
        calls = [n for n in ast.walk(tree) if isinstance(n, ast.Call)] if tree is not None else []
        named = [call for call in calls if called_name(call) == method and call.args]
        here = [c for c in named if c.lineno <= line <= (c.end_lineno or 0)]
        if tree is None or len(here) != 1:
            return None
        return self._follow(here[0].args[0], file, _scope(tree, line), 0, 0)

    def _follow(
        self, value: ast.expr, file: str, scope: Scope, part: int, depth: int
    ) -> Line | None:
        """Return where a value, or a part of a tuple, is made; None where that is not told."""
        if depth > MAX_LINES_FOLLOWED:
            return None
        if isinstance(value, ast.Tuple | ast.List):
            parts = value.elts[part : part + 1]
            return self._first(parts, file, scope, depth)
        if isinstance(value, ast.Dict):
            return self._first(value.values, file, scope, depth)
        if isinstance(value, ast.BinOp):
            return self._first((value.left, value.right), file, scope, depth)
        if isinstance(value, ast.Subscript | ast.UnaryOp | ast.Starred):
            inner = value.operand if isinstance(value, ast.UnaryOp) else value.value
            return self._follow(inner, file, scope, part, depth + 1)
        if isinstance(value, ast.Call):
            return self._called(value, file, scope, part, depth)
        if isinstance(value, ast.Attribute):
            named = self._assigned(ast.unparse(value), file, self.trees[file], depth)
            return named or self._follow(value.value, file, scope, 0, depth + 1)
        return self._named(value.id, file, scope, depth) if isinstance(value, ast.Name) else None

    def _first(
        self, values: list[ast.expr] | tuple[ast.expr, ...], file: str, scope: Scope, depth: int
    ) -> Line | None:
        found = (self._follow(value, file, scope, 0, depth + 1) for value in values)
        return next((line for line in found if line is not None), None)

    def _called(
        self, call: ast.Call, file: str, scope: Scope, part: int, depth: int
    ) -> Line | None:
        """Return where the result of a call is made: in it, in what it is given, or at it."""
        name, here = called_name(call), (file, call.func.end_lineno or call.lineno)
        if any(word in ast.unparse(k) for k in (*call.args, *call.keywords) for word in _SINGLE):
            return None  # it is made single here
        for other, function in self._functions(name):
            returns = [n.value for n in ast.walk(function) if isinstance(n, ast.Return) and n.value]
            for value in returns:
                line = self._follow(value, other, function, part, depth + 1)
                if line is not None:
                    return line
        if name == "astype" or (name in _RANDOM and isinstance(call.func, ast.Attribute)):
            return here
        if isinstance(call.func, ast.Attribute) and _root(call) not in _LIBRARIES:
            inner = self._follow(call.func.value, file, scope, 0, depth + 1)
            return inner or self._first(call.args, file, scope, depth)
        return self._first(call.args, file, scope, depth) or here

    def _named(self, name: str, file: str, scope: Scope, depth: int) -> Line | None:
        if isinstance(scope, Def):
            names = [arg.arg for arg in (*scope.args.posonlyargs, *scope.args.args)]
            if name in names:
                return self._given(scope, names.index(name), depth)
        found = self._assigned(name, file, scope, depth)
        tree = self.trees[file]
        return found or (self._assigned(name, file, tree, depth) if scope is not tree else None)

    def _assigned(self, name: str, file: str, scope: Scope, depth: int) -> Line | None:
        """Return where what is assigned to a name is made; the first assignment that tells."""
        for value, part in _assignments(scope, name):
            if name not in map(ast.unparse, ast.walk(value)):
                line = self._follow(value, file, _scope(scope, value.lineno), part, depth + 1)
                if line is not None:
                    return line
        return None

    def _given(self, function: Def, place: int, depth: int) -> Line | None:
        """Return where the argument of a function is made, by the first call that tells."""
        for file, tree in self.trees.items():
            for node in ast.walk(tree):
                if isinstance(node, ast.Call) and called_name(node) == function.name:
                    given = node.args[place : place + 1]
                    line = self._first(given, file, _scope(tree, node.lineno), depth)
                    if line is not None:
                        return line
        return None

    def _functions(self, name: str) -> Iterator[tuple[str, Def]]:
        for file, tree in self.trees.items():
            for node in ast.walk(tree):
                if isinstance(node, Def) and node.name == name:
                    yield file, node


def _assignments(scope: Scope, name: str) -> Iterator[tuple[ast.expr, int]]:
    """Yield what is assigned to a name, and which part of it."""
    found = [n for n in ast.walk(scope) if isinstance(n, ast.Assign)]
    for node in sorted(found, key=lambda n: n.lineno):
        for target in node.targets:
            parts = target.elts if isinstance(target, ast.Tuple | ast.List) else [target]
            names = [ast.unparse(part) for part in parts]
            if name in names:
                yield node.value, names.index(name)


def _scope(tree: Scope, line: int) -> Scope:
    functions = [n for n in ast.walk(tree) if isinstance(n, Def)]
    around = [n for n in functions if n.lineno <= line <= (n.end_lineno or 0)]
    return max(around, key=lambda n: n.lineno, default=tree)


def _root(node: ast.expr) -> str:
    """Return the name that a chain of attributes and calls begins with."""
    while isinstance(node, ast.Attribute | ast.Call):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


# Functions and methods that give an array, whatever they are given.
_MAKING = {"array", "asarray", "normal", "random", "uniform", "standard_normal", "rand", "randn"}
_MAKING |= {"astype", "reshape", "zeros", "ones", "stack", "concatenate", "to_numpy", "expand_dims"}
_MAKING |= {"fit_transform", "loadtxt", "genfromtxt", "linspace", "arange", "integers", "vstack"}
_MAKING |= {"hstack", "tile", "atleast_2d", "pad_sequences", "zeros_like", "ones_like", "randint"}
# Functions that give several arrays at once.
_MAKING_MANY = {"load_data", "train_test_split"}
MAX_DEPTH = 6


def is_array(module: Module, value: ast.expr | None, program: Program, depth: int = 0) -> bool:
    """Tell whether an expression is an array or a tensor, and no list, table or dataset."""
    if value is None or depth > MAX_DEPTH:
        return False
    if isinstance(value, ast.Name):
        return _is_array_name(module, value, program, depth)
    if isinstance(value, ast.Subscript):
        if name_of(value.value) in ("loc", "iloc"):
            return False  # a part of a table
        parts = value.slice.elts if isinstance(value.slice, ast.Tuple) else [value.slice]
        if isinstance(value.slice, ast.Tuple) or any(map(is_new_axis, parts)):
            return any(isinstance(p, ast.Slice) or is_new_axis(p) for p in parts)
        is_part = isinstance(value.slice, ast.Slice)
        return is_part and is_array(module, value.value, program, depth + 1)
    if isinstance(value, ast.BinOp):
        sides = (value.left, value.right)
        return any(is_array(module, side, program, depth + 1) for side in sides)
    if isinstance(value, ast.Attribute):
        if value.attr == "values" and _has_tables(module):
            return True
        return _is_array_attribute(module, value, program, depth)
    if not isinstance(value, ast.Call):
        return False
    if called_name(value) == "astype" and _has_tables(module):
        receiver = value.func.value if isinstance(value.func, ast.Attribute) else None
        return is_array(module, receiver, program, depth + 1)
    if called_name(value) in _MAKING or _is_loaded(module, value):
        return True
    return _is_returned(module, value, program, depth, place=None)


def _has_tables(module: Module) -> bool:
    """Tell whether a file uses pandas, whose tables have methods of the same names as arrays."""
    names = [alias.name for node in module.all(ast.Import) for alias in node.names]
    names += [node.module or "" for node in module.all(ast.ImportFrom)]
    return any(name.partition(".")[0] == "pandas" for name in names)


def _is_loaded(module: Module, call: ast.Call) -> bool:
    """Tell whether a call reads one array: `np.load` of a file whose name ends in `.npy`."""
    path = call.args[0] if called_name(call) == "load" and len(call.args) == 1 else None
    while isinstance(path, ast.BinOp | ast.Call | ast.JoinedStr):
        if isinstance(path, ast.BinOp):
            path = path.right
        elif isinstance(path, ast.Call):
            path = path.args[-1] if path.args else None
        else:
            path = path.values[-1] if path.values else None
    text = path.value if isinstance(path, ast.Constant) else ""
    return isinstance(text, str) and text.endswith(".npy")


def _is_returned(
    module: Module, call: ast.Call, program: Program, depth: int, place: int | None
) -> bool:
    """Tell whether a function of the file returns an array, alone or at a place of a tuple."""
    if not isinstance(call.func, ast.Name) or len(binders_in_file(module, call.func.id)) != 1:
        return False
    found = [f for f in module.all(ast.FunctionDef) if f.name == call.func.id]
    if len(found) != 1 or found[0].decorator_list:
        return False
    nodes = list(nodes_in_scope(*found[0].body))
    returned = [n.value for n in nodes if isinstance(n, ast.Return)]
    if not returned or any(isinstance(n, ast.Yield | ast.YieldFrom) for n in nodes):
        return False
    if place is not None:
        returned = [_part(value, place) for value in returned]
    return all(is_array(module, value, program, depth + 1) for value in returned)


def _part(value: ast.expr | None, place: int) -> ast.expr | None:
    parts = value.elts if isinstance(value, ast.Tuple) else []
    return parts[place] if place < len(parts) else None


def is_new_axis(part: ast.expr) -> bool:
    """Tell whether an index is `None` or `np.newaxis`."""
    is_none = isinstance(part, ast.Constant) and part.value is None
    return is_none or name_of(part) == "newaxis"


def _is_array_name(module: Module, name: ast.Name, program: Program, depth: int) -> bool:
    """Tell whether everything that a name is bound to where it is read is an array."""
    if _is_trained_with(module, name):
        return True
    found = bindings_near(module, name)
    return bool(found) and all(
        _is_given(module, node, program, depth)
        if isinstance(node, ast.arg)
        else _is_array_binding(module, node, name.id, program, depth)
        for node in found
    )


def _is_trained_with(module: Module, name: ast.Name) -> bool:
    """Tell whether a function trains with a name and with labels: then it is no dataset."""
    function = module.around(name, ast.FunctionDef)
    calls = module.all(ast.Call, within=function) if function is not None else []
    return any(
        called_name(call) in ("fit", "train_on_batch")
        and len(call.args) > 1
        and ast.unparse(call.args[0]) == name.id
        for call in calls
    )


def _is_given(module: Module, node: ast.arg, program: Program, depth: int) -> bool:
    """Tell whether every call of a function gives an array for an argument of it."""
    function = module.around(node, ast.FunctionDef, ast.Lambda)
    if not isinstance(function, ast.FunctionDef) or node not in function.args.args:
        return False
    owner = module.parent(function)
    is_method = isinstance(owner, ast.ClassDef)
    is_made = isinstance(owner, ast.ClassDef) and function.name == "__init__"
    name = owner.name if is_made and isinstance(owner, ast.ClassDef) else function.name
    place = function.args.args.index(node) - is_method
    calls = [
        (other, call)
        for other in program.modules()
        for call in other.all(ast.Call)
        if called_name(call) == name
    ]
    given = [(s, _argument(call, place, node.arg)) for s, call in calls]
    return bool(given) and all(is_array(s, value, program, depth + 1) for s, value in given)


def _argument(call: ast.Call, place: int, name: str) -> ast.expr | None:
    """Return what a call gives by position or by name; None where that is not certain."""
    if any(isinstance(arg, ast.Starred) for arg in call.args):
        return None
    named = next((k.value for k in call.keywords if k.arg == name), None)
    return named if named is not None else call.args[place] if place < len(call.args) else None


def _is_array_attribute(module: Module, node: ast.Attribute, program: Program, depth: int) -> bool:
    """Tell whether `self.x` is set once in its class, to an array."""
    owner = module.around(node, ast.ClassDef)
    if owner is None or not isinstance(node.value, ast.Name) or node.value.id != "self":
        return False
    stores = [
        part
        for part in module.all(ast.Attribute)
        if part.attr == node.attr and not isinstance(part.ctx, ast.Load)
    ]
    if len(stores) != 1 or not module.is_in(stores[0], owner):
        return False
    return is_array(module, _value_of(module, stores[0]), program, depth + 1)


def _value_of(module: Module, target: ast.AST) -> ast.expr | None:
    """Return what is assigned to a target, alone or as one of several."""
    parent = module.parent(target)
    if isinstance(parent, ast.Assign):
        return parent.value
    assign = module.parent(parent) if isinstance(parent, ast.Tuple) else None
    values = assign.value if isinstance(assign, ast.Assign) else None
    if not isinstance(parent, ast.Tuple) or not isinstance(values, ast.Tuple):
        return None
    pairs = zip(parent.elts, values.elts, strict=False)
    return next((value for part, value in pairs if part is target), None)


def bindings_near(module: Module, name: ast.Name) -> list[ast.AST]:
    """Return what binds a name in the function that reads it, else at the top of the file."""
    found = binders_in_file(module, name.id)
    function = module.around(name, ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
    local = [node for node in found if function is not None and module.is_in(node, function)]
    top = [node for node in found if module.around(node, ast.FunctionDef, ast.Lambda) is None]
    return local or top


def _is_array_binding(
    module: Module, node: ast.AST, name: str, program: Program, depth: int
) -> bool:
    parent = module.parent(node)
    if isinstance(parent, ast.Assign) and parent.targets == [node]:
        is_scaled = isinstance(parent.value, ast.BinOp) and any(
            isinstance(n, ast.Name) and n.id == name for n in ast.walk(parent.value)
        )
        return is_scaled or is_array(module, parent.value, program, depth + 1)
    if isinstance(parent, ast.AugAssign):
        return True  # the first value says what it is
    inner = parent
    while isinstance(parent, ast.Tuple):
        parent = module.parent(parent)
    many = parent.value if isinstance(parent, ast.Assign) else None
    if isinstance(inner, ast.Tuple) and isinstance(parent, ast.Assign) and inner in parent.targets:
        place = inner.elts.index(node)  # type: ignore[arg-type]
        if any(isinstance(part, ast.Starred) for part in inner.elts):
            return False
        if isinstance(many, ast.Tuple):
            is_pair = len(many.elts) == len(inner.elts)
            return is_pair and is_array(module, many.elts[place], program, depth + 1)
        if isinstance(many, ast.Call) and _is_returned(module, many, program, depth, place):
            return True
    return isinstance(many, ast.Call) and called_name(many) in _MAKING_MANY


# Functions and methods whose result shares no memory with what they are given.
_FRESH = {"copy", "deepcopy", "array", "len", "int", "float", "str", "zeros", "ones", "empty"}
_FRESH |= {"full", "zeros_like", "ones_like", "empty_like", "full_like", "range", "arange"}
_FRESH |= {"predict", "fit", "evaluate", "argmax", "argmin", "mean", "sum", "std", "max", "min"}
_FRESH |= {"stack", "concatenate", "vstack", "hstack", "bincount", "unique", "permutation"}


def changes_in_place(module: Module, loop: Loop, arrays: set[str]) -> bool:
    """Tell whether a loop may write into arrays of these names, or into views of them."""
    nodes = [node for statement in loop.body for node in ast.walk(statement)]
    return bool(written_names(nodes) & views_of(module.tree, arrays))


def views_of(tree: ast.AST, arrays: set[str]) -> set[str]:
    """Return names that may share memory with arrays, by any assignment or loop in some code."""
    pairs = [pair for node in ast.walk(tree) for pair in bound_pairs(node)]
    views, before = set(arrays), set[str]()
    while views != before:
        before = set(views)
        for target, value in pairs:
            if not is_fresh(value) and reads(value) & views:
                views |= writes(target)
    return views


def bound_pairs(node: ast.AST) -> list[tuple[ast.expr, ast.expr]]:
    """Return what a statement gives values to, each with the value or what it runs over."""
    if isinstance(node, ast.For):
        return [(node.target, node.iter)]
    if isinstance(node, ast.NamedExpr) or (isinstance(node, ast.AnnAssign) and node.value):
        return [(node.target, node.value)]  # type: ignore[list-item]
    if not isinstance(node, ast.Assign):
        return []
    pairs: list[tuple[ast.expr, ast.expr]] = []
    for target in node.targets:
        parts = (target, node.value)
        if all(isinstance(part, ast.Tuple) for part in parts):
            pairs += zip(target.elts, node.value.elts, strict=False)  # type: ignore[attr-defined]
        else:
            pairs.append(parts)
    return pairs


def is_fresh(value: ast.expr) -> bool:
    """Tell whether a value shares no memory with what it is made of."""
    if isinstance(value, ast.Call):
        return called_name(value) in _FRESH
    return isinstance(value, ast.BinOp | ast.UnaryOp | ast.Compare | ast.Constant)


def written_names(nodes: Iterable[ast.AST]) -> set[str]:
    """Return the names of what code writes into: `x[0] = 1`, `x += 1` or `x.flags = ...`."""
    return {name for node in nodes for name in _written_into(node)}


def _written_into(node: ast.AST) -> set[str]:
    """Return the name of what a node writes into: `x[0] = 1`, `x += 1` or `x.flags = ...`."""
    target = node.target if isinstance(node, ast.AugAssign) else node
    is_part = isinstance(target, ast.Subscript | ast.Attribute)
    is_stored = is_part and not isinstance(target.ctx, ast.Load)  # type: ignore[attr-defined]
    if not isinstance(node, ast.AugAssign) and not is_stored:
        return set()
    while isinstance(target, ast.Subscript | ast.Attribute):
        target = target.value
    return {target.id} if isinstance(target, ast.Name) else set()
