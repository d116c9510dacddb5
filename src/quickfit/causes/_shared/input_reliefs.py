"""Edits that relieve an input whose work is not understood: keep what it gives, or spread it.

What Python code gives may be kept where it gives the same whenever it is run (`code/purity.py`),
whatever it does. More threads need not even that, and only change who draws which random number.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass

from quickfit.causes._shared.dataset_cache import cached_at, cached_before_shuffle
from quickfit.causes._shared.map_threads import parallel_call
from quickfit.code import Module, Program
from quickfit.code.arrays import bound_pairs, is_array, is_fresh, views_of, written_names
from quickfit.code.datasets import (
    BATCHING,
    MAPPING,
    METHODS,
    SAME_COUNT,
    ChainStep,
    LocalChain,
    Stage,
    chain_of,
    chains,
    is_shuffled,
)
from quickfit.code.purity import CHANGING_METHODS, WRITERS, Purity, is_used_up
from quickfit.code.scopes import (
    binding_in_block,
    first_reads,
    loops_around,
    parameters,
    reads,
    target_of,
    value_of_statement,
    writes,
)
from quickfit.code.syntax import Function, argument, called_name, name_of, own_nodes
from quickfit.code.values import Class, External, Instance, Made, Member, Routine
from quickfit.findings import Change, FixClass

PYDATASET = "keras.utils.PyDataset"


@dataclass(frozen=True)
class Relief:
    """One way to relieve an input.

    Args:
        change: the edit.
        cause: the cause that it removes.
        line: where.
        keeps: it holds all of the data in memory; else the work is spread over the cores.
        is_of_items: what it holds is not what the batches are made of, but what comes before.
    """

    change: Change
    cause: str
    line: int
    keeps: bool
    is_of_items: bool = False


def reliefs_of(program: Program, module: Module, data: ast.expr, *, cores: int) -> list[Relief]:
    """Return the ways to relieve what a training is given, the one that gains most first."""
    pure = Purity(program)
    values = program.values(module, data)
    if len(values) == 1 and isinstance(values[0], Made):
        receiver = values[0].receiver
        if values[0].maker == "generator" and receiver and isinstance(receiver[0], Routine):
            return list(_of_generator(pure, program, receiver[0], values[0]))
    if len(values) == 1 and isinstance(values[0], Instance):
        if PYDATASET not in program.ancestors(values[0]):
            return []
        return list(_of_pydataset(pure, program, module, data, values[0], cores))
    if _is_flow(program, module, data):
        spread = _spread(module, data, cores, is_same=False)
        return [spread] if spread is not None else []
    return list(_of_dataset(pure, program, module, data))


# -- a generator given to `fit` -----------------------------------------------------------------


def _of_generator(pure: Purity, program: Program, routine: Routine, made: Made) -> Iterator[Relief]:
    if not pure.stays(routine.module, routine.node, (made.module, made.call)):
        return
    kept = kept_batches(pure, routine.module, routine.node)
    if kept is not None:
        yield Relief(kept, "py-generator-input", routine.node.lineno, keeps=True)
    else:
        yield from _of_functions(pure, program, routine)


def kept_batches(pure: Purity, module: Module, function: Function) -> Change | None:
    """Keep the batches of the first round of an endless generator, and give them again.

    Only where every round gives the same: nothing is drawn, and nothing passes from one round to
    the next.
    """
    if not isinstance(function, ast.FunctionDef):
        return None
    loop = function.body[-1]
    nodes = own_nodes(function)
    if (
        not isinstance(loop, ast.While)
        or loop.orelse
        or ast.unparse(loop.test) not in ("True", "1")
    ):
        return None
    inside = [node for statement in loop.body for node in ast.walk(statement)]
    yields = [n for n in nodes if isinstance(n, ast.Yield | ast.YieldFrom)]
    statements = [module.statement(node) for node in yields]
    if not yields or "kept" in {n.id for n in nodes if isinstance(n, ast.Name)}:
        return None
    for node, statement in zip(yields, statements, strict=True):
        is_plain = isinstance(statement, ast.Expr) and statement.value is node
        if not is_plain or not isinstance(node, ast.Yield) or node.value is None:
            return None
        if node not in inside or not _is_own(module, loop, node, inside):
            return None
    leaves = [n for n in inside if isinstance(n, ast.Return | ast.Break | ast.Continue)]
    if pure.may_be_endless(module, inside):
        return None
    if any(isinstance(n, ast.Return) or loops_around(module, n)[:1] == [loop] for n in leaves):
        return None
    if set(first_reads(loop.body)) & writes(*loop.body):
        return None  # something passes from one round to the next
    if not pure.is_steady(module, loop.body, function):
        return None
    edits = [
        module.insert_before(loop, "kept = []"),
        module.replace(loop.test, "not kept"),
        module.insert_after(loop, "while True:\n    yield from kept"),
    ]
    for node, statement in zip(yields, statements, strict=True):
        value = node.value
        assert value is not None
        is_bare = isinstance(value, ast.Tuple) and not module.code(value).startswith("(")
        given = f"({module.code(value)})" if is_bare else module.code(value)
        code = f"kept.append({given})\n{module.indent(statement)}yield kept[-1]"
        edits.append(module.replace(statement, code))
    if any(edit is None for edit in edits):
        return None
    return Change(
        f"Keep the batches of `{function.name}`, and give them again in every epoch",
        FixClass.SAME_RESULTS,
        tuple(edit for edit in edits if edit is not None),
        "All batches of one epoch stay in memory.",
    )


def _is_own(module: Module, loop: ast.While, node: ast.Yield, inside: list[ast.AST]) -> bool:
    """Tell whether no later turn writes into what a `yield` gives."""
    value = node.value
    parts = value.elts if isinstance(value, ast.Tuple | ast.List) else [value]
    shared = {name for part in parts if part and not is_fresh(part) for name in reads(part)}
    changed = {
        name
        for call in inside
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)
        if call.func.attr in CHANGING_METHODS
        for name in reads(call.func.value)
    }
    changed |= written_names(inside)
    later = [n for n in inside if getattr(n, "lineno", 0) > node.lineno]
    if written_names(later) & views_of(loop, shared):
        return False
    inner = loops_around(module, node)[0]
    bound = writes(*inner.body) if inner is not loop else writes(*loop.body)
    return all(name in bound for name in views_of(loop, changed & views_of(loop, shared)) & shared)


# -- a PyDataset --------------------------------------------------------------------------------


def _of_pydataset(
    pure: Purity, program: Program, module: Module, data: ast.expr, given: Instance, cores: int
) -> Iterator[Relief]:
    made = program.resolver.attribute(given.made, "__getitem__")
    item = made[0] if len(made) == 1 else None
    if not isinstance(item, Routine):
        return
    if not _is_plain(program, given.made):
        return
    stays = pure.stays(item.module, item.node, (given.module, given.call))
    is_pure = stays and pure.is_pure(item.module, item.node)
    if (
        is_pure
        and _is_only_trained_with(module, data)
        and _may_be_keys(pure, program, given.made)
        and all(
            isinstance(one, Routine) and pure.is_pure(one.module, one.node)
            for one in program.resolver.attribute(given.made, "__len__")
        )
    ):
        change = _remembered(item.module, item.node, "the batches")
        if change is not None:
            yield Relief(change, "py-generator-input", item.node.lineno, keeps=True)
    elif stays and not is_pure:
        yield from _of_functions(pure, program, item)
    spread = _spread(module, data, cores, is_same=is_pure)
    if spread is not None and not _is_shared(program, item):
        yield spread


def _may_be_keys(pure: Purity, program: Program, made: Class) -> bool:
    """Tell whether results of methods may be kept by their objects, which then stay in memory."""
    name, body = made.node.name, made.node.body
    if "__eq__" in {f.name for f in body if isinstance(f, ast.FunctionDef)}:
        return False
    calls = [(module, call) for module in program.modules() for call in module.calls(name)]
    is_once = len(calls) <= MAX_OBJECTS and all(pure.is_once(*call) for call in calls)
    return is_once and _is_plain(program, made)


def _is_plain(program: Program, made: Class) -> bool:
    """Tell whether an object surely has the methods that its class defines."""
    names = {f.name for f in made.node.body if isinstance(f, ast.FunctionDef)}
    return not made.node.decorator_list and not any(
        n.attr in names and not isinstance(n.ctx, ast.Load)
        for module in program.modules()
        for n in module.all(ast.Attribute)
    )


# Those of training and validation.
MAX_OBJECTS = 2
# What they give has a place of reading, or must not be used by two threads.
_HANDLES = frozenset(
    (
        *("open", "File", "ZipFile", "TarFile", "connect", "cursor", "VideoCapture", "iter"),
        *("Queue", "begin", "reader", "DictReader", "HDFStore", "open_file", "Lock", "RLock"),
    )
)


# They write files, perhaps all to one, or run what is not made for threads.
_OUTSIDE = frozenset(name for names in WRITERS.values() for name in names if name != "open") | {
    *("run", "system", "Popen", "check_output", "check_call", "predict", "predict_on_batch"),
    *("setattr", "next"),
}


def _outside(module: Module, one: Routine) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Yield what is bound to attributes, and to names that a function may see."""
    for node in module.all(ast.Assign, ast.AnnAssign, ast.withitem):
        pairs = bound_pairs(node)
        if isinstance(node, ast.withitem) and node.optional_vars is not None:
            pairs = [(node.optional_vars, node.context_expr)]
        around = module.function(node)
        is_seen = around is None or (one.module is module and module.is_in(one.node, around))
        for target, value in pairs:
            if isinstance(target, ast.Attribute) or is_seen:
                yield target, value


