"""A train step written by hand calls its model without `training=True`.

What goes wrong: `fit` tells the layers that they train; a loop with a `GradientTape` has to say so
itself. Without `training=True` Dropout drops nothing, and BatchNormalization uses the mean and
variance that it began with and never updates them. There is no error: the model trains without
regularisation, or on numbers that are not normalised.

How it shows: the model whose variables get the gradients has such layers, and its call in the
block of the tape does not say `training`.

Example:
    with tf.GradientTape() as tape:
        loss = loss_fn(y, model(x))

Use instead:
    with tf.GradientTape() as tape:
        loss = loss_fn(y, model(x, training=True))

Fix class: repairs. The layers do what they are there for.

When it is wrong: where the layers are meant to rest, `training=False` says so. Models whose layers
the text does not show are left alone.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from quickfit.causes._cause import Cause
from quickfit.causes._shared.mixed_precision import steps
from quickfit.code import Module, Program
from quickfit.code.keras_models import MODEL_BASES
from quickfit.code.syntax import argument
from quickfit.code.values import Instance, Made, Value
from quickfit.code.versions import backend
from quickfit.findings import Change, Edit, Effect, FixClass, Spotted, Symptom

_LAYERS = (
    *("Dropout", "SpatialDropout1D", "SpatialDropout2D", "SpatialDropout3D", "AlphaDropout"),
    *("GaussianDropout", "GaussianNoise", "BatchNormalization"),
)
_VARIABLES = ("trainable_variables", "trainable_weights")


def scan(module: Module, program: Program) -> Iterator[Spotted]:
    """Report the calls of models in train steps that do not say that they train."""
    if "GradientTape" not in module.text or backend(program, module) != "tensorflow":
        return
    told: set[ast.Call] = set()
    for step in steps(program, module):
        trained = _trained(program, module, step.gradient)
        calls = [n for s in step.tape.body for n in ast.walk(s)] if step.tape is not None else []
        for call in calls:
            if not isinstance(call, ast.Call) or call in told or len(call.args) != 1:
                continue
            if any(k.arg in ("training", None) for k in call.keywords):
                continue
            values = program.values(module, call.func)
            layers = [_layer(program, value) for value in values if value in trained]
            if values and len(layers) == len(values) and all(layers):
                told.add(call)
                yield _spotted(module, call, layers[0] or ("", None, None))


_Layer = tuple[str, Module | None, ast.Call | None]


def _trained(program: Program, module: Module, gradient: ast.Call) -> set[Value]:
    """Return the models whose variables gradients are taken for."""
    sources = argument(gradient, "sources", 1)
    nodes = [n for n in ast.walk(sources) if isinstance(n, ast.Attribute)] if sources else []
    named = [n.value for n in nodes if n.attr in _VARIABLES]
    if isinstance(sources, ast.Name):
        for value in program.values(module, sources):
            of = getattr(value, "of", None)
            if of is not None and getattr(value, "name", "") in _VARIABLES:
                return {of}
    return {value for node in named for value in program.values(module, node)}


def _layer(program: Program, model: Value) -> _Layer | None:
    """Return a layer of a model that works otherwise in training; None where none is seen."""
    if isinstance(model, Instance):
        if not program.ancestors(model) & MODEL_BASES:
            return None
        return _first(program, model.made.module, model.made.node)
    if not isinstance(model, Made) or model.maker not in MODEL_BASES:
        return None
    where = model.module.function(model.call)
    if model.maker == "keras.Sequential":
        found = _first(program, model.module, model.call)
        adds = [
            call
            for call in model.module.calls("add")
            if isinstance(call.func, ast.Attribute)
            and program.values(model.module, call.func.value) == (model,)
        ]
        return found or next(filter(None, (_first(program, model.module, c) for c in adds)), None)
    # Of a model of calls, what stands in the function that builds it.
    return _first(program, model.module, where) if where is not None else None


def _first(program: Program, module: Module, within: ast.AST) -> _Layer | None:
    for call in (n for n in ast.walk(within) if isinstance(n, ast.Call)):
        name = program.called(module, call).removeprefix("keras.layers.")
        if name in _LAYERS:
            return name, module, call
    return None


def _spotted(module: Module, call: ast.Call, layer: _Layer) -> Spotted:
    name, there, made = layer
    effect = (
        "normalises with numbers it began with" if name == "BatchNormalization" else "does nothing"
    )
    at = module.end(call.args[0])
    line, column = at
    is_plain = module.lines[line - 1][column : column + 1] in (")", ",")
    change = None
    if is_plain and not call.keywords:
        edit = Edit(module.path, at, at, ", training=True")
        change = Change("Say that the model trains", FixClass.REPAIRS, (edit,))
    return Spotted(
        module.span(call),
        f"this train step does not say `training=True`: `{name}` {effect}",
        Effect.WRONG,
        related=((there.span(made), "the layer"),)
        if there is not None and made is not None
        else (),
        change=change,
    )


CAUSE = Cause(title="A train step does not say that it trains", symptom=Symptom.WRONG, scan=scan)
