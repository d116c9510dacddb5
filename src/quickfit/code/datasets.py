"""Chains of tf.data: which stages a dataset has been through, and how they are written."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from quickfit.code.calls import default_of_parameter, is_hidden_in_spread, position_of_parameter
from quickfit.code.conditions import Reach
from quickfit.code.module import Module
from quickfit.code.program import Program
from quickfit.code.scopes import (
    binders,
    binders_in_file,
    binding_in_block,
    dotted,
    import_path,
    nodes_in_scope,
    reads_of_assignment,
    scope_of,
    target_of,
    value_of,
    value_of_statement,
)
from quickfit.code.syntax import FUNCTIONS, argument, keyword_value, names_in
from quickfit.code.values import Frame, Item, Made, Routine, Value


@dataclass(frozen=True)
class DatasetMethod:
    """What a method of `tf.data.Dataset` does that gives a dataset again.

    Args:
        elements: what its elements are: the `same` as before, `mapped` by a function, `batched`,
            `joined` with those of another dataset, or `other` ones.
        count: how many there are: `same`, `fewer`, `repeated`, `batched`, or `other`.
        reads_all: an epoch of it reads all elements in front of it.
    """

    elements: str
    count: str
    reads_all: bool = True


# The one table of dataset methods. What is not in it may do anything.
DATASET_METHODS = {
    "apply": DatasetMethod("other", "other", reads_all=False),
    "assert_cardinality": DatasetMethod("same", "same"),
    "batch": DatasetMethod("batched", "batched"),
    "bucket_by_sequence_length": DatasetMethod("other", "other"),
    "cache": DatasetMethod("same", "same"),
    "concatenate": DatasetMethod("joined", "other", reads_all=False),
    "dense_to_ragged_batch": DatasetMethod("batched", "batched"),
    "enumerate": DatasetMethod("other", "same"),
    "filter": DatasetMethod("same", "fewer"),
    "flat_map": DatasetMethod("mapped", "other"),
    "group_by_window": DatasetMethod("other", "other"),
    "ignore_errors": DatasetMethod("same", "fewer"),
    "interleave": DatasetMethod("mapped", "other"),
    "map": DatasetMethod("mapped", "same"),
    "padded_batch": DatasetMethod("batched", "batched"),
    "prefetch": DatasetMethod("same", "same"),
    "ragged_batch": DatasetMethod("batched", "batched"),
    "rebatch": DatasetMethod("other", "other"),
    "rejection_resample": DatasetMethod("other", "other"),
    "repeat": DatasetMethod("same", "repeated"),
    "scan": DatasetMethod("other", "other"),
    "shard": DatasetMethod("same", "fewer", reads_all=False),
    "shuffle": DatasetMethod("same", "same"),
    "skip": DatasetMethod("same", "fewer", reads_all=False),
    "snapshot": DatasetMethod("same", "same"),
    "sparse_batch": DatasetMethod("batched", "batched"),
    "take": DatasetMethod("same", "fewer", reads_all=False),
    "take_while": DatasetMethod("same", "fewer", reads_all=False),
    "unbatch": DatasetMethod("other", "other"),
    "unique": DatasetMethod("same", "fewer"),
    "window": DatasetMethod("other", "other", reads_all=False),
    "with_options": DatasetMethod("same", "same"),
}


def _methods(is_so: Callable[[DatasetMethod], bool]) -> frozenset[str]:
    return frozenset(name for name, method in DATASET_METHODS.items() if is_so(method))


METHODS = frozenset(DATASET_METHODS)
SAME_ELEMENTS = _methods(lambda method: method.elements == "same")
SAME_COUNT = _methods(lambda method: method.count == "same")
MAPPING = _methods(lambda method: method.elements == "mapped")
BATCHING = _methods(lambda method: method.elements == "batched")
READS_ALL = _methods(lambda method: method.reads_all)
# Hand every element on as it is, of whatever type, and call nothing.
PASSING = frozenset(("cache", "prefetch", "repeat", "shuffle", "skip", "take"))
# May end what never ends.
ENDING = frozenset(("apply", "take", "take_while"))
# Take a part of the elements: behind a shuffle, another part with every order.
PARTING = frozenset(("take", "skip", "shard"))
# Behind them the order before says nothing, or is the same in every epoch.
SETTLING = frozenset(("cache", "snapshot", "apply"))
# Behind these it is open which elements stand beside each other.
MIXING = frozenset(("shuffle", "unbatch", "window", "flat_map", "interleave", "rebatch", "apply"))
# No other library has methods of these names.
ONLY_OF_DATASETS = frozenset(("interleave", "padded_batch", "prefetch", "with_options"))
# Where `drop_remainder` stands among the arguments.
DROP_REMAINDER_AT = {"batch": 1, "padded_batch": 3, "ragged_batch": 1}
# What makes a dataset, beside everything of `tf.data`.
_SOURCES = (
    "keras.utils.image_dataset_from_directory",
    "keras.utils.text_dataset_from_directory",
    "keras.utils.audio_dataset_from_directory",
    "keras.utils.timeseries_dataset_from_array",
    "keras.preprocessing.timeseries_dataset_from_array",
    "keras.preprocessing.text_dataset_from_directory",
)
_LOADERS = ("tensorflow_datasets.load",)
MAX_CHAINS, MAX_STAGES = 8, 60


@dataclass(frozen=True)
class Stage:
    """One call of a chain: `name` is the method, of the first stage the full name of its maker.

    Ask what its arguments are with `frame`: the same helper makes several datasets.
    """

    name: str
    call: ast.Call
    module: Module
    frame: Frame | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Chain:
    """The stages of one dataset, the source first.

    `is_whole` says that the source is known to make datasets; else the chain begins with
    something that nobody knows.
    """

    stages: tuple[Stage, ...]
    is_whole: bool

    def before(self, call: ast.Call) -> tuple[Stage, ...]:
        """Return the stages in front of a call."""
        calls = [stage.call for stage in self.stages]
        return self.stages[: calls.index(call)] if call in calls else ()

    def has(self, *names: str) -> bool:
        """Tell whether one of these methods is among the stages."""
        return any(stage.name in names for stage in self.stages)


def chains(program: Program, module: Module, node: ast.expr) -> list[Chain]:
    """Return the chains that an expression may stand for; those of something else are left out."""
    found: list[Chain] = []
    for value in program.values(module, node):
        found += chains_of(value)
    return list(dict.fromkeys(found))[:MAX_CHAINS]


def chains_of(value: Value) -> list[Chain]:
    """Return the chains that something may be the end of; none for what is no dataset."""
    return list(dict.fromkeys(_chains(value, ())))[:MAX_CHAINS]


def is_dataset(program: Program, module: Module, node: ast.expr) -> bool:
    """Tell whether an expression is surely a dataset of tf.data, whatever way it was made."""
    values = program.values(module, node)
    found = [list(_chains(value, ())) for value in values]
    return bool(found) and all(each and all(c.is_whole for c in each) for each in found)


def _chains(value: Value, behind: tuple[Stage, ...]) -> Iterator[Chain]:
    if len(behind) > MAX_STAGES:
        return
    if isinstance(value, Item) and is_loaded(value.of):
        assert isinstance(value.of, Made)
        yield Chain((_stage(value.of), *behind), True)
    elif isinstance(value, Made):
        if value.method in METHODS and value.receiver:
            for receiver in value.receiver:
                yield from _chains(receiver, (_stage(value), *behind))
        elif is_source(value.maker) or (is_loaded(value) and behind):
            yield Chain((_stage(value), *behind), True)
        elif behind:
            yield Chain(behind, False)
    elif behind:
        yield Chain(behind, False)


def is_source(maker: str) -> bool:
    """Tell whether what has this full name makes datasets."""
    if maker in _SOURCES:
        return True
    return maker.startswith("tensorflow.data.") and "Options" not in maker


def is_loaded(value: Value) -> bool:
    """Tell whether something loads datasets, several in a dictionary or tuple perhaps."""
    return isinstance(value, Made) and value.maker in _LOADERS


def _stage(value: Made) -> Stage:
    return Stage(value.method or value.maker, value.call, value.module, value.frame)


MAX_DEPTH, MAX_FRAMES = 3, 12


def frames_of(
    program: Program, module: Module, node: ast.AST, *, depth: int = MAX_DEPTH
) -> list[Frame | None]:
    """Return the calls through which a node is come to; None for code that nobody calls."""
    function = module.function(node)
    callers = program.resolver.callers(module, function) if function is not None and depth else []
    if function is None or not callers:
        return [None]
    found: list[Frame | None] = []
    for other, call in callers[:MAX_FRAMES]:
        for outer in frames_of(program, other, call, depth=depth - 1):
            level = outer.depth + 1 if outer is not None else 1
            found.append(Frame(function, call, other, outer, level))
    return found[:MAX_FRAMES]


def chains_in(
    program: Program, module: Module, node: ast.expr, frame: Frame | None
) -> list[Chain] | None:
    """Return the chains that an expression may stand for in one situation.

    Those that a condition rules out are left out. None where it may be something else.
    """
    found: list[Chain] = []
    for value in program.values(module, node, frame):
        chains = chains_of(value)
        if not chains:
            return None
        found += chains
    found = [chain for chain in dict.fromkeys(found) if not _is_ruled_out(program, chain)]
    return [chain for chain in found if not _is_passed_by(program, chain, found)]


def conditions_to_reach(module: Module, node: ast.AST) -> dict[ast.expr, bool]:
    """Return the conditions around a node, each with what it has to be."""
    found: dict[ast.expr, bool] = {}
    child, above = node, module.parent(node)
    while above is not None:
        if isinstance(above, ast.If | ast.IfExp) and child is not above.test:
            found[above.test] = child in (
                above.body if isinstance(above.body, list) else [above.body]
            )
        child, above = above, module.parent(above)
    return found


def _is_ruled_out(program: Program, chain: Chain) -> bool:
    """Tell whether a condition keeps the program from one of the stages."""
    for stage in chain.stages:
        reach = Reach(program.resolver, stage.module, stage.frame)
        around = conditions_to_reach(stage.module, stage.call)
        if any(reach.holds(test) is (not wanted) for test, wanted in around.items()):
            return True
    return False


def _is_passed_by(program: Program, chain: Chain, others: list[Chain]) -> bool:
    """Tell whether a chain lacks only what is surely done."""
    for other in others:
        more = [stage for stage in other.stages if stage not in chain.stages]
        rest = tuple(stage for stage in other.stages if stage not in more)
        if more and rest == chain.stages and all(_is_sure(program, stage) for stage in more):
            return True
    return False


def _is_sure(program: Program, stage: Stage) -> bool:
    return Reach(program.resolver, stage.module, stage.frame).comes_to(stage.call)


def given_for(
    program: Program, module: Module, node: ast.expr, frame: Frame | None
) -> Iterator[tuple[Module, ast.expr]]:
    """Yield an expression, and what stands for it in the calls around: a parameter's argument."""
    yield module, node
    while frame is not None and isinstance(node, ast.Name):
        bindings = program.files.bindings(module).reaching(node, node.id)
        if [binding.kind for binding in bindings] != ["parameter"]:
            return
        found = _argument_in_frame(module, frame, node.id)
        if found is None or bindings[0].node not in ast.walk(frame.function.args):
            return
        is_default = found is default_of_parameter(frame.function, node.id)
        node, module = found, module if is_default else frame.module
        frame = frame.outer
        yield module, node