def _is_handle(value: ast.expr) -> bool:
    parts = value.elts if isinstance(value, ast.List | ast.Tuple) else [value]
    parts = [value.elt] if isinstance(value, ast.ListComp) else parts
    return any(called_name(part) in _HANDLES for part in map(_made_first, parts))


def _made_first(value: ast.expr) -> ast.Call:
    """Return the call that makes what an expression takes a part of."""
    while isinstance(value, ast.Subscript | ast.Attribute):
        value = value.value
    return value if isinstance(value, ast.Call) else ast.Call(value, [], [])


def _is_shared(program: Program, entry: Routine) -> bool:
    """Tell whether threads that run a function would share an open file, or write to one place."""
    waiting, seen = [entry], set[ast.AST]()
    while waiting:
        one = waiting.pop()
        if one.node in seen:
            continue
        seen.add(one.node)
        nodes = list(ast.walk(one.node))
        body = one.node.body if isinstance(one.node, ast.FunctionDef) else []
        local = (writes(*body) | set(parameters(one.node))) - {"self"}
        changed = written_names(nodes) | {
            name
            for call in nodes
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)
            if call.func.attr in CHANGING_METHODS
            and not isinstance(program.only(one.module, call.func), Routine)
            for name in reads(call.func.value)
        }
        if changed & (reads(one.node) | {"self"}) - local:
            return True
        if any(isinstance(n, ast.Global | ast.Nonlocal) for n in nodes):
            return True
        if any(isinstance(n, ast.Call) and called_name(n) in _OUTSIDE for n in nodes):
            return True
        names = (reads(one.node) - local) | {n.attr for n in nodes if isinstance(n, ast.Attribute)}
        for module in program.modules():
            for target, value in _outside(module, one):
                if name_of(target) in names and _is_handle(value):
                    return True
        waiting += [
            value
            for n in nodes
            if isinstance(n, ast.Name | ast.Attribute) and isinstance(n.ctx, ast.Load)
            for value in program.values(one.module, n)
            if isinstance(value, Routine)
        ]
    return False


