"""The shape that each layer of Keras gives for the shape of its input."""

from __future__ import annotations

import math
from collections.abc import Callable

from quickfit.program.values import Routine, Value
from quickfit.shapes.questions import BY_NAME, Question
from quickfit.shapes.running import called_with
from quickfit.shapes.shapes import Array, Parts, Shape, Side, Thing, as_array, stretched

Rule = Callable[[Question, Array | None], "Array | None"]
_ALIKE = frozenset(
    (
        *("Dropout", "SpatialDropout1D", "SpatialDropout2D", "SpatialDropout3D", "AlphaDropout"),
        *("GaussianNoise", "GaussianDropout", "BatchNormalization", "LayerNormalization"),
        *("GroupNormalization", "UnitNormalization", "RMSNormalization", "Activation", "ReLU"),
        *("LeakyReLU", "PReLU", "ELU", "Softmax", "Rescaling", "Normalization", "Masking"),
        *("ActivityRegularization", "Identity", "RandomFlip", "RandomRotation", "RandomZoom"),
        *("RandomTranslation", "RandomContrast", "RandomBrightness", "RandomShear"),
    )
)
# The rank is kept, the sides are not.
_RESIZING = ("ZeroPadding", "Cropping", "UpSampling", "Resizing", "CenterCrop", "RandomCrop")
_RECURRENT = ("LSTM", "GRU", "SimpleRNN")
_MERGING = ("Add", "Subtract", "Multiply", "Average", "Maximum", "Minimum")


def after(question: Question, maker: str, given: Thing | None) -> Thing | None:
    """Return what a layer of Keras gives; some give a known rank whatever they get."""
    name = maker.rsplit(".", 1)[1]
    if name == "Dot":
        return _dot(given)
    if name in _MERGING or name == "Concatenate":
        return _joined(name, given)
    if name == "Lambda":
        return _lambda(question, given)
    shape = given if isinstance(given, Array) else None
    if name in _ALIKE:
        return shape
    if name.startswith(_RESIZING):
        middle = (None,) * (shape.rank - 2) if shape is not None and shape.rank > 2 else ()
        kept = shape is not None and shape.rank > 2
        return shape.shaped((shape.sides[0], *middle, shape.sides[-1])) if kept and shape else None
    if name.startswith("Global") and "Pool" in name:
        return _pooled(question, shape)
    if name in _RECURRENT:
        return _recurrent(question, shape)
    rule = _RULES.get(name)
    if rule is not None:
        return rule(question, shape)
    return _spatial(name, question, shape)


def batch_of(shape: Array | None) -> Side:
    return shape.sides[0] if shape is not None and shape.sides else None


def made_of(question: Question, shape: Array | None, sides: Shape) -> Array | None:
    return shape.shaped(sides) if shape is not None else question.fresh(sides)


def _dense(question: Question, shape: Array | None) -> Array | None:
    if shape is None or shape.rank < 2:
        return None
    return shape.shaped((*shape.sides[:-1], question.number("units", 0)))


def _flatten(question: Question, shape: Array | None) -> Array | None:
    rest = shape.sides[1:] if shape is not None else (None,)
    numbers = [side for side in rest if side is not None]
    size = math.prod(numbers) if len(numbers) == len(rest) else None
    return made_of(question, shape, (batch_of(shape), size))


def _pooled(question: Question, shape: Array | None) -> Array | None:
    if question.is_given("keepdims", 1) and question.literal("keepdims", 1) is not False:
        return None
    is_plain = question.given("data_format", 0) is None
    last = shape.sides[-1] if shape is not None and shape.sides and is_plain else None
    return made_of(question, shape, (batch_of(shape), last))


def _embedding(question: Question, shape: Array | None) -> Array | None:
    if shape is None:
        return None
    return shape.shaped((*shape.sides, question.number("output_dim", 1)))


def _recurrent(question: Question, shape: Array | None) -> Array | None:
    if question.literal("return_state", BY_NAME, default=False) is not False:
        return None
    units, rows = question.number("units", 0), question.literal("return_sequences", BY_NAME, False)
    if rows is False:
        return made_of(question, shape, (batch_of(shape), units))
    length = shape.sides[1] if shape is not None and shape.rank == 3 else None
    return made_of(question, shape, (batch_of(shape), length, units)) if rows is True else None


def _bidirectional(question: Question, shape: Array | None) -> Array | None:
    inner = _inner(question)
    found = as_array(question.shaping.applied(inner, shape)) if inner is not None else None
    mode = question.literal("merge_mode", 1, default="concat")
    if found is None or not isinstance(mode, str) or not found.sides:
        return None
    last = found.sides[-1]
    wide = last * 2 if last is not None and mode == "concat" else last
    return found.shaped((*found.sides[:-1], wide))


def _inner(question: Question) -> Value | None:
    return question.shaping.program.only(question.module, question.given("layer", 0))


def _time_distributed(question: Question, shape: Array | None) -> Array | None:
    inner = _inner(question)
    if shape is None or shape.rank < 3 or inner is None:
        return None
    one = shape.shaped((shape.sides[0], *shape.sides[2:]))
    found = as_array(question.shaping.applied(inner, one))
    if found is None or not found.sides:
        return None
    return found.shaped((found.sides[0], shape.sides[1], *found.sides[1:]))