def _argument_in_frame(module: Module, frame: Frame, name: str) -> ast.expr | None:
    at = position_of_parameter(module, frame.function, name)
    given = argument(frame.call, name, at) if at >= 0 else keyword_value(frame.call, name)
    if given is not None or is_hidden_in_spread(frame.call, at):
        return given
    return default_of_parameter(frame.function, name)


MAX_NAMES = 4


def taken_chains(program: Program, module: Module, node: ast.expr) -> list[Chain]:
    """Return the chains an expression may stand for, without those its arguments rule out.

    Of `make(paths, training=True)` these are the ones that go through `if training:`.
    """
    found = chains(program, module, node)
    made = making_call(program, module, node) if len(found) > 1 else None
    called = program.only(module, made.func) if made is not None else None
    if made is None or not isinstance(called, Routine):
        return found
    reach = Reach(program.resolver, called.module, Frame(called.node, made, module, None, 1))
    calls = {stage.call for chain in found for stage in chain.stages}
    inside = [call for call in calls if called.module.is_in(call, called.node)]
    sure = {call for call in inside if reach.comes_to(call)}
    never = {call for call in inside if _is_never_taken(reach, call)}
    kept = [chain for chain in found if _fits(chain, sure, never)]
    return kept or found


def _fits(chain: Chain, sure: set[ast.Call], never: set[ast.Call]) -> bool:
    own = {stage.call for stage in chain.stages}
    return sure <= own and not never & own