def _is_only_trained_with(module: Module, data: ast.expr) -> bool:
    """Tell whether only Keras takes batches of an object: it writes nothing into them."""
    if not isinstance(data, ast.Name):
        return True
    for name in (n for n in module.all(ast.Name) if n.id == data.id):
        parent = module.parent(name)
        parent = module.parent(parent) if isinstance(parent, ast.keyword) else parent
        is_read = isinstance(parent, ast.Call) and called_name(parent) in _TAKES_DATA
        is_asked = isinstance(parent, ast.Attribute) and parent.value is name
        if isinstance(name.ctx, ast.Load) and not (is_read or is_asked):
            return False
    return True


_TAKES_DATA = frozenset(("fit", "evaluate", "predict", "len", "print", "isinstance", "type"))


def _spread(module: Module, data: ast.expr, cores: int, *, is_same: bool) -> Relief | None:
    """Give a PyDataset workers, wherever it comes from: behind the statement that makes it."""
    statement = _made_by(module, data)
    if statement is None or cores < 2 or not isinstance(data, ast.Name):
        return None
    said = [keyword.arg for keyword in module.all(ast.keyword)]
    if "workers" in (*said, *(node.attr for node in module.all(ast.Attribute))):
        return None
    edit = module.insert_after(statement, f"{data.id}.workers = {cores}")
    if edit is None:
        return None
    change = Change(
        f"Make the batches on {cores} threads",
        FixClass.SAME_RESULTS if is_same else FixClass.MAY_CHANGE_RESULTS,
        (edit,),
        "" if is_same else "Batches keep their order, but draw other random numbers.",
    )
    return Relief(change, "py-generator-input", statement.lineno, keeps=False)


