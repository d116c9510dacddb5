"""Lines that keep something for good: containers that grow, files that are not closed."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeGuard

from quickfit.code.syntax import called_name, parse_or_none

_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_ADDS = ("append", "appendleft", "extend", "add", "insert")
# After these a container does not hold all that went in.
_TAKES = ("clear", "pop", "popleft", "popitem", "remove", "discard")
# They make a plain number or text, which is small, of whatever they are given.
_PLAIN = {
    *("float", "int", "str", "len", "round", "bool", "repr", "format", "hash", "id"),
    *("item", "time", "perf_counter", "monotonic", "process_time", "train_on_batch", "strip"),
    *("test_on_batch", "evaluate", "get", "mean", "sum", "max", "min", "std", "result"),
}
# They make a NumPy array, or a number of NumPy's.
_ARRAYS = {"numpy", "array", "asarray", "copy", "zeros", "ones", "empty", "stack", "concatenate"}
_ARRAYS |= {"random", "normal", "uniform", "integers", "predict", "predict_on_batch", "tobytes"}
_MODULES = ("np", "numpy")
# What such a name holds is a single number, as an array or not.
_SCALARS = ("loss", "acc", "rate", "score", "reward", "metric", "error", "mse", "mae", "time")
# Methods that make what an object holds once.
_MAKERS = ("__init__", "__post_init__", "build", "on_train_begin", "setup")


@dataclass(frozen=True)
class Keeper:
    """A line that puts a value into a container which nothing empties.

    Args:
        holder: the container as it is written, such as `losses` or `self.seen`.
        value: what goes in, as it is written.
        kind: `plain` (a number or text), `array`, or `unknown`: a tensor, as far as text can say.
        is_by_key: it goes in under a key, as into a cache, which may have been there before.
        function: the function around it; empty at the top.
        made_at: the line that gave the value its name; None where it has none.
    """

    line: int
    holder: str
    value: str
    kind: str
    is_by_key: bool
    function: str
    made_at: int | None = None


def keepers(text: str) -> list[Keeper]:
    """Return the lines that may run often and keep something for good."""
    tree = parse_or_none(text)
    return sorted(_all_keepers(tree), key=lambda keeper: keeper.line) if tree is not None else []


@dataclass(frozen=True)
class Addition:
    """A line that makes what a name holds larger.

    Args:
        function: the function around it; empty at the top.
        owner: the class around that; empty without.
        is_by_key: it goes in under a key, as into a cache, which may have been there before.
        in_loop: a loop in the same function runs it again and again.
    """

    line: int
    function: str
    owner: str
    is_by_key: bool
    in_loop: bool


def additions_to(text: str, name: str) -> list[Addition]:
    """Return the lines that put something into what a name holds, or join something to it.

    Args:
        text: of a file.
        name: as it is written there: `history` or `self.kept`. One that begins with a dot stands
            for an attribute of any object.
    """
    tree = parse_or_none(text)
    if tree is None:
        return []
    parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    found = {}
    for node in ast.walk(tree):
        for holder, is_by_key in (*_put_in(node), *_joined(node)):
            said = ast.unparse(holder)
            if said != name and not (name.startswith(".") and said.endswith(name)):
                continue
            line = getattr(node, "lineno", 0)
            around = list(_around(node, parents))
            function = next((n for n in around if isinstance(n, ast.FunctionDef)), None)
            owner = parents.get(function) if function is not None else None
            in_class = owner.name if isinstance(owner, ast.ClassDef) else ""
            inside = function.name if function is not None else ""
            in_loop = bool(around) and isinstance(around[0], _LOOPS)
            found[line] = Addition(line, inside, in_class, is_by_key, in_loop)
    return sorted(found.values(), key=lambda addition: addition.line)


def _put_in(node: ast.AST) -> Iterator[tuple[ast.expr, bool]]:
    for holder, _, is_by_key in _additions(node):
        yield holder, is_by_key
    call = node.func if isinstance(node, ast.Call) else None
    if isinstance(call, ast.Attribute) and call.attr in ("update", "setdefault"):
        yield _whole(call.value), True


def _joined(node: ast.AST) -> Iterator[tuple[ast.expr, bool]]:
    """Yield names that are given what they held and more: `all = np.concatenate([all, x])`."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if node.func.attr == "assign":
            yield node.func.value, False
    elif isinstance(node, ast.AugAssign):
        yield node.target, False
    elif isinstance(node, ast.Assign):
        used = {ast.unparse(n) for n in ast.walk(node.value) if isinstance(n, ast.expr)}
        for target in node.targets:
            if ast.unparse(target) in used:
                yield target, False


def line_of_function(text: str, name: str) -> int | None:
    """Return the line of the first function of that name."""
    tree = parse_or_none(text)
    nodes = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)] if tree else []
    return next((node.lineno for node in nodes if node.name == name.rpartition(".")[2]), None)


