"""Where a tensor comes from: back through calls that leave it alone, and from map to map."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from quickfit.patterns.elements import mapped
from quickfit.program import Module, Program, keyword, own_nodes
from quickfit.program.datasets import Chain, Stage, chains
from quickfit.program.module import Function
from quickfit.program.parameters import position_of
from quickfit.program.values import UNKNOWN, Computed, Item, Made, Parameter, Value

MAX_VALUES, MAX_DEPTH = 60, 4
MAPPERS = ("map", "flat_map", "interleave")
# Stages that give the elements as they got them.
_KEEPING = frozenset(
    (
        *("cache", "concatenate", "filter", "ignore_errors", "prefetch", "repeat", "shard"),
        *("shuffle", "skip", "take", "take_while", "with_options"),
    )
)
# Only tf.data has these.
_SURE = ("prefetch", "padded_batch", "interleave", "with_options")


@dataclass(frozen=True)
class Element(Value):
    """A part of what a dataset gives that no function of the program has made.

    Args:
        chain: the stages up to where it comes from.
        index: which argument of the mapped function it is.
    """

    chain: Chain
    index: int


def origins(
    program: Program, module: Module, node: ast.expr, passing: Collection[str]
) -> list[Value]:
    """Return what a tensor may have been before calls that pass it on.

    Args:
        program: that it is part of.
        module: where the expression stands.
        node: the expression.
        passing: full names of what is followed to its first argument; with `arithmetic` among
            them, sums and products with numbers are followed as well, with `items` also parts
            of a tensor: `x[2:]`.
    """
    waiting: list[tuple[Module, ast.expr]] = [(module, node)]
    found: list[Value] = []
    for where, expression in waiting:
        if len(waiting) > MAX_VALUES:
            return [UNKNOWN]
        for value in program.values(where, expression):
            before = list(_before(program, value, passing))
            new = [pair for pair in before if isinstance(pair, tuple) and pair not in waiting]
            waiting += new
            found += [v for v in before if isinstance(v, Value)]
    return list(dict.fromkeys(found))


def _before(
    program: Program, value: Value, passing: Collection[str]
) -> Iterator[tuple[Module, ast.expr] | Value]:
    if isinstance(value, Made) and value.maker in passing:
        tensor = tensor_of(value.call)
        yield (value.module, tensor) if tensor is not None else value
    elif isinstance(value, Computed) and "arithmetic" in passing:
        yield from _operands(program, value)
    elif isinstance(value, Item) and value.index is None and "items" in passing:
        yield from _before(program, value.of, passing)
    elif isinstance(value, Parameter):
        yield from given(program, value)
    else:
        yield value


def _operands(program: Program, value: Computed) -> Iterator[tuple[Module, ast.expr] | Value]:
    """Yield the side of a sum or product with a number that is no number."""
    node = value.node
    if not isinstance(node, ast.BinOp):
        yield value
        return
    sides = (node.left, node.right)
    numbers = [s for s in sides if isinstance(program.literal(value.module, s), int | float)]
    if len(numbers) != 1:
        yield value
        return
    yield value.module, node.right if numbers[0] is node.left else node.left


# -- functions that are mapped --------------------------------------------------------------


def mapping(program: Program, module: Module, function: Function) -> list[Stage]:
    """Return the stages of datasets that call a function for each element."""
    name = getattr(function, "name", "")
    parent = module.parent(function)
    if name == "__call__" and isinstance(parent, ast.ClassDef):
        name = parent.name  # who maps with an object names its class
    if isinstance(parent, ast.Assign) and isinstance(parent.targets[0], ast.Name):
        name = parent.targets[0].id
    others = program.files.mentioning(name, module.path) if name else []
    found: list[Stage] = []
    for place in (module, *others):
        for call in place.calls(*MAPPERS):
            stage = Stage(getattr(call.func, "attr", ""), call, place)
            if stage.name and _maps(program, stage, function) and _is_of_dataset(program, stage):
                found.append(stage)
    return found


def _maps(program: Program, stage: Stage, function: Function) -> bool:
    return any(routine.node is function for routine, _ in mapped(program, stage))


def _is_of_dataset(program: Program, stage: Stage) -> bool:
    """Tell whether a `map` is surely one of tf.data, by its receiver or what is done with it."""
    call, module = stage.call, stage.module
    if any(k.arg in ("num_parallel_calls", "deterministic") for k in call.keywords):
        return True
    if any(chain.is_whole or chain.has(*_SURE) for chain in chains(program, module, call)):
        return True
    later = [c for c in module.calls(*_SURE) if isinstance(c.func, ast.Attribute)]
    return any(
        stage.call is s.call
        for c in later
        for chain in chains(program, module, c)
        for s in chain.stages
    )


def is_traced(program: Program, module: Module, node: ast.AST, *, depth: int = MAX_DEPTH) -> bool:
    """Tell whether code is surely made into a graph: by a `map`, or by `tf.function`."""
    function = module.function(node)
    if function is None or depth == 0:
        return False
    decorators = getattr(function, "decorator_list", [])
    if any(_is_graph(program, module, each) for each in decorators):
        return not module.calls("run_functions_eagerly")
    if mapping(program, module, function):
        return not module.calls("enable_debug_mode")
    callers = program.resolver.callers(module, function)
    return any(is_traced(program, other, call, depth=depth - 1) for other, call in callers)


def _is_graph(program: Program, module: Module, decorator: ast.expr) -> bool:
    if isinstance(decorator, ast.Call):
        decorator = decorator.func
    return program.name(module, decorator) == "tensorflow.function"


# -- from map to map ------------------------------------------------------------------------


def given(program: Program, parameter: Parameter) -> Iterator[tuple[Module, ast.expr] | Value]:
    """Yield what a mapped function gets for an argument: what the map before gives, or `Element`.

    Where the function is not seen to be mapped, the argument itself.
    """
    module = parameter.module
    index = position_of(module, parameter.node, parameter.name)
    stages = mapping(program, module, parameter.node) if index >= 0 else []
    if not stages:
        yield parameter
    for stage in stages:
        for chain in chains(program, stage.module, stage.call):
            before = [s for s in chain.before(stage.call) if s.name not in _KEEPING]
            yield from _made_by(program, Chain(tuple(before), chain.is_whole), index)


def _made_by(
    program: Program, chain: Chain, index: int
) -> Iterator[tuple[Module, ast.expr] | Value]:
    last = chain.stages[-1] if chain.stages else None
    functions = mapped(program, last) if last is not None and last.name == "map" else []
    if not functions:
        yield Element(chain, index)
    for routine, _ in functions:
        for result in results(routine.node):
            parts = result.elts if isinstance(result, ast.Tuple) else [result]
            is_known = index < len(parts) and (len(parts) > 1 or index == 0)
            yield (routine.module, parts[index]) if is_known else UNKNOWN


def results(function: Function) -> list[ast.expr]:
    """Return what a function returns."""
    if isinstance(function, ast.Lambda):
        return [function.body]
    nodes = own_nodes(function)
    return [n.value for n in nodes if isinstance(n, ast.Return) and n.value is not None]


def tensor_of(call: ast.Call) -> ast.expr | None:
    """Return the tensor that a function of TensorFlow is given first, whatever it calls it."""
    if call.args:
        return call.args[0] if not isinstance(call.args[0], ast.Starred) else None
    named = (keyword(call, name) for name in ("image", "images", "x", "input", "value", "tensor"))
    return next((given for given in named if given is not None), None)
