"""Tells whether a picture is surely made of bytes: whole numbers from 0 to 255."""

from __future__ import annotations

import ast

from quickfit.patterns.label_names import is_label, names_in
from quickfit.patterns.tensors import Element
from quickfit.program import Module, Program, argument, keyword
from quickfit.program.frames import Frame
from quickfit.program.values import External, Group, Item, Literal, Made, Value, Values

_DECODERS = ("image", "jpeg", "png", "bmp", "gif", "and_crop_jpeg")
DECODERS = tuple(f"tensorflow.io.decode_{name}" for name in _DECODERS)
_CASTS = ("tensorflow.cast", "tensorflow.saturate_cast")
# Collections of pictures as bytes, with their labels behind them.
_COLLECTIONS = tuple(
    f"keras.datasets.{name}.load_data" for name in ("mnist", "fashion_mnist", "cifar10", "cifar100")
)
SLICES = "tensorflow.data.Dataset.from_tensor_slices"
# Stages that leave the values of an element alone, beside those that leave all of it alone.
_STACKING = ("batch", "unbatch")


def dtype_of(
    program: Program, module: Module, node: ast.expr | None, frame: Frame | None = None
) -> str:
    """Return the last name of a type: `float32`; empty where it is not known."""
    only = program.only(module, node, frame)
    name = only.name if isinstance(only, External) else ""
    if isinstance(only, Literal) and isinstance(only.value, str):
        name = only.value
    return name.rsplit(".", 1)[-1]


def is_bytes(program: Program, value: Value) -> bool:
    """Tell whether something is surely a picture of bytes, or an array of such pictures."""
    if isinstance(value, Element):
        return _is_sliced(program, value)
    if isinstance(value, Item):
        return _is_collected(value) or (value.index is None and is_bytes(program, value.of))
    return isinstance(value, Made) and _is_made(program, value)


def _is_made(program: Program, made: Made) -> bool:
    if made.maker in DECODERS:
        given = argument(made.call, "dtype", 2) if "decode_and" not in made.maker else None
        plain = made.maker.endswith(("image", "png"))
        return not plain or given is None or _is_uint8(program, made, given)
    if made.maker in _CASTS:
        return _is_uint8(program, made, argument(made.call, "dtype", 1))
    if made.maker == "tensorflow.io.decode_raw":
        return _is_uint8(program, made, argument(made.call, "out_type", 1))
    if made.method == "astype":
        return _is_uint8(program, made, argument(made.call, "dtype", 0)) and not _is_truth(made)
    is_array = made.maker.startswith("numpy.") or made.method == "integers"
    return is_array and _is_uint8(program, made, keyword(made.call, "dtype"))


def _is_uint8(program: Program, made: Made, given: ast.expr | None) -> bool:
    return dtype_of(program, made.module, given, made.frame) == "uint8"


def _is_truth(made: Made) -> bool:
    """Tell whether it is an answer, yes or no, that is made a number: 0 or 1."""
    of = made.call.func.value if isinstance(made.call.func, ast.Attribute) else None
    return isinstance(of, ast.Compare | ast.BoolOp)


def _is_collected(value: Item) -> bool:
    """Tell whether something is the pictures of a known collection: the first of either pair."""
    pair = value.of
    whole = pair.of if isinstance(pair, Item) else None
    return value.index == 0 and isinstance(whole, Made) and whole.maker in _COLLECTIONS


def _is_sliced(program: Program, element: Element) -> bool:
    """Tell whether a dataset gives its elements from an array of bytes."""
    source, *rest = element.chain.stages or (None,)
    if source is None or source.name != SLICES or not source.call.args:
        return False
    if any(stage is not None and stage.name not in _STACKING for stage in rest):
        return False
    given = source.call.args[0]
    found: list[Value] = []
    for value in program.values(source.module, given, source.frame):
        found += _part(program, value, element.index, source.frame)
    is_pair = isinstance(given, ast.Tuple) and element.index < len(given.elts)
    part = given.elts[element.index] if is_pair and isinstance(given, ast.Tuple) else given
    # Masks and classes are small numbers, which nobody has to scale.
    return (
        bool(found) and all(is_bytes(program, v) for v in found) and not is_label(names_in([part]))
    )


def _has(node: ast.expr, index: int) -> bool:
    return isinstance(node, ast.Tuple) and index < len(node.elts)


def _part(program: Program, value: Value, index: int, frame: Frame | None) -> Values:
    if isinstance(value, Group) and _has(value.node, index):
        return program.resolver.item(value, index, frame)
    if isinstance(value, Item) and isinstance(value.of, Made) and value.of.maker in _COLLECTIONS:
        return (Item(value, index),)
    return (value,) if index == 0 and not isinstance(value, Group) else ()
