"""Which samples the data of a call is made of, how many make a batch, and whether it ever ends."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from quickfit.patterns.batch_functions import (
    SIZE,
    Batched,
    Place,
    given_for,
    of_generator,
    of_object,
    parameters,
)
from quickfit.patterns.generators import FLOWS, endless_chain
from quickfit.program import Module, Program, argument, name_of
from quickfit.program.datasets import Chain, Stage, chains_of
from quickfit.program.fitting import Feed
from quickfit.program.taken import making_call, taken_chains
from quickfit.program.values import Group, Instance, Literal, Made, Routine, Value

_BATCHES = ("batch", "padded_batch", "ragged_batch")
# Change how many elements there are, or what an element is.
_OTHER = frozenset(
    (
        *("filter", "skip", "take", "take_while", "shard", "concatenate", "interleave", "flat_map"),
        *("unbatch", "window", "apply", "rejection_resample", "group_by_window", "rebatch"),
        *("bucket_by_sequence_length", "ignore_errors", "unique", "scan"),
    )
)
_SLICES = "tensorflow.data.Dataset.from_tensor_slices"
# Give one sample after the other; how many, only who wrote the files knows.
_RECORDS = (
    "tensorflow.data.TFRecordDataset",
    "tensorflow.data.TextLineDataset",
    "tensorflow.data.FixedLengthRecordDataset",
)
# What Keras takes where nobody says.
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
        names = parameters(called.node)
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
    names = [stage.name for stage in chain.stages]
    sizes = [stage for stage in chain.stages if stage.name in _BATCHES]
    if not chain.is_whole or len(sizes) != 1 or set(names) & _OTHER:
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