def _reshape(question: Question, shape: Array | None) -> Array | None:
    sides = question.sides("target_shape", 0)
    return made_of(question, shape, (batch_of(shape), *sides)) if sides is not None else None


def _repeat_vector(question: Question, shape: Array | None) -> Array | None:
    last = shape.sides[-1] if shape is not None and shape.sides else None
    return made_of(question, shape, (batch_of(shape), question.number("n", 0), last))


def _permute(question: Question, shape: Array | None) -> Array | None:
    if shape is None:
        return None
    return shape.shaped((shape.sides[0], *(None,) * (shape.rank - 1)))


def _vectorized(question: Question, shape: Array | None) -> Array | None:
    if question.literal("output_mode", BY_NAME, default="int") != "int":
        return None
    if question.literal("ragged", BY_NAME, default=False) is not False:
        return None
    length = question.number("output_sequence_length", BY_NAME)
    return made_of(question, shape, (batch_of(shape), length))


def _looked_up(question: Question, shape: Array | None) -> Array | None:
    return shape if question.literal("output_mode", BY_NAME, default="int") == "int" else None


def _same(question: Question, shape: Array | None) -> Array | None:
    is_plain = not question.is_given("output_shape", BY_NAME)
    return shape.shaped((*shape.sides[:-1], None)) if shape is not None and is_plain else None


_RULES: dict[str, Rule] = {
    "Dense": _dense,
    "Flatten": _flatten,
    "Embedding": _embedding,
    "Bidirectional": _bidirectional,
    "TimeDistributed": _time_distributed,
    "Reshape": _reshape,
    "RepeatVector": _repeat_vector,
    "Permute": _permute,
    "TextVectorization": _vectorized,
    "StringLookup": _looked_up,
    "IntegerLookup": _looked_up,
    "MultiHeadAttention": _same,
}


def _spatial(name: str, question: Question, shape: Array | None) -> Array | None:
    """Return what convolutions and poolings give: the rank is in their name."""
    is_conv = "Conv" in name and "LSTM" not in name
    is_pool = name.startswith(("MaxPool", "AveragePool"))
    number = {"1D": 3, "2D": 4, "3D": 5}.get(name.removesuffix("Transpose")[-2:])
    if number is None or not (is_conv or is_pool):
        return None
    if shape is not None and shape.rank != number:
        return None
    is_plain = question.given("data_format", BY_NAME) is None
    last = shape.sides[-1] if shape is not None and is_pool else None
    if is_conv and not name.startswith("Depthwise"):
        last = question.number("filters", 0)
    middle = _windows(name, question, shape, number - 2)
    return made_of(question, shape, (batch_of(shape), *middle, last if is_plain else None))


def _windows(name: str, question: Question, shape: Array | None, count: int) -> Shape:
    """Return the sides that a window leaves which is moved over the input."""
    is_pool = "Pool" in name
    at = {"size": 0, "strides": 1, "padding": 2} if is_pool else _CONV_AT
    is_other = "Transpose" in name or question.is_given("dilation_rate", BY_NAME)
    size = _repeated(question, "pool_size" if is_pool else "kernel_size", at["size"], count, 2)
    step = _repeated(question, "strides", at["strides"], count, None if is_pool else 1)
    step = size if step is None and is_pool and not question.is_given("strides", 1) else step
    padding = question.literal("padding", at["padding"], default="valid")
    if shape is None or is_other or size is None or step is None:
        return (None,) * count
    sides = zip(shape.sides[1:-1], size, step, strict=True)
    return tuple(_window(side, n, by, padding) for side, n, by in sides)


_CONV_AT = {"size": 1, "strides": 2, "padding": 3}


def _repeated(
    question: Question, name: str, position: int, count: int, default: Side
) -> Shape | None:
    if question.given(name, position) is None:
        return (default,) * count if default is not None else None
    found = question.sides(name, position)
    found = found * count if found is not None and len(found) == 1 else found
    return found if found is not None and len(found) == count else None


def _window(side: Side, size: Side, step: Side, padding: object) -> Side:
    if side is None or not step or size is None or padding not in ("same", "valid"):
        return None
    return -(-side // step) if padding == "same" else max((side - size) // step + 1, 0)


def _joined(name: str, given: Thing | None) -> Thing | None:
    if not isinstance(given, Parts) or not given.items:
        return None
    found = as_array(given.items[0])
    for item in given.items[1:]:
        found = stretched(found, as_array(item))
    if found is None or name != "Concatenate":
        return found
    return found.shaped((found.sides[0], *(None,) * (found.rank - 1))) if found.sides else None


def _dot(given: Thing | None) -> Thing | None:
    """Return the product of two rows; of other shapes it depends on the axes."""
    arrays = given.items if isinstance(given, Parts) and len(given.items) == 2 else ()
    found = [a for a in arrays if isinstance(a, Array) and a.rank == 2]
    return found[0].shaped((found[0].sides[0], 1)) if len(found) == 2 else None


def _lambda(question: Question, given: Thing | None) -> Thing | None:
    only = question.shaping.program.only(question.module, question.given("function", 0))
    return called_with(question.shaping, only, (given,)) if isinstance(only, Routine) else None
