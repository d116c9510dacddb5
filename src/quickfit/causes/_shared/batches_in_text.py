"""How a program makes batches: of which samples, how many, and whether the data ever ends."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeGuard

from quickfit.causes._shared.generators import FLOWS, endless, endless_chain
from quickfit.code.calls import assigned_to_self, default_of_parameter, position_of_parameter
from quickfit.code.datasets import (
    BATCHING,
    SAME_COUNT,
    Chain,
    Stage,
    chains_of,
    making_call,
    taken_chains,
)
from quickfit.code.keras_models import Feed
from quickfit.code.module import Module
from quickfit.code.names import Binding
from quickfit.code.program import Program, is_among, is_same_thing
from quickfit.code.syntax import argument, name_of, own_nodes, parameter_names
from quickfit.code.values import (
    Group,
    Instance,
    Item,
    Literal,
    Made,
    Member,
    Routine,
    Value,
    Values,
)

_SLICES = "tensorflow.data.Dataset.from_tensor_slices"
# Give one sample after the other; how many, only who wrote the files knows.
_RECORDS = (
    "tensorflow.data.TFRecordDataset",
    "tensorflow.data.TextLineDataset",
    "tensorflow.data.FixedLengthRecordDataset",
)
# The batch size of Keras where none is given.
_FLOW_SIZE = ast.Constant(value=32)


def batched(program: Program, feed: Feed) -> Batched | None:
    """Return how the data of a call is batched; None where the text does not say."""
    module = feed.fitting.module
    values = program.values(module, feed.data)
    taken = taken_chains(program, module, feed.data)
    if len(taken) == 1:
        chain = _of_chain(program, taken[0])
        return _at_call(program, feed, chain) if chain is not None else None
    found = [_of(program, value) for value in values]
    if found and all(found) and len({(f.size, f.lasts) for f in found if f}) == 1:
        return found[0]
    return _of_arrays(program, feed)


def _at_call(program: Program, feed: Feed, data: Batched) -> Batched:
    """Return the same with what the call that makes the data gives for its parameters."""
    call = making_call(program, feed.fitting.module, feed.data)
    called = program.only(feed.fitting.module, call.func) if call is not None else None
    if call is None or not isinstance(called, Routine):
        return data

    def there(place: Place) -> Place:
        module, node = place
        names = parameter_names(called.node)
        if not isinstance(node, ast.Name) or node.id not in names or module is not called.module:
            return place
        if module.function(node) is not called.node:
            return place
        return given_for(called, call, feed.fitting.module, node.id) or place

    return Batched(tuple(map(there, data.samples)), there(data.size), data.lasts, data.buffers)


def _of(program: Program, value: Value) -> Batched | None:
    if isinstance(value, Instance):
        return of_object(program, value)
    if not isinstance(value, Made):
        return None
    if value.maker == "generator" and isinstance(value.receiver[0], Routine):
        return of_generator(program, value, value.receiver[0])
    if value.method in FLOWS:
        return _of_flow(value)
    found = [_of_chain(program, chain) for chain in chains_of(value)]
    return found[0] if len(found) == 1 else None


def _of_arrays(program: Program, feed: Feed) -> Batched | None:
    """Return how Keras batches arrays; only where the size is given, and the labels are as well."""
    module, size = feed.fitting.module, feed.batch_size
    if size is None:
        return None
    samples = arrays(program, feed)
    return Batched(samples, (module, size), "epoch") if len(samples) > 1 else None


def arrays(program: Program, feed: Feed) -> tuple[Place, ...]:
    """Return the arrays that a call is given: samples and labels; none where it has no labels."""
    module = feed.fitting.module
    if feed.steps_name != "validation_steps":
        labels = feed.fitting.given("y")
        return ((module, feed.data), (module, labels)) if labels is not None else ()
    only = program.only(module, feed.data)
    if isinstance(only, Group) and isinstance(only.node, ast.Tuple) and len(only.node.elts) > 1:
        return tuple((only.module, e) for e in only.node.elts[:2])
    return ()


def _of_chain(program: Program, chain: Chain) -> Batched | None:
    source = chain.stages[0]
    sizes = [stage for stage in chain.stages if stage.name in BATCHING]
    # Others change how many elements there are, or what an element is.
    known = SAME_COUNT | BATCHING | {"repeat"}
    names = {stage.name for stage in chain.stages[1:]}
    if not chain.is_whole or len(sizes) != 1 or names - known:
        return None
    if source.name not in (_SLICES, *_RECORDS):
        return None
    given = argument(source.call, "tensors", 0) if source.name == _SLICES else None
    size = argument(sizes[0].call, "batch_size", 0)
    if size is None or (given is None and source.name == _SLICES):
        return None
    samples = tuple(_parts(program, source.module, given)) if given is not None else ()
    lasts = "epoch" if "repeat" not in names else "ever"
    if lasts == "ever" and endless_chain(program, chain) is None:
        return None  # a number of passes, that may be any
    return Batched(samples, (sizes[0].module, size), lasts, tuple(_buffers(chain, sizes[0])))


def _buffers(chain: Chain, batch: Stage) -> Iterator[Place]:
    """Yield how many samples are shuffled together before they are batched."""
    for stage in chain.before(batch.call):
        given = argument(stage.call, "buffer_size", 0) if stage.name == "shuffle" else None
        if given is not None:
            yield stage.module, given


def _parts(program: Program, module: Module, node: ast.expr) -> Iterator[Place]:
    only = program.only(module, node)
    inner = only.node if isinstance(only, Group) else None
    if isinstance(only, Group) and isinstance(inner, ast.Tuple):
        for part in inner.elts:
            yield from _parts(program, only.module, part)
    elif isinstance(only, Group) and isinstance(inner, ast.Dict):
        yield from ((only.module, part) for part in inner.values)
    else:
        yield module, node


def _of_flow(value: Made) -> Batched | None:
    """Return how a flow of `ImageDataGenerator` batches: a PyDataset that knows its length."""
    owners = value.receiver
    if not all(isinstance(o, Made) and o.maker.endswith("ImageDataGenerator") for o in owners):
        return None
    named = next((k.value for k in value.call.keywords if k.arg == "batch_size"), None)
    size = named or (argument(value.call, "batch_size", 2) if value.method == "flow" else None)
    given = value.call.args[: {"flow": 2, "flow_from_dataframe": 1}.get(value.method, 0)]
    given += [k.value for k in value.call.keywords if k.arg in ("x", "y", "dataframe")]
    samples = tuple((value.module, node) for node in given)
    return Batched(samples, (value.module, size or _FLOW_SIZE), "epoch")


def is_several(program: Program, size: Place) -> bool:
    """Tell whether a batch has more than one sample: a number above 1, or a size not set here."""
    module, node = size
    values = program.values(module, node)
    numbers = [v.value for v in values if isinstance(v, Literal)]
    if any(not isinstance(n, int) or n <= 1 for n in numbers):
        return False
    return bool(numbers) or bool(SIZE.search(name_of(node)))


# How programs call the number of samples in a batch.
SIZE = re.compile(r"batch_?size|^bs$", re.IGNORECASE)
Place = tuple[Module, ast.expr]


@dataclass(frozen=True)
class Batched:
    """Data in batches.

    Args:
        samples: expressions, each of which stands for all of the samples, or for their labels.
        size: how many samples make a batch, and where that is said.
        lasts: `ever`, `once` (it is over after one pass), or `epoch` (each epoch is one pass).
        buffers: numbers of samples that are shuffled together, before they are batched.
    """

    samples: tuple[Place, ...]
    size: Place
    lasts: str
    buffers: tuple[Place, ...] = ()


def of_object(program: Program, value: Instance) -> Batched | None:
    """Return how an object of a PyDataset class of the program batches."""
    if "keras.utils.PyDataset" not in program.ancestors(value):
        return None
    made = program.resolver.attribute(value.made, "__init__")
    init = made[0] if len(made) == 1 else None
    divisor = _divisor(program, value)
    if not isinstance(init, Routine) or divisor is None:
        return None
    given = assigned_to_self(value.made, divisor.attr) if _is_of_self(divisor) else [divisor]
    sizes = [node.id for node in given if isinstance(node, ast.Name)]
    return _from_call(init, value.call, value.module, sizes[:1], "epoch")


def _divisor(program: Program, value: Instance) -> ast.Attribute | ast.Name | None:
    """Return what the length of a PyDataset is divided by: the size of a batch."""
    found = program.resolver.attribute(value.made, "__len__")
    nodes = [n for f in found if isinstance(f, Routine) for n in own_nodes(f.node)]
    for node in nodes:
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div | ast.FloorDiv):
            inner = [n for n in ast.walk(node.right) if _is_of_self(n) or isinstance(n, ast.Name)]
            named = [n for n in inner if name_of(n) not in ("self", "float", "int")]
            return named[0] if len(named) == 1 else None
    return None


def _is_of_self(node: ast.AST) -> TypeGuard[ast.Attribute]:
    return isinstance(node, ast.Attribute) and name_of(node.value) == "self"


def _groups(node: ast.AST) -> bool:
    """Tell whether a part of a generator takes as many samples at once as a batch has.

    One that makes a batch of each sample, such as of its crops, does not.
    """
    if isinstance(node, ast.Call) and name_of(node.func) == "range" and len(node.args) == 3:
        return _mentions(node.args[2])
    if isinstance(node, ast.Call) and name_of(node.func) in ("choice", "choices", "sample"):
        return any(map(_mentions, [*node.args, *(k.value for k in node.keywords)]))
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.FloorDiv | ast.Div | ast.Mod):
        return _mentions(node.right)
    if isinstance(node, ast.Compare):
        is_count = isinstance(node.ops[0], ast.Eq | ast.GtE | ast.Lt)
        return is_count and any(map(_mentions, node.comparators))
    return isinstance(node, ast.Slice) and node.upper is not None and _mentions(node.upper)


def _mentions(node: ast.AST) -> bool:
    return any(SIZE.search(name_of(n)) for n in ast.walk(node) if name_of(n))


def of_generator(program: Program, value: Made, routine: Routine) -> Batched | None:
    """Return how a generator function batches; None where it does not, or not clearly."""
    nodes = own_nodes(routine.node)
    if not any(_groups(node) for node in nodes) and not _stepped(nodes):
        return None
    names = [n for n in parameter_names(routine.node) if SIZE.search(n)]
    lasts = "ever" if endless(program, routine) is not None else "once"
    kept = [n for n in nodes if _is_of_self(n)]
    sizes = [n for n in kept if SIZE.search(n.attr)]
    if not names and sizes:
        return Batched(_places(routine, kept), (routine.module, sizes[0]), lasts)
    found = _from_call(routine, value.call, value.module, names or _stepped(nodes), lasts)
    if found is None:
        return None
    return Batched((*found.samples, *_places(routine, kept)), found.size, lasts)


def _places(routine: Routine, nodes: list[ast.Attribute]) -> tuple[Place, ...]:
    """Return what a method has of its object."""
    return tuple((routine.module, node) for node in nodes if not SIZE.search(node.attr))


def _stepped(nodes: list[ast.AST]) -> list[str]:
    """Return the names that loops go on by: of `range(0, n, step)`, `step`."""
    calls = [n for n in nodes if isinstance(n, ast.Call) and name_of(n.func) == "range"]
    steps = [call.args[2] for call in calls if len(call.args) == 3]
    return list(dict.fromkeys(step.id for step in steps if isinstance(step, ast.Name)))


def _from_call(
    routine: Routine, call: ast.Call, module: Module, sizes: list[str], lasts: str
) -> Batched | None:
    """Return how a function batches its arguments; the size is one of them, or a constant."""
    names = parameter_names(routine.node)
    if len(sizes) > 1:
        return None
    if sizes and sizes[0] in names:
        size = given_for(routine, call, module, sizes[0])
    else:
        size = _constant(routine, sizes)
    if size is None:
        return None
    given = [given_for(routine, call, module, name) for name in names if name not in sizes]
    return Batched(tuple(g for g in given if g is not None), size, lasts)


def given_for(routine: Routine, call: ast.Call, module: Module, name: str) -> Place | None:
    """Return what a call of a function gives for a parameter, or the parameter's default."""
    at = position_of_parameter(routine.module, routine.node, name)
    given = argument(call, name, at) if at >= 0 else None
    given = given or next((k.value for k in call.keywords if k.arg == name), None)
    if given is not None:
        return module, given
    default = default_of_parameter(routine.node, name)
    return (routine.module, default) if default is not None else None