def making_call(program: Program, module: Module, node: ast.expr) -> ast.Call | None:
    """Return the call that an expression is, or that its name was given the result of."""
    for _ in range(MAX_NAMES):
        if isinstance(node, ast.Call):
            return node
        if not isinstance(node, ast.Name):
            return None
        bound = program.files.bindings(module).reaching(node, node.id)
        if len(bound) != 1 or bound[0].kind != "value" or bound[0].path or bound[0].value is None:
            return None
        node = bound[0].value
    return None


def _is_never_taken(reach: Reach, call: ast.Call) -> bool:
    """Tell whether a condition around a call surely does not hold."""
    child: ast.AST = call
    above = reach.module.parent(child)
    while above is not None and not isinstance(child, FUNCTIONS):
        if isinstance(above, ast.If) and child is not above.test:
            holds = reach.holds(above.test)
            if holds is not None and holds is not (child in above.body):
                return True
        child, above = above, reach.module.parent(above)
    return False


MAX_STEPS = 100


@dataclass(frozen=True)
class ChainStep:
    """One operation of a chain.

    Args:
        name: the method that is called.
        call: the call.
        is_private: nothing but the next operation of the chain reads what it gives.
        is_counted: the same, but its length may be asked for.
    """

    name: str
    call: ast.Call
    is_private: bool
    is_counted: bool

    @property
    def line(self) -> int:
        """The line on which the name of the method stands."""
        return self.call.func.end_lineno or self.call.lineno


