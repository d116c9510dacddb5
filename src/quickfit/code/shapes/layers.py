"""The layers of a model, and the shape that each gives for the shape of its input."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from quickfit.code.conditions import Reach
from quickfit.code.datasets import conditions_to_reach, given_for
from quickfit.code.keras_models import MODEL_BASES, is_model_value
from quickfit.code.module import Module
from quickfit.code.program import Program
from quickfit.code.shapes.calls import BY_NAME, Question, called_with
from quickfit.code.shapes.shape import (
    Array,
    Parts,
    Shape,
    Side,
    Thing,
    as_array,
    broadcast_shape,
    merge_shapes,
)
from quickfit.code.syntax import argument, is_open
from quickfit.code.values import Group, Instance, Made, Routine, Value

if TYPE_CHECKING:
    from quickfit.code.shapes.shaping import Shaping

SEQUENTIAL = "keras.Sequential"
_LIST_CHANGES = ("append", "extend", "insert", "pop", "remove", "reverse", "clear")


@dataclass(frozen=True)
class Layer:
    """One layer of a model.

    Args:
        node: the expression that names it.
        module: where that stands.
        value: what it is; None where that is open.
        is_sure: it is added exactly once, not in a loop or only sometimes.
    """

    node: ast.expr
    module: Module
    value: Value | None
    is_sure: bool = True


def layers_of(program: Program, made: Made) -> list[Layer] | None:
    """Return the layers of a Sequential model, the first one first; None where that is open."""
    if made.maker != SEQUENTIAL or is_open(made.call):
        return None
    first = _listed(program, made)
    later = _added(program, made)
    return [*first, *later] if first is not None and later is not None else None


def last_dense(found: list[Layer]) -> Layer | None:
    """Return the last layer, if it is a `Dense`."""
    last = found[-1] if found else None
    value = last.value if last is not None else None
    is_dense = isinstance(value, Made) and value.maker == "keras.layers.Dense"
    return last if is_dense else None


def _listed(program: Program, made: Made) -> list[Layer] | None:
    given = argument(made.call, "layers", 0)
    if given is None:
        return []
    only = program.only(made.module, given, made.frame)
    if not isinstance(only, Group) or not isinstance(only.node, ast.List | ast.Tuple):
        return None
    if isinstance(given, ast.Name) and _is_changed(made.module, given.id):
        return None
    found: list[Layer] = []
    for node in only.node.elts:
        if isinstance(node, ast.Starred):
            return None
        value = program.only(only.module, node, made.frame)
        found += _flat(program, Layer(node, only.module, value))
    return found


def _is_changed(module: Module, name: str) -> bool:
    """Tell whether a list that has a name is changed anywhere."""
    calls = [c.func for c in module.calls(*_LIST_CHANGES)]
    owners = [f.value for f in calls if isinstance(f, ast.Attribute)]
    targets = [node.target for node in module.all(ast.AugAssign)]
    return any(isinstance(n, ast.Name) and n.id == name for n in (*owners, *targets))


def _flat(program: Program, layer: Layer) -> list[Layer]:
    """Return a layer; of a Sequential model inside another, its own layers."""
    value = layer.value
    if not isinstance(value, Made) or value.maker != SEQUENTIAL:
        return [layer]
    return layers_of(program, value) or [Layer(layer.node, layer.module, None)]


def _added(program: Program, made: Made) -> list[Layer] | None:
    """Return what `add` gives a model, in the order of the text."""
    found: list[Layer] = []
    home = made.module.function(made.call)
    for call in made.module.calls("add", "pop"):
        func = call.func
        if not isinstance(func, ast.Attribute) or not isinstance(func.value, ast.Name):
            continue
        owners = program.values(made.module, func.value, made.frame)
        if made not in owners:
            continue
        if func.attr == "pop" or len(owners) > 1 or made.module.function(call) is not home:
            return None
        if len(call.args) != 1:
            return None
        node, holds = call.args[0], _holds(program, made, call)
        if holds is False:
            continue
        is_sure = bool(holds) and not _is_sometimes(made.module, call, made.call)
        layer = Layer(node, made.module, program.only(made.module, node, made.frame), is_sure)
        found += _flat(program, layer)
    return found


def _holds(program: Program, made: Made, call: ast.Call) -> bool | None:
    """Tell whether the conditions around a call hold where the model is made; None: perhaps."""
    reach = Reach(program.resolver, made.module, made.frame)
    around, own = (conditions_to_reach(made.module, node) for node in (call, made.call))
    tests = {test: wanted for test, wanted in around.items() if test not in own}
    answers = [(reach.holds(test), wanted) for test, wanted in tests.items()]
    if any(answer is (not wanted) for answer, wanted in answers):
        return False
    return None if any(answer is None for answer, _ in answers) else True


def _is_sometimes(module: Module, call: ast.Call, made: ast.Call) -> bool:
    """Tell whether a call runs more or less often than the one that makes the model."""
    kinds = (ast.For, ast.While, ast.Try, ast.AsyncFor)
    above = module.around(call, *kinds)
    return above is not None and not module.is_in(made, above)


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


def shape_after_layer(question: Question, maker: str, given: Thing | None) -> Thing | None:
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


def shape_with_sides(question: Question, shape: Array | None, sides: Shape) -> Array | None:
    return shape.shaped(sides) if shape is not None else question.fresh(sides)


def _dense(question: Question, shape: Array | None) -> Array | None:
    if shape is None or shape.rank < 2:
        return None
    return shape.shaped((*shape.sides[:-1], question.number("units", 0)))


def _flatten(question: Question, shape: Array | None) -> Array | None:
    rest = shape.sides[1:] if shape is not None else (None,)
    numbers = [side for side in rest if side is not None]
    size = math.prod(numbers) if len(numbers) == len(rest) else None
    return shape_with_sides(question, shape, (batch_of(shape), size))


def _pooled(question: Question, shape: Array | None) -> Array | None:
    if question.is_given("keepdims", 1) and question.literal("keepdims", 1) is not False:
        return None
    is_plain = question.given("data_format", 0) is None
    last = shape.sides[-1] if shape is not None and shape.sides and is_plain else None
    return shape_with_sides(question, shape, (batch_of(shape), last))


def _embedding(question: Question, shape: Array | None) -> Array | None:
    if shape is None:
        return None
    return shape.shaped((*shape.sides, question.number("output_dim", 1)))


def _recurrent(question: Question, shape: Array | None) -> Array | None:
    if question.literal("return_state", BY_NAME, default=False) is not False:
        return None
    units, rows = question.number("units", 0), question.literal("return_sequences", BY_NAME, False)
    if rows is False:
        return shape_with_sides(question, shape, (batch_of(shape), units))
    length = shape.sides[1] if shape is not None and shape.rank == 3 else None
    return (
        shape_with_sides(question, shape, (batch_of(shape), length, units))
        if rows is True
        else None
    )


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
    return (
        shape_with_sides(question, shape, (batch_of(shape), *sides)) if sides is not None else None
    )


def _repeat_vector(question: Question, shape: Array | None) -> Array | None:
    last = shape.sides[-1] if shape is not None and shape.sides else None
    return shape_with_sides(question, shape, (batch_of(shape), question.number("n", 0), last))


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
    return shape_with_sides(question, shape, (batch_of(shape), length))


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
    return shape_with_sides(question, shape, (batch_of(shape), *middle, last if is_plain else None))


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
        found = broadcast_shape(found, as_array(item))
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


_LAYERS = "keras.layers."


def is_layer(program: Program, value: Value) -> bool:
    """Tell whether something is a layer or a model, which one calls with data."""
    if isinstance(value, Instance):
        return bool(program.ancestors(value) & {*MODEL_BASES, "keras.layers.Layer", "keras.Layer"})
    is_made = isinstance(value, Made) and value.maker.startswith(_LAYERS)
    return is_made or is_model_value(program, value)


def shape_after_model(shaping: Shaping, value: Value, given: Thing | None) -> Thing | None:
    """Return what a layer or model gives for data of a shape; None for an unknown one."""
    if isinstance(value, Made) and value.maker.startswith(_LAYERS):
        return shape_after_layer(Question(shaping, value.module, value.call), value.maker, given)
    found = _model(shaping, value, given)
    is_model = is_model_value(shaping.program, value)
    return replace(found, is_predicted=True) if isinstance(found, Array) and is_model else found


def _model(shaping: Shaping, value: Value, given: Thing | None) -> Thing | None:
    if isinstance(value, Instance):
        found = shaping.program.resolver.attribute(value.made, "call")
        is_method = len(found) == 1 and isinstance(found[0], Routine)
        routine = found[0] if is_method else None
        return called_with(shaping, routine, (given,)) if isinstance(routine, Routine) else None
    if not isinstance(value, Made):
        return None
    question = Question(shaping, value.module, value.call)
    if value.maker == SEQUENTIAL:
        return _sequential(shaping, value, given if isinstance(given, Array) else None)
    if value.maker in ("keras.Model", "keras.Functional"):
        return shaping.of(value.module, argument(value.call, "outputs", 1))
    if value.maker.startswith("keras.applications."):
        return _application(question, given if isinstance(given, Array) else None)
    return None


def _sequential(shaping: Shaping, made: Made, given: Array | None) -> Array | None:
    found = layers_of(shaping.program, made)
    if not found:
        return None
    shape = _input(shaping, found[0]) or given
    for number, layer in enumerate(found):
        if number == 0 and _is_input(layer):
            continue
        value = layer.value
        new = as_array(shape_after_model(shaping, value, shape)) if value is not None else None
        if not layer.is_sure:
            new = _sometimes(shape, new)
        shape = new
    return shape


def _is_input(layer: Layer) -> bool:
    value = layer.value
    return isinstance(value, Made) and value.maker in ("keras.Input", "keras.layers.InputLayer")


def _input(shaping: Shaping, first: Layer) -> Array | None:
    """Return the input that the first layer of a model names."""
    value = first.value
    if not isinstance(value, Made):
        return None
    question = Question(shaping, value.module, value.call)
    if _is_input(first):
        name = "shape" if question.given("shape", 0) is not None else "input_shape"
        sides = _sides(question, value, question.given(name, 0))
        return question.fresh((None, *sides)) if sides is not None else None
    sides = _sides(question, value, question.given("input_shape", BY_NAME))
    if sides is not None:
        return question.fresh((None, *sides))
    number = question.number("input_dim", BY_NAME)
    is_dense = value.maker == "keras.layers.Dense"
    return question.fresh((None, number)) if number is not None and is_dense else None


def _sides(question: Question, value: Made, node: ast.expr | None) -> Shape | None:
    """Return the shape that an expression names, as it is given where the model is made."""
    if node is None:
        return None
    program = question.shaping.program
    written = list(given_for(program, value.module, node, value.frame))
    found = (replace(question, module=m).shape(each) for m, each in reversed(written))
    return next((sides for sides in found if sides is not None), None)


def _sometimes(before: Array | None, after_it: Array | None) -> Array | None:
    """Return what a layer gives that is there none, once or several times."""
    found = merge_shapes((before, after_it))
    if not isinstance(found, Array):
        return None
    return found


def _application(question: Question, shape: Array | None) -> Array | None:
    top = question.literal("include_top", 0, default=True)
    pooling = question.literal("pooling", BY_NAME, default="")
    if top is True:
        classes = question.literal("classes", BY_NAME, default=1000)
        number = classes if type(classes) is int else None
        return shape_with_sides(question, shape, (batch_of(shape), number))
    if top is not False:
        return None
    if pooling in ("avg", "max"):
        return shape_with_sides(question, shape, (batch_of(shape), None))
    given = question.given("pooling", BY_NAME)
    is_none = given is None or (
        pooling is None and isinstance(getattr(given, "value", 0), type(None))
    )
    sides: Shape = (batch_of(shape), None, None, None)
    return shape_with_sides(question, shape, sides) if is_none else None
