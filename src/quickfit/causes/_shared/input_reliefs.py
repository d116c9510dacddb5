"""Edits that relieve an input whose work is not understood: keep what it gives, or spread it.

What Python code gives may be kept where it gives the same whenever it is run (`code/purity.py`),
whatever it does. More threads need not even that, and only change who draws which random number.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from quickfit.causes._shared.dataset_cache import cached_at, cached_before_shuffle
from quickfit.causes._shared.map_threads import parallel_call
from quickfit.code import Module, Program
from quickfit.code.arrays import is_array, is_fresh, views_of, written_names
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
)
from quickfit.code.purity import CHANGING_METHODS, Purity, is_used_up
from quickfit.code.scopes import (
    binding_in_block,
    first_reads,
    loops_around,
    reads,
    target_of,
    value_of_statement,
    writes,
)
from quickfit.code.syntax import Function, argument, called_name, own_nodes
from quickfit.code.values import External, Instance, Made, Member, Routine
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
    stays = pure.stays(item.module, item.node, (given.module, given.call))
    is_pure = stays and pure.is_pure(item.module, item.node)
    if is_pure and _is_only_trained_with(module, data):
        change = _remembered(item.module, item.node, "the batches")
        if change is not None:
            yield Relief(change, "py-generator-input", item.node.lineno, keeps=True)
    elif stays and not is_pure:
        yield from _of_functions(pure, program, item)
    spread = _spread(module, data, cores, is_same=is_pure)
    if spread is not None:
        yield spread


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
        node = called.node
        if (
            isinstance(node, ast.FunctionDef)
            and does_work(program, called)
            and pure.is_pure(called.module, node)
            and _may_be_kept(program, entry, call, called)
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


def _may_be_kept(program: Program, entry: Routine, call: ast.Call, called: Routine) -> bool:
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
    given = [*call.args, *(k.value for k in call.keywords)]
    if not given or any(isinstance(arg, ast.Starred) for arg in given):
        return False
    if any(is_array(entry.module, arg, program) for arg in given):
        return False
    if any(_may_be_many(entry, arg) for arg in given):
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


_NUMBERED = ("rand", "uniform", "normal", "integers", "gauss", "time", "choice", "sample")


def _may_be_many(entry: Routine, arg: ast.expr) -> bool:
    """Tell whether an argument may be another one in every call, such as a random number.

    An element that is drawn from a list is one of its elements.
    """
    waiting, seen = [arg], set[str]()
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Subscript):
            continue  # one of the elements
        if isinstance(node, ast.Call) and any(w in called_name(node) for w in _NUMBERED):
            return called_name(node) not in ("choice", "sample", "choices")
        if isinstance(node, ast.JoinedStr | ast.Call | ast.BinOp | ast.Attribute | ast.Tuple):
            waiting += [n for n in ast.iter_child_nodes(node) if isinstance(n, ast.expr)]
        if isinstance(node, ast.FormattedValue):
            waiting.append(node.value)
        if isinstance(node, ast.Name) and node.id not in seen:
            seen.add(node.id)
            for statement in own_nodes(entry.node):
                if isinstance(statement, ast.Assign) and node.id in writes(statement):
                    waiting.append(statement.value)
    return False


def _stays_as_it_is(module: Module, call: ast.Call, entry: Routine) -> bool:
    """Tell whether the code that gets a result certainly writes nothing into it."""
    node: ast.AST = call
    parent = module.parent(node)
    while isinstance(parent, ast.ListComp | ast.List | ast.Tuple | ast.GeneratorExp | ast.IfExp):
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
        return node is call  # `x[i] = load(path)` copies it
    return _are_only_read(function, writes(statement), entry)


def _are_only_read(function: Function, names: set[str], entry: Routine) -> bool:
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
        is_changing = method is not None and method.attr in CHANGING_METHODS - {"append"}
        if method is not None and is_changing and reads(method.value) & views:
            return False
        given = [*node.args, *(k.value for k in node.keywords)]
        is_given = any(isinstance(arg, ast.Name) and arg.id in views for arg in given)
        if is_given and not _takes_a_copy(node):
            return False
    return True


def _is_part(node: ast.Subscript) -> bool:
    """Tell whether less is taken than there is: `image[a:b]`, not `image[:, ::-1]`."""
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    slices = [part for part in parts if isinstance(part, ast.Slice)]
    return any(part.lower is not None or part.upper is not None for part in slices)


_COPYING = frozenset(
    (
        *("append", "stack", "array", "asarray", "concatenate", "expand_dims", "float32"),
        *("vstack", "hstack", "constant", "clip"),
        *("convert_to_tensor", "flip", "fliplr", "flipud", "rot90", "transpose"),
    )
)


def _takes_a_copy(call: ast.Call) -> bool:
    """Tell whether a call leaves what it is given as it is: it copies it, or keeps it in a list."""
    return called_name(call) in _COPYING and not any(k.arg == "out" for k in call.keywords)


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
    source: ast.expr | None = chain.source
    if isinstance(source, ast.Name):
        made = binding_in_block(module, source)
        source = value_of_statement(made) if made is not None else None
    steps = list(chain.steps)
    is_generator = isinstance(source, ast.Call) and called_name(source) == "from_generator"
    if isinstance(source, ast.Call) and is_generator:
        steps.insert(0, ChainStep("from_generator", source, is_private=True, is_counted=True))
        chain = LocalChain(source, tuple(steps))
    elif not (isinstance(source, ast.Call) and called_name(source) in _SOURCES):
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