def _constant(routine: Routine, sizes: list[str]) -> Place | None:
    """Return the name of a size that a function takes from outside."""
    used = [n for n in own_nodes(routine.node) if isinstance(n, ast.Name)]
    used = [n for n in used if n.id in sizes or (not sizes and SIZE.search(n.id))]
    loaded = [n for n in used if isinstance(n.ctx, ast.Load)]
    return (routine.module, loaded[0]) if loaded and len(loaded) == len(used) else None


# How programs call numbers of samples; and numbers that count something else.
_SAMPLES = re.compile(
    r"^n_|^num|size|count|total|samples|examples|images|records|rows", re.IGNORECASE
)
_OTHERS = re.compile(r"step|batch|buffer|shuffle|iter|update|epoch|class", re.IGNORECASE)
MAX_DEPTH = 4


def counts_samples(program: Program, feed: Feed, steps: ast.expr, data: Batched) -> bool:
    """Tell whether a number of steps is that of the samples which the data is made of."""
    module = feed.fitting.module
    if any(is_length(program, module, steps, sample) for sample in data.samples):
        return True
    if any(_is_buffer(program, (module, steps), buffer) for buffer in data.buffers):
        return True
    only = program.only(module, steps)  # `flow.samples`, `flow.n`
    if not isinstance(only, Member) or only.name not in ("samples", "n"):
        return False
    return data.lasts == "epoch" and is_among((only.of,), program.values(module, feed.data))