def _made_by(module: Module, data: ast.expr) -> ast.stmt | None:
    """Return the statement that gives a name its only value, in the scope where it is used."""
    if not isinstance(data, ast.Name):
        return None
    found = [
        s for s in ast.walk(module.tree) if isinstance(s, ast.stmt) and target_of(s) == data.id
    ]
    if len(found) != 1 or not isinstance(value_of_statement(found[0]), ast.Call):
        return None
    return found[0] if module.function(found[0]) is module.function(data) else None


def _is_flow(program: Program, module: Module, data: ast.expr) -> bool:
    """Tell whether something is an iterator of an `ImageDataGenerator`."""
    only = program.only(module, data)
    if not isinstance(only, Made) or not only.method.startswith("flow"):
        return False
    return any(
        isinstance(o, Made) and o.maker.endswith("ImageDataGenerator") for o in only.receiver
    )


# -- functions of Python that make single items ---------------------------------------------------


def _of_functions(pure: Purity, program: Program, entry: Routine) -> Iterator[Relief]:
    """Yield the change that keeps the results of the functions which an input calls for items."""
    for module, function in _worthwhile(pure, program, entry, 3):
        change = _remembered(module, function, f"what `{function.name}` gives")
        if change is not None:
            line = function.lineno
            yield Relief(change, "py-generator-input", line, keeps=True, is_of_items=True)


def _worthwhile(
    pure: Purity, program: Program, entry: Routine, depth: int
) -> Iterator[tuple[Module, ast.FunctionDef]]:
    """Yield the outermost functions that an input calls and whose results may be kept."""
    for call in (n for n in own_nodes(entry.node) if isinstance(n, ast.Call)):
        called = pure.own_routine(entry.module, call)
        if called is None or called.node is entry.node:
            continue
        if not _is_given_whole(pure, entry, call):
            continue  # the batches, whose size is known, hold less than what would be kept
        node = called.node
        if (
            isinstance(node, ast.FunctionDef)
            and does_work(program, called)
            and pure.is_pure(called.module, node)
            and _may_be_kept(pure, program, entry, call, called)
        ):
            yield called.module, node
        elif depth:
            yield from _worthwhile(pure, program, called, depth - 1)


def does_work(program: Program, routine: Routine, depth: int = 3) -> bool:
    """Tell whether a function reads files, computes with arrays or loops: more than a look-up."""
    for node in own_nodes(routine.node):
        if isinstance(node, ast.For | ast.While | ast.ListComp | ast.GeneratorExp):
            return True
        if not isinstance(node, ast.Call):
            continue
        for value in program.values(routine.module, node.func):
            if isinstance(value, External) and value.name.split(".")[0] not in ("builtins", "os"):
                return True
            if value in (External("builtins.open"),):
                return True
            if isinstance(value, Routine) and depth and does_work(program, value, depth - 1):
                return True
    return False


def _may_be_kept(
    pure: Purity, program: Program, entry: Routine, call: ast.Call, called: Routine
) -> bool:
    """Tell whether the results of a function can be kept by its arguments, and are not changed."""
    function = called.node
    if not isinstance(function, ast.FunctionDef) or function.decorator_list:
        return False
    nodes = own_nodes(function)
    returned = [n.value for n in nodes if isinstance(n, ast.Return)]
    if any(isinstance(n, ast.Yield | ast.YieldFrom) for n in nodes) or not returned:
        return False
    if any(value is None or is_used_up(value) for value in returned):
        return False
    names = {
        n for value in returned if isinstance(value, ast.Name | ast.Tuple) for n in reads(value)
    }
    made = [n for n in nodes if isinstance(n, ast.Assign) and names & writes(n)]
    if any(is_used_up(statement.value) for statement in made):
        return False
    owner = called.module.parent(function)
    if isinstance(owner, ast.ClassDef) and not _may_be_keys(
        pure, program, Class(owner, called.module)
    ):
        return False
    given = [*call.args, *(k.value for k in call.keywords)]
    if not given or any(isinstance(arg, ast.Starred) for arg in given):
        return False
    if any(is_array(entry.module, arg, program) for arg in given):
        return False
    own = [name for name in parameters(function) if name != "self"]
    if not all(isinstance(arg, ast.Constant) for arg in given) and not all(
        _is_name_of_item(pure, called, name) for name in own[: len(given)]
    ):
        return False
    sources = [_sources(program, entry, arg, 3) for arg in given]
    if None in sources or len(set[object]().union(*(one for one in sources if one))) > 1:
        return False
    if _is_handed_on(program, function.name):
        return False
    calls = [
        (other, one)
        for other in program.modules()
        for one in other.calls(function.name)
        if not _is_of_library(program, other, one)
    ]
    return all(_stays_as_it_is(other, one, entry) for other, one in calls)