@dataclass(frozen=True)
class LocalChain:
    """The operations from the source to the consumer, and what the first one is called on."""

    source: ast.expr
    steps: tuple[ChainStep, ...]

    def index(self, call: ast.Call) -> int:
        """Return the place of a call."""
        return next(i for i, step in enumerate(self.steps) if step.call is call)

    def is_closed(self, first: int, last: int, *, keeps_count: bool = False) -> bool:
        """Tell whether nobody sees what is between the operations of a range.

        Where all of them keep the number of elements, asking for that does not count.
        """
        steps = self.steps[first:last]
        return all(step.is_private or (keeps_count and step.is_counted) for step in steps)


def method_call_at(module: Module, line: int, method: str) -> ast.Call | None:
    """Return the only call of `.method(...)` whose name stands on a line."""
    named = [
        call
        for call in module.all(ast.Call)
        if isinstance(call.func, ast.Attribute) and call.func.attr == method
    ]
    on_line = [call for call in named if call.func.end_lineno == line]
    within = [c for c in named if (c.func.end_lineno or 0) <= line <= (c.end_lineno or 0)]
    found = on_line or within
    return found[0] if len(found) == 1 else None


def chain_at(module: Module, line: int, method: str) -> tuple[LocalChain, int] | None:
    """Return the chain that the call of a method at a line is part of, and its place there."""
    call = method_call_at(module, line, method)
    if call is None:
        return None
    chain = chain_of(module, call)
    return chain, chain.index(call)


def chain_of(module: Module, call: ast.Call) -> LocalChain:
    """Return the chain that a call of a dataset's method is part of, as far as the text tells."""
    calls = [call]
    before = _before(module, call)
    while isinstance(before, ast.Call) and len(calls) < MAX_STEPS:
        calls.insert(0, before)
        before = _before(module, before)
    after = _after(module, call)
    while after is not None and after not in calls and len(calls) < MAX_STEPS:
        calls.append(after)
        after = _after(module, after)
    return LocalChain(_receiver(calls[0]), tuple(_step(module, one) for one in calls))


def _method(call: ast.AST) -> str:
    if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute):
        return call.func.attr if call.func.attr in METHODS else ""
    return ""


def _receiver(call: ast.Call) -> ast.expr:
    assert isinstance(call.func, ast.Attribute)
    return call.func.value


def _before(module: Module, call: ast.Call) -> ast.Call | None:
    """Return the operation that a call is made on, also through a name."""
    value: ast.expr | None = _receiver(call)
    if isinstance(value, ast.Name):
        statement = binding_in_block(module, value)
        value = value_of_statement(statement) if statement is not None else None
    return value if isinstance(value, ast.Call) and _method(value) else None


