"""The shape that a layer or a model gives for the shape of its input."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import TYPE_CHECKING

from quickfit.program import Program, argument
from quickfit.program.models import BASES, is_model_value
from quickfit.program.situations import given_for
from quickfit.program.values import Instance, Made, Routine, Value
from quickfit.shapes.layer_rules import after, batch_of, made_of
from quickfit.shapes.layers import SEQUENTIAL, Layer, layers
from quickfit.shapes.questions import BY_NAME, Question
from quickfit.shapes.running import called_with
from quickfit.shapes.shapes import Array, Shape, Thing, as_array, merged

if TYPE_CHECKING:
    from quickfit.shapes.shaping import Shaping

_LAYERS = "keras.layers."


def is_layer(program: Program, value: Value) -> bool:
    """Tell whether something is a layer or a model, which one calls with data."""
    if isinstance(value, Instance):
        return bool(program.ancestors(value) & {*BASES, "keras.layers.Layer", "keras.Layer"})
    is_made = isinstance(value, Made) and value.maker.startswith(_LAYERS)
    return is_made or is_model_value(program, value)


def applied(shaping: Shaping, value: Value, given: Thing | None) -> Thing | None:
    """Return what a layer or model gives for data of a shape; None for an unknown one."""
    if isinstance(value, Made) and value.maker.startswith(_LAYERS):
        return after(Question(shaping, value.module, value.call), value.maker, given)
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
    found = layers(shaping.program, made)
    if not found:
        return None
    shape = _input(shaping, found[0]) or given
    for number, layer in enumerate(found):
        if number == 0 and _is_input(layer):
            continue
        value = layer.value
        new = as_array(applied(shaping, value, shape)) if value is not None else None
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
    found = merged((before, after_it))
    if not isinstance(found, Array):
        return None
    return found


def _application(question: Question, shape: Array | None) -> Array | None:
    top = question.literal("include_top", 0, default=True)
    pooling = question.literal("pooling", BY_NAME, default="")
    if top is True:
        classes = question.literal("classes", BY_NAME, default=1000)
        number = classes if type(classes) is int else None
        return made_of(question, shape, (batch_of(shape), number))
    if top is not False:
        return None
    if pooling in ("avg", "max"):
        return made_of(question, shape, (batch_of(shape), None))
    given = question.given("pooling", BY_NAME)
    is_none = given is None or (
        pooling is None and isinstance(getattr(given, "value", 0), type(None))
    )
    sides: Shape = (batch_of(shape), None, None, None)
    return made_of(question, shape, sides) if is_none else None