def _all_keepers(tree: ast.Module) -> Iterator[Keeper]:
    bounded = _bounded(tree)
    parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    for node in ast.walk(tree):
        for holder, value, is_by_key in _additions(node):
            around = list(_around(node, parents))
            name = ast.unparse(holder)
            # What a name made in the same turn or call holds, goes with it.
            if not around or name in bounded or _is_fresh(name, around):
                continue
            function = next((f for f in around if isinstance(f, ast.FunctionDef)), None)
            given = _assigned(around, node)
            made = given.get(value.id) if isinstance(value, ast.Name) else None
            made_at = made.lineno if made is not None else None
            inside = function.name if function is not None else ""
            line, kind = getattr(node, "lineno", 0), _kind(value, given)
            yield Keeper(line, name, ast.unparse(value), kind, is_by_key, inside, made_at)


def _additions(node: ast.AST) -> Iterator[tuple[ast.expr, ast.expr, bool]]:
    """Yield container, value and whether it has a key, of what a statement puts in."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if node.func.attr in _ADDS and node.args:
            holder = node.func.value
            # `d.setdefault(key, []).append(x)` and `d[key].append(x)` grow as `d` does.
            if isinstance(holder, ast.Call) and isinstance(holder.func, ast.Attribute):
                holder = holder.func.value
            yield _whole(holder), node.args[-1], False
    elif isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add):
        if isinstance(node.value, ast.List | ast.Tuple) and node.value.elts:
            yield node.target, node.value.elts[0], False
    elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript):
        target = node.targets[0]
        if not isinstance(target.slice, ast.Constant | ast.Slice | ast.Tuple):
            yield _whole(target.value), node.value, True


def _whole(holder: ast.expr) -> ast.expr:
    return _whole(holder.value) if isinstance(holder, ast.Subscript) else holder


def _around(node: ast.AST, parents: dict[ast.AST, ast.AST]) -> Iterator[ast.AST]:
    """Yield the loops and functions around a node, the innermost first."""
    one: ast.AST | None = parents.get(node)
    while one is not None:
        if isinstance(one, (*_LOOPS, *_FUNCTIONS)):
            yield one
        one = parents.get(one)


def _is_fresh(name: str, around: list[ast.AST]) -> bool:
    """Tell whether a container is made in the very call that adds to it, outside of any loop."""
    if isinstance(around[0], _LOOPS):
        return False
    return any(name in _names(t) for node in ast.walk(around[0]) for t in _targets(node))


def _targets(node: ast.AST) -> list[ast.expr]:
    if isinstance(node, ast.Assign):
        return node.targets
    return [node.target] if isinstance(node, ast.AnnAssign) else []


def _names(target: ast.expr) -> set[str]:
    parts = target.elts if isinstance(target, ast.Tuple | ast.List) else [target]
    return {ast.unparse(part) for part in parts}


def _bounded(tree: ast.Module) -> set[str]:
    """Return containers that do not hold all that went in.

    They are made again in a loop or by another method, have a length, or something is taken out.
    """
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, _LOOPS):
            found |= {name for one in ast.walk(node) for t in _targets(one) for name in _names(t)}
        elif isinstance(node, ast.FunctionDef) and node.name not in _MAKERS:
            names = {name for one in ast.walk(node) for t in _targets(one) for name in _names(t)}
            found |= {name for name in names if name.startswith("self.")}
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            found |= {ast.unparse(node.func.value)} if node.func.attr in _TAKES else set()
        elif isinstance(node, ast.Delete):
            found |= {ast.unparse(_whole(target)) for target in node.targets}
        elif _is_deque(node):
            found |= {name for target in _targets(node) for name in _names(target)}
    return found


def _is_deque(node: ast.AST) -> bool:
    value = node.value if isinstance(node, ast.Assign | ast.AnnAssign) else None
    if not isinstance(value, ast.Call) or called_name(value) != "deque":
        return False
    return bool(value.keywords) or len(value.args) > 1


def _assigned(around: list[ast.AST], node: ast.AST) -> dict[str, ast.expr]:
    """Return what names were given in the loops and functions around a line, above it."""
    found: dict[str, ast.expr] = {}
    for scope in reversed(around):
        for one in ast.walk(scope):
            if isinstance(one, ast.Assign) and one.lineno <= getattr(node, "lineno", 0):
                found |= {name: one.value for target in one.targets for name in _names(target)}
    return found


def _kind(value: ast.expr, assigned: dict[str, ast.expr], depth: int = 0) -> str:
    """Return what a value is: `plain`, `array` or `unknown`."""
    if isinstance(value, ast.Constant | ast.JoinedStr | ast.Compare | ast.BoolOp):
        return "plain"
    if isinstance(value, ast.Name) and depth < 3 and value.id in assigned:
        given = assigned[value.id]
        return _kind(given, assigned, depth + 1) if given is not value else "unknown"
    if isinstance(value, ast.BinOp):
        kinds = {_kind(part, assigned, depth + 1) for part in (value.left, value.right)}
        return _widest(kinds)
    if isinstance(value, ast.Tuple | ast.List | ast.Dict):
        parts = value.values if isinstance(value, ast.Dict) else value.elts
        return _widest({_kind(part, assigned, depth + 1) for part in parts})
    if isinstance(value, ast.Subscript):
        is_logs = "logs" in ast.unparse(value.value) or "history" in ast.unparse(value.value)
        return "plain" if is_logs else _kind(value.value, assigned, depth + 1)
    return _kind_of_call(value) if isinstance(value, ast.Call) else "unknown"


def _kind_of_call(call: ast.Call) -> str:
    name = called_name(call)
    owner = call.func.value if isinstance(call.func, ast.Attribute) else None
    root = ast.unparse(owner).split(".")[0] if owner is not None else ""
    if name in ("numpy", "copy") and any(word in root.lower() for word in _SCALARS):
        return "plain"
    if root in _MODULES or name in _ARRAYS:
        return "array"
    return "plain" if name in _PLAIN and root != "tf" else "unknown"


def _widest(kinds: set[str]) -> str:
    return next((kind for kind in ("unknown", "array") if kind in kinds), "plain")


# Names of calls that open something; `Image.open` and `gzip.open` are called `open` too.
_OPENS = {
    *("open", "File", "ZipFile", "TarFile", "NamedTemporaryFile", "TemporaryFile", "fdopen"),
    *("TFRecordWriter", "create_file_writer", "FileWriter", "Popen", "socket", "connect"),
    *("memmap", "GFile", "VideoCapture", "VideoWriter", "mkstemp", "SummaryWriter"),
}
# `np.load` of an archive keeps the archive open; only where it is kept itself is that for good.
_KEEPS_OPEN = {"load"}
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True)
class UnclosedFile:
    """A call that opens something, outside of a `with`, and no `close` for it.

    Args:
        is_kept: it goes into a container or an object, which keeps it open for sure.
        function: the function around it; empty at the top.
    """

    line: int
    name: str
    is_kept: bool
    function: str


def unclosed_files(text: str) -> list[UnclosedFile]:
    """Return the calls that open something for good, as far as text can say."""
    tree = parse_or_none(text)
    if tree is None:
        return []
    parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    closed = _closed(tree)
    found = []
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or called_name(node) not in _OPENS | _KEEPS_OPEN:
            continue
        targets = _names_given(node, parents)
        if targets is None or targets & closed:
            continue
        is_kept = any(_is_kept(tree, target) for target in targets) or _is_added(node, parents)
        if called_name(node) in _KEEPS_OPEN and not (is_kept and _is_of_numpy(node)):
            continue
        found.append(
            UnclosedFile(node.lineno, called_name(node), is_kept, _function(node, parents))
        )
    return sorted(found, key=lambda one: one.line)


def _is_of_numpy(call: ast.Call) -> bool:
    return ast.unparse(call.func) in ("np.load", "numpy.load")


def _closed(tree: ast.Module) -> set[str]:
    """Return what is closed, or used by a `with`, by its name."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr in ("close", "release", "terminate", "wait"):
                found.add(ast.unparse(node.func.value))
        elif isinstance(node, ast.withitem):
            found.add(ast.unparse(node.context_expr))
    return found