def _after(module: Module, call: ast.Call) -> ast.Call | None:
    """Return the operation on what a call gives; None where there are several or none."""
    user = _call_on(module, call)
    if user is not None:
        return user if _method(user) else None
    statement = module.statement(call)
    if value_of_statement(statement) is not call or target_of(statement) is None:
        return None
    readers = [
        name
        for name in reads_of_assignment(module, statement) or ()
        if not asks_length(module, name)
    ]
    calls = [_call_on(module, name) for name in readers]
    if len(calls) != 1 or calls[0] is None or not _method(calls[0]):
        return None
    # In another block it may run never, or more than once.
    other = module.statement(calls[0])
    return calls[0] if other in module.block(statement) else None


def _call_on(module: Module, value: ast.expr) -> ast.Call | None:
    """Return the call of a method of a value: `value.method(...)`."""
    attribute = module.parent(value)
    call = module.parent(attribute) if isinstance(attribute, ast.Attribute) else None
    is_called = isinstance(call, ast.Call) and call.func is attribute
    return call if is_called and isinstance(call, ast.Call) else None


def _step(module: Module, call: ast.Call) -> ChainStep:
    name, statement = _method(call), module.statement(call)
    if _call_on(module, call) is not None:
        return ChainStep(name, call, is_private=True, is_counted=True)
    is_named = value_of_statement(statement) is call and target_of(statement) is not None
    readers = (reads_of_assignment(module, statement) if is_named else None) or []
    others = [reader for reader in readers if not asks_length(module, reader)]
    return ChainStep(name, call, is_private=len(readers) == 1, is_counted=len(others) == 1)


def asks_length(module: Module, name: ast.Name) -> bool:
    """Tell whether a dataset is only asked how many elements it has."""
    parent = module.parent(name)
    if isinstance(parent, ast.Call):
        return isinstance(parent.func, ast.Name) and parent.func.id == "len"
    return isinstance(parent, ast.Attribute) and parent.attr == "cardinality"


_DIRECTORY_READERS = ("image_dataset_from_directory", "text_dataset_from_directory")
_RANDOM_WORDS = ("shuffle", "random", "sample_from_datasets", "list_files")


def is_surely_dataset(module: Module, value: ast.expr, depth: int = 0) -> bool:
    """Tell whether an expression is certainly a `tf.data` dataset."""
    if depth > 10:
        return False
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Name):
        return _gives_dataset(module, value.func.id, depth)
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
        path = import_path(module, dotted(value.func))
        if path.startswith("tensorflow.data.") or path.endswith(_DIRECTORY_READERS):
            return True
        is_stage = value.func.attr in METHODS
        return is_stage and is_surely_dataset(module, value.func.value, depth + 1)
    if not isinstance(value, ast.Name):
        return False
    found = _values_of_name(module, value)
    first = [v for v in found if v is not None and value.id not in names_in(v)]
    return (
        len(first) >= 1
        and None not in found
        and all(is_surely_dataset(module, v, depth + 1) for v in first)
    )


def _gives_dataset(module: Module, name: str, depth: int) -> bool:
    """Tell whether a function of the file returns a dataset, wherever it returns."""
    found = [f for f in module.all(ast.FunctionDef) if f.name == name]
    if len(found) != 1 or found[0].decorator_list or len(binders_in_file(module, name)) != 1:
        return False
    nodes = list(nodes_in_scope(*found[0].body))
    if any(isinstance(n, ast.Yield | ast.YieldFrom) for n in nodes):
        return False
    returned = [n.value for n in nodes if isinstance(n, ast.Return)]
    return bool(returned) and all(
        value is not None and is_surely_dataset(module, value, depth + 1) for value in returned
    )


def is_shuffled(module: Module, value: ast.expr) -> bool:
    """Tell whether the order or the content of a dataset may be random."""
    waiting, seen = [value], set()
    while waiting:
        node = waiting.pop()
        text = ast.unparse(node)
        if any(word in text for word in _RANDOM_WORDS):
            return True
        for name in (n for n in ast.walk(node) if isinstance(n, ast.Name)):
            if name.id not in seen:
                seen.add(name.id)
                waiting += [v for v in _values_of_name(module, name) if v is not None]
                functions = [f for f in module.all(ast.FunctionDef) if f.name == name.id]
                if any(word in ast.unparse(f) for f in functions for word in _RANDOM_WORDS):
                    return True
    return False


def _values_of_name(module: Module, name: ast.Name) -> list[ast.expr | None]:
    scope = scope_of(module, name)
    found = binders(scope, name.id) or binders(module.tree, name.id)
    return [value_of(module, node) for node in found]
