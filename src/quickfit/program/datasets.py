"""Chains of tf.data: which stages a dataset has been through, over names, functions and files."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

from quickfit.program import Module, Program
from quickfit.program.frames import Frame
from quickfit.program.values import Item, Made, Value

# Methods that give a dataset again.
STAGES = frozenset(
    (
        *("apply", "batch", "bucket_by_sequence_length", "cache", "concatenate", "enumerate"),
        *("filter", "flat_map", "group_by_window", "ignore_errors", "interleave", "map"),
        *("padded_batch", "prefetch", "ragged_batch", "rebatch", "rejection_resample", "repeat"),
        *("scan", "shard", "shuffle", "skip", "snapshot", "sparse_batch"),
        *("take", "take_while", "unbatch", "unique", "window", "with_options"),
    )
)
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
        if value.method in STAGES and value.receiver:
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