def _is_buffer(program: Program, steps: Place, buffer: Place) -> bool:
    """Tell whether a number counts samples by its name, and they are shuffled by it as well.

    Of `n_train` one place alone would not tell; two that mean the very same variable do.
    """
    root = given_by(program, *steps)
    if root is None or root != given_by(program, *buffer):
        return False
    name = getattr(root, "arg", "") or name_of(_target(root))
    return bool(_SAMPLES.search(name)) and not _OTHERS.search(name)


def _target(root: ast.AST) -> ast.AST:
    targets = root.targets if isinstance(root, ast.Assign) else [getattr(root, "target", root)]
    return targets[0]


def given_by(
    program: Program, module: Module, node: ast.expr, depth: int = MAX_DEPTH
) -> ast.AST | None:
    """Return the parameter or assignment that gives a name its value, through other names.

    Also through what a function returns beside other things: `ds, size = load()`.
    """
    if not isinstance(node, ast.Name) or depth == 0:
        return None
    bound = program.files.bindings(module).reaching(node, node.id)
    only = bound[0] if len(bound) == 1 else None
    if only is not None and only.kind == "from":
        other = program.files.imported(module.path, only.module)
        module, only = (other, _exported(program, other, only.name)) if other else (module, None)
    if only is None or only.kind not in ("parameter", "value"):
        return None
    if only.path:
        inner = _returned(program, module, only)
        return given_by(program, *inner, depth - 1) if inner is not None else None
    if isinstance(only.value, ast.Name):
        return given_by(program, module, only.value, depth - 1)
    return only.node