def _is_of_library(program: Program, module: Module, call: ast.Call) -> bool:
    """Tell whether a call of the same name is one of a library, or of what a library made."""
    values = [v.of if isinstance(v, Member) else v for v in program.values(module, call.func)]
    return bool(values) and all(
        isinstance(v, External) or (isinstance(v, Made) and bool(v.maker)) for v in values
    )


def _is_handed_on(program: Program, name: str) -> bool:
    """Tell whether a function may be called by another name, or by other code."""
    return any(
        name_of(node) == name
        and isinstance(node.ctx, ast.Load)
        and not (isinstance(call := module.parent(node), ast.Call) and call.func is node)
        for module in program.modules()
        for node in module.all(ast.Name, ast.Attribute)
        if isinstance(node, ast.Name | ast.Attribute)
    )


# What they are given is a text, a path or a number, and so has a hash.
_OPENING = frozenset(
    (
        *("open", "imread", "load", "load_img", "read", "read_csv", "int", "float", "range"),
        *("join", "basename", "splitext", "Path", "exists", "read_file", "loadtxt", "fromfile"),
    )
)
_OF_TEXT = frozenset(("split", "lower", "upper", "strip", "encode", "endswith", "startswith"))


def _is_name_of_item(pure: Purity, called: Routine, name: str, depth: int = 3) -> bool:
    """Tell whether a parameter is surely a text or a number, by what a function does with it."""
    nodes = own_nodes(called.node)
    paths = {name} | {
        target
        for node in nodes
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.BinOp | ast.JoinedStr)
        if name in reads(node.value)
        for target in writes(node)
    }
    for node in nodes:
        if not isinstance(node, ast.Call):
            continue
        is_text = isinstance(node.func, ast.Attribute) and node.func.attr in _OF_TEXT
        if is_text and name_of(node.func.value) == name:  # type: ignore[attr-defined]
            return True
        given = {read for arg in node.args for read in reads(arg)}
        if called_name(node) in _OPENING and (name in given or given & paths - {name}):
            return True
        inner = pure.own_routine(called.module, node)
        if inner is None or not depth:
            continue
        own = [other for other in parameters(inner.node) if other != "self"]
        for other, arg in zip(own, node.args, strict=False):
            is_same = isinstance(arg, ast.Name) and arg.id == name
            if is_same and _is_name_of_item(pure, inner, other, depth - 1):
                return True
    return False


_NUMBERED = ("rand", "uniform", "normal", "integers", "gauss", "time", "count", "getrandbits")
_DRAWING = ("choice", "sample", "choices")


def _sources(program: Program, entry: Routine, arg: ast.expr, depth: int) -> set[object] | None:
    """Return what makes an argument another one; None where it may be any, such as a number drawn.

    What is drawn from a list is one of its elements; two such are more than the list has.
    """
    found, waiting, seen = set[object](), [arg], set[str]()
    nodes = own_nodes(entry.node)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Subscript):
            if isinstance(node.slice, ast.Slice):
                return None
            found.add(ast.dump(node.slice))
        elif isinstance(node, ast.Call) and called_name(node) in _DRAWING:
            found.add(node)
        elif isinstance(node, ast.Call) and any(w in called_name(node) for w in _NUMBERED):
            return None
        elif isinstance(node, ast.Name) and node.id not in seen:
            seen.add(node.id)
            for part in nodes:
                if isinstance(part, ast.AugAssign) and node.id in writes(part.target):
                    return None
                if isinstance(part, ast.Assign) and node.id in writes(part):
                    waiting.append(part.value)
                if isinstance(part, ast.For | ast.comprehension) and node.id in writes(part.target):
                    if any(w in ast.unparse(part.iter) for w in _NUMBERED):
                        return None
                    found.add(part)
            if node.id in parameters(entry.node):
                inner = _sources_of_parameter(program, entry, node.id, depth)
                if inner is None:
                    return None
                found |= inner
        elif not isinstance(node, ast.Name):
            waiting += [n for n in ast.iter_child_nodes(node) if isinstance(n, ast.expr)]
    return found