def _names_given(call: ast.Call, parents: dict[ast.AST, ast.AST]) -> set[str] | None:
    """Return the names that a call's result is given; None where it is closed by itself."""
    parent = parents.get(call)
    # `open(p).read()` is closed when it is read; a `with` closes what it opens.
    if isinstance(parent, ast.withitem | ast.Attribute | ast.Expr):
        return None
    if isinstance(parent, ast.Call) and called_name(parent) in ("closing", "enter_context"):
        return None
    if isinstance(parent, ast.Assign):
        return {ast.unparse(target) for target in parent.targets}
    return set()


def _is_kept(tree: ast.Module, target: str) -> bool:
    """Tell whether a name is that of an attribute or an item, or goes into a container."""
    if "[" in target:
        return True
    for node in ast.walk(tree):
        if _adds(node) and any(ast.unparse(arg) == target for arg in node.args):
            return True
        targets = node.targets if isinstance(node, ast.Assign) else []
        is_given = isinstance(node, ast.Assign) and ast.unparse(node.value) == target
        if is_given and any(isinstance(one, ast.Subscript) for one in targets):
            return True
    return False


def _adds(node: ast.AST) -> TypeGuard[ast.Call]:
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    return node.func.attr in ("append", "add", "insert", "extend", "appendleft")


def _is_added(call: ast.Call, parents: dict[ast.AST, ast.AST]) -> bool:
    """Tell whether a call's result goes into a container directly: `files.append(open(p))`."""
    node: ast.AST | None = parents.get(call)
    while node is not None and not isinstance(node, ast.stmt):
        if _adds(node):
            return True
        node = parents.get(node)
    return False


def _function(node: ast.AST, parents: dict[ast.AST, ast.AST]) -> str:
    one: ast.AST | None = parents.get(node)
    while one is not None:
        if isinstance(one, _DEFINITIONS):
            return one.name
        one = parents.get(one)
    return ""