def _exported(program: Program, module: Module, name: str) -> Binding | None:
    found = program.files.bindings(module).all(module.tree, name)
    return found[0] if len(found) == 1 else None


def _returned(program: Program, module: Module, binding: Binding) -> Place | None:
    """Return the part of what a function returns that a name is given."""
    call = binding.value
    called = program.only(module, call.func) if isinstance(call, ast.Call) else None
    if not isinstance(called, Routine) or len(binding.path) != 1:
        return None
    ends = [n.value for n in own_nodes(called.node) if isinstance(n, ast.Return)]
    parts = ends[0].elts if len(ends) == 1 and isinstance(ends[0], ast.Tuple) else []
    at = binding.path[0]
    return (called.module, parts[at]) if at < len(parts) else None


def is_length(
    program: Program, module: Module, steps: ast.expr, sample: tuple[Module, ast.expr]
) -> bool:
    """Tell whether a number is `len(sample)` or `sample.shape[0]`, also through a name."""
    values = program.values(module, steps)
    return bool(values) and all(_is_length_value(program, v, sample) for v in values)


def _is_length_value(program: Program, value: object, sample: tuple[Module, ast.expr]) -> bool:
    if isinstance(value, Made) and value.maker == "builtins.len" and len(value.call.args) == 1:
        return is_same_thing(program, (value.module, value.call.args[0]), sample)
    if not isinstance(value, Item) or value.index != 0 or not isinstance(value.of, Member):
        return False
    of: Values = (value.of.of,)
    return value.of.name == "shape" and is_among(of, program.values(*sample))