def _sources_of_parameter(
    program: Program, entry: Routine, name: str, depth: int
) -> set[object] | None:
    """Return the same of a parameter, by what the calls of a function give for it."""
    if name == "self" or any(isinstance(n, ast.Yield) for n in own_nodes(entry.node)):
        return set()  # one object, one generator
    found = set[object]()
    own = [other for other in parameters(entry.node) if other != "self"]
    for module, call in program.resolver.callers(entry.module, entry.node):
        given, function = argument(call, name, own.index(name)), module.function(call)
        if given is None or function is None:
            continue
        inner = _sources(program, Routine(function, module), given, depth - 1) if depth else None
        if inner is None:
            return None
        found |= inner
    return found or {name}


_REDUCING = ("mean", "sum", "std", "var", "max", "min", "median", "resize", "crop", "pool", "hist")


def _is_given_whole(pure: Purity, entry: Routine, call: ast.Call) -> bool:
    """Tell whether all that a call gives goes into what a function gives, as far as is seen."""
    module, nodes = entry.module, own_nodes(entry.node)
    names, before = set[str](), {""}

    def is_whole(value: ast.expr) -> bool:
        for node in ast.walk(value):
            at: ast.AST | None = node
            if node is not call and not (isinstance(node, ast.Name) and node.id in names):
                continue
            while at is not value and at is not None and (at is node or not is_less(at)):
                at = module.parent(at)
            if at is value and (at is node or not is_less(at)):
                return True
        return False

    def is_less(node: ast.AST) -> bool:
        if isinstance(node, ast.Subscript):
            return _is_part(node)
        if not isinstance(node, ast.Call):
            return isinstance(node, ast.Compare)
        own = pure.own_routine(module, node)
        inner = own_nodes(own.node) if own is not None else []
        is_reduced = any(word in called_name(node) for word in (*_REDUCING, "len"))
        return is_reduced or any(isinstance(n, ast.Subscript) and _is_part(n) for n in inner)

    while names != before:
        before = set(names)
        for node in nodes:
            if isinstance(node, ast.Assign) and is_whole(node.value):
                names |= writes(*node.targets) | {
                    name for t in node.targets for name in reads(t) if isinstance(t, ast.Subscript)
                }
            if isinstance(node, ast.Call) and called_name(node) == "append":
                names |= reads(node.func) if any(map(is_whole, node.args)) else set()
    # A name that is given less later, such as `x = x[:, :8]`, says nothing.
    names -= {
        name
        for node in nodes
        if isinstance(node, ast.Assign) and reads(node.value) & names and not is_whole(node.value)
        for name in writes(*node.targets)
    }
    given = [n.value for n in nodes if isinstance(n, ast.Yield | ast.Return) and n.value]
    return any(map(is_whole, given))


def _stays_as_it_is(module: Module, call: ast.Call, entry: Routine) -> bool:
    """Tell whether the code that gets a result certainly writes nothing into it."""
    node: ast.AST = call
    parent = module.parent(node)
    holding = (ast.ListComp, ast.List, ast.Tuple, ast.GeneratorExp, ast.IfExp)
    while isinstance(parent, holding) or (isinstance(parent, ast.Call) and _gives_a_view(parent)):
        node, parent = parent, module.parent(parent)
    function = module.function(call)
    if function is None:
        return False
    if isinstance(parent, ast.keyword):
        parent = module.parent(parent)
    if isinstance(parent, ast.BinOp | ast.Compare):
        return True
    if isinstance(parent, ast.Yield):
        return function is entry.node
    if isinstance(parent, ast.Call):
        if called_name(parent) != "append" or not isinstance(parent.func, ast.Attribute):
            return _takes_a_copy(parent)
        return _are_only_read(function, reads(parent.func.value), entry)
    statement = module.statement(call)
    if not isinstance(statement, ast.Assign) or statement.value is not node:
        return False
    if any(isinstance(t, ast.Subscript | ast.Attribute) for t in statement.targets):
        # `x[i] = load(path)` copies it into an array, and holds it in a list.
        names = reads(*statement.targets) | {"self"} & writes(*statement.targets)
        made = [n for n in own_nodes(function) if isinstance(n, ast.Assign) and writes(n) & names]
        return node is call and bool(made) and all(_makes_array(one.value) for one in made)
    names = writes(statement)
    return _are_only_read(function, names, entry, own=names if node is call else frozenset())


def _makes_array(value: ast.expr) -> bool:
    makers = ("empty", "zeros", "ones", "full", "empty_like", "zeros_like", "ones_like")
    return isinstance(value, ast.Call) and called_name(value) in makers


# They leave what they are asked of as it is, and give all of it.
_WHOLE = frozenset(("copy", "astype", "reshape", "transpose", "ravel", "flatten", "tolist"))


def _are_only_read(
    function: Function, names: set[str], entry: Routine, own: Set[str] = frozenset()
) -> bool:
    """Tell whether a function certainly writes nothing into what names stand for."""
    views, nodes = views_of(function, names), list(ast.walk(function))
    if written_names(nodes) & views:
        return False
    for node in nodes:
        if isinstance(node, ast.Return | ast.Yield) and function is not entry.node:
            value = node.value
            parts = value.elts if isinstance(value, ast.Tuple) else [value]
            if any(part and reads(part) & views and not is_fresh(part) for part in parts):
                return False  # who gets it may write into it
        if isinstance(node, ast.Subscript) and _is_part(node) and reads(node.value) & views:
            return False  # most of what is kept may not be in the batches
        if not isinstance(node, ast.Call):
            continue
        method = node.func if isinstance(node.func, ast.Attribute) else None
        if method is not None and reads(method.value) & views:
            is_held = method.attr == "append" and not reads(method.value) & own
            if not is_held and method.attr not in _WHOLE:
                return False
        given = [*node.args, *(k.value for k in node.keywords)]
        is_given = any(isinstance(arg, ast.Name) and arg.id in views for arg in given)
        if is_given and not _takes_a_copy(node):
            return False
    return True


def _is_part(node: ast.Subscript) -> bool:
    """Tell whether less is taken than there may be: `image[a:b]`, not `image[:, ::-1]`."""
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    return not all(
        ast.unparse(part) in (":", "::-1", "...", "None", "np.newaxis") for part in parts
    )


_COPYING = frozenset(("stack", "array", "concatenate", "vstack", "hstack", "constant", "clip"))
# What they give may share memory with what they are given.
_VIEWING = frozenset(
    (
        *("asarray", "expand_dims", "float32", "convert_to_tensor", "flip", "fliplr", "flipud"),
        *("rot90", "transpose", "ascontiguousarray", "squeeze"),
    )
)


def _gives_a_view(call: ast.Call) -> bool:
    return called_name(call) in _VIEWING


def _takes_a_copy(call: ast.Call) -> bool:
    """Tell whether a call leaves what it is given as it is: it copies it, or keeps it in a list."""
    if any(k.arg in ("out", "copy") for k in call.keywords):
        return False
    return called_name(call) in _COPYING | _VIEWING | {"append", "len"}


def _remembered(module: Module, function: Function, what: str) -> Change | None:
    """Return the change that decorates a function so that it keeps its results."""
    if not isinstance(function, ast.FunctionDef) or function.decorator_list:
        return None
    name, edits = module.import_of("functools")
    return Change(
        f"Keep {what} in memory",
        FixClass.SAME_RESULTS,
        (*edits, module.decorate(function, f"@{name}.cache")),
        "It gives the same for the same arguments; all of it stays in memory.",
    )


# -- tf.data --------------------------------------------------------------------------------------

_SOURCES = (
    *("from_tensor_slices", "range", "TFRecordDataset", "TextLineDataset", "from_tensors"),
    *("FixedLengthRecordDataset", "zip"),
)
# Behind them an element is still made of the same ones.
_PASSING = (BATCHING | SAME_COUNT) - MAPPING - {"cache", "shuffle"}


def _of_dataset(pure: Purity, program: Program, module: Module, data: ast.expr) -> Iterator[Relief]:
    stages = list(_stages(program, module, data, 2))
    is_repeated = any(stage.name == "repeat" for stage in stages)
    for own, chain in _local_chains(stages):
        kept = kept_elements(pure, program, own, chain, is_repeated=is_repeated)
        if kept is not None:
            yield Relief(kept[0], "missing-cache", kept[1], keeps=True)
        yield from _parallel(pure, program, own, chain)


def _stages(program: Program, module: Module, data: ast.expr, depth: int) -> Iterator[Stage]:
    """Yield the stages that a dataset is made by, those of datasets that it zips first."""
    for chain in chains(program, module, data):
        source = chain.stages[0]
        given = source.call.args[0] if source.call.args else None
        if depth and called_name(source.call) == "zip" and isinstance(given, ast.Tuple):
            for part in given.elts:
                yield from _stages(program, source.module, part, depth - 1)
        yield from chain.stages


def _local_chains(stages: Sequence[Stage]) -> Iterator[tuple[Module, LocalChain]]:
    """Yield the chains, within one block each, that a dataset is made by; the last one first."""
    seen: set[ast.AST] = set()
    for stage in reversed(stages):
        if stage.call in seen or called_name(stage.call) not in METHODS:
            continue
        chain = chain_of(stage.module, stage.call)
        seen |= {step.call for step in chain.steps}
        yield stage.module, chain


def kept_elements(
    pure: Purity,
    program: Program,
    module: Module,
    chain: LocalChain,
    *,
    is_repeated: bool = False,
) -> tuple[Change, int] | None:
    """Return the change that caches behind the last work whose result is the same every time."""
    if _is_any_order(module):
        return None
    source: ast.expr | None = chain.source
    if isinstance(source, ast.Name):
        made = binding_in_block(module, source)
        source = value_of_statement(made) if made is not None else None
    steps = list(chain.steps)
    is_generator = isinstance(source, ast.Call) and called_name(source) == "from_generator"
    if isinstance(source, ast.Call) and is_generator:
        steps.insert(0, ChainStep("from_generator", source, is_private=True, is_counted=True))
        chain = LocalChain(source, tuple(steps))
    elif isinstance(source, ast.Call) and called_name(source) in _SOURCES:
        is_plain = called_name(source) in ("from_tensor_slices", "from_tensors", "range")
        if not is_plain and is_shuffled(module, source):
            return None
    else:
        is_listed = isinstance(source, ast.Call) and called_name(source) == "list_files"
        shuffle = argument(source, "shuffle", 1) if isinstance(source, ast.Call) else None
        is_fixed = isinstance(shuffle, ast.Constant) and shuffle.value is False
        if not (is_listed and is_fixed):
            return None
    last, mixed, steady = -1, -1, set[int]()
    for place, step in enumerate(steps):
        if step.name in ("map", "filter", "from_generator", "flat_map"):
            given = argument(
                step.call, "generator" if place == 0 and is_generator else "map_func", 0
            )
            if step.name == "filter":
                given = argument(step.call, "predicate", 0)
            called = program.only(module, given) if given is not None else None
            if not isinstance(called, Routine) or not pure.is_pure(called.module, called.node):
                break
            is_python = step.name == "from_generator"
            if is_python and not pure.stays(called.module, called.node, (module, step.call)):
                break
            if is_python and pure.may_be_endless(called.module, ast.walk(called.node)):
                break
            steady.add(step.line)
            last = place if does_work(program, called) or step.name != "map" else last
        elif step.name == "shuffle" and mixed < 0:
            mixed = place
        elif step.name not in _PASSING or (step.name in BATCHING and mixed >= 0):
            break
    if last < 0:
        return None
    if 0 <= mixed < last:
        change = cached_before_shuffle(
            module,
            steps[last].line,
            method=steps[last].name,
            steady=steady,
            is_repeated=is_repeated,
        )
    else:
        change = cached_at(module, chain, last)
    return (change, steps[last].line) if change is not None else None


def _is_any_order(module: Module) -> bool:
    """Tell whether a file lets elements come in whatever order they are ready."""
    given = [(k.arg or "", k.value) for k in module.all(ast.keyword)]
    for statement in module.all(ast.Assign):
        given += [(name_of(target), statement.value) for target in statement.targets]
    return any(
        name.endswith("deterministic") and ast.unparse(value) != "True" for name, value in given
    )


def _parallel(
    pure: Purity, program: Program, module: Module, chain: LocalChain
) -> Iterator[Relief]:
    """Yield the change that gives all maps of a chain several threads."""
    edits, kinds, lines = [], [], []
    notes: list[str] = []
    for step in chain.steps:
        if step.name != "map" or not step.call.args:
            continue
        called = program.only(module, step.call.args[0])
        is_pure = isinstance(called, Routine) and pure.is_pure(called.module, called.node)
        if isinstance(called, Routine) and _is_shared(program, called):
            continue
        change = parallel_call(module, step.call, is_random=not is_pure)
        if change is not None:
            edits += [edit for edit in change.edits if edit not in edits]
            kinds.append(change.kind)
            lines.append(step.line)
            notes += [change.note] if change.note not in ("", *notes) else []
    if not edits:
        return
    is_random = FixClass.MAY_CHANGE_RESULTS in kinds
    kind = FixClass.MAY_CHANGE_RESULTS if is_random else FixClass.SAME_RESULTS
    title = (
        "Run the map on several threads" if len(lines) == 1 else "Run the maps on several threads"
    )
    yield Relief(
        Change(title, kind, tuple(edits), " ".join(notes)), "sequential-map", lines[0], keeps=False
    )
