"""Finds methods and attributes that what Keras 3 and TensorFlow 2 make does not have."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from quickfit.findings import Edit
from quickfit.patterns.gone import STILL_THERE
from quickfit.patterns.gone_names import module_edit
from quickfit.patterns.keras_methods import is_models
from quickfit.patterns.optimizers import is_optimizer
from quickfit.program import Module, Program, is_open, name_of
from quickfit.program.arguments import removed, renamed
from quickfit.program.datasets import is_dataset
from quickfit.program.models import BASES
from quickfit.program.values import Instance, Made, Routine, Value

# Methods of models, and what has taken their place.
MODEL_METHODS = {
    "fit_generator": "fit",
    "evaluate_generator": "evaluate",
    "predict_generator": "predict",
    "predict_proba": "predict",
    "predict_classes": "",
    "reset_states": "",
    "to_yaml": "",
}
OPTIMIZER_METHODS = ("minimize", "get_updates", "get_gradients", "get_weights")
# The arguments of the methods for generators, in their order; they are given by name now.
_POSITIONS = {
    "fit_generator": (
        *("", "steps_per_epoch", "epochs", "verbose", "callbacks", "validation_data"),
        *("validation_steps", "validation_freq", "class_weight"),
    ),
    "evaluate_generator": ("", "steps", "callbacks"),
    "predict_generator": ("", "steps", "callbacks"),
}
_LAYER_BASES = {"keras.layers.Layer", "keras.Layer", *BASES}
_DROPPED = {"workers", "use_multiprocessing", "max_queue_size"}
# Names from before Keras 2 of what these methods are given.
_OLDER = {"samples_per_epoch", "nb_val_samples", "val_samples", "nb_worker", "pickle_safe"}


@dataclass(frozen=True)
class GoneMember:
    """A place where something is asked for or given that is gone.

    Args:
        node: the method's call, the attribute or the argument.
        told: what it is, in words.
        edits: what removes it, if text can.
        is_ignored: it is not refused, only of no effect.
    """

    node: ast.AST
    told: str
    edits: tuple[Edit, ...] = ()
    is_ignored: bool = False


def gone_members(program: Program, module: Module) -> Iterator[GoneMember]:
    """Yield methods and attributes that models, metrics, optimizers and datasets have no more."""
    yield from _model_methods(program, module)
    yield from _layer_methods(program, module)
    yield from _metric_methods(program, module)
    yield from _optimizer_members(program, module)
    yield from _rates(program, module)
    yield from _legacy_optimizers(program, module)
    yield from _iterators(program, module)


def _model_methods(program: Program, module: Module) -> Iterator[GoneMember]:
    for call in module.calls(*MODEL_METHODS):
        if isinstance(call.func, ast.Attribute) and is_models(program, module, call.func.value):
            name = call.func.attr
            edits = _as_plain(module, call) if MODEL_METHODS[name] else ()
            yield GoneMember(call, f"`{name}` of models is gone in Keras 3", edits)


def _layer_methods(program: Program, module: Module) -> Iterator[GoneMember]:
    """Yield the metrics that layers, models among them, add to themselves."""
    for call in module.calls("add_metric"):
        owner = call.func.value if isinstance(call.func, ast.Attribute) else None
        values = program.values(module, owner)
        is_own = any(isinstance(v, Routine) for v in program.values(module, call.func))
        if values and not is_own and all(program.ancestors(v) & _LAYER_BASES for v in values):
            yield GoneMember(call, "`add_metric` of layers and models is gone in Keras 3")


def _as_plain(module: Module, call: ast.Call) -> tuple[Edit, ...]:
    """Return the edits that call the method for any data instead of the one for generators."""
    old = name_of(call.func)
    names, given = _POSITIONS.get(old, ()), {k.arg for k in call.keywords}
    rest = call.args[1:]
    if is_open(call) or given & _OLDER or (rest and len(call.args) > len(names)):
        return ()
    edits = [_renamed_method(module, call, MODEL_METHODS[old])]
    for name, value in zip(names[1:], rest, strict=False):
        at = module.begin(value)
        edits.append(Edit(module.path, at, at, f"{name}="))
    for name, new in (("generator", "x"), ("nb_epoch", "epochs")):
        edit = renamed(module, call, name, new)
        edits += [edit] if edit is not None else []
    return (*edits, *removed(module, call, _DROPPED))


def _renamed_method(module: Module, call: ast.Call, name: str) -> Edit:
    return _last_name(module, call.func, name)


def _last_name(module: Module, node: ast.AST, name: str) -> Edit:
    end = module.end(node)
    return Edit(module.path, (end[0], end[1] - len(name_of(node))), end, name)


def _metric_methods(program: Program, module: Module) -> Iterator[GoneMember]:
    for call in module.calls("reset_states"):
        owner = call.func.value if isinstance(call.func, ast.Attribute) else None
        values = program.values(module, owner)
        if owner is None or not values or not all(_is_metric(program, v) for v in values):
            continue
        edits = (_renamed_method(module, call, "reset_state"),)
        yield GoneMember(call, "`reset_states` of metrics is gone in Keras 3", edits)


def _is_metric(program: Program, value: Value) -> bool:
    if isinstance(value, Instance):
        is_derived = any(name.startswith("keras.metrics.") for name in program.ancestors(value))
        return is_derived and not program.resolver.attribute(value.made, "reset_states")
    last = value.maker.rsplit(".", 1)[-1] if isinstance(value, Made) else ""
    is_made = isinstance(value, Made) and value.maker.startswith("keras.metrics.")
    return is_made and last[:1].isupper()


def _optimizer_members(program: Program, module: Module) -> Iterator[GoneMember]:
    for call in module.calls(*OPTIMIZER_METHODS, "variables"):
        owner = call.func.value if isinstance(call.func, ast.Attribute) else None
        if owner is None or not _is_optimizer(program, module, owner):
            continue
        if name_of(call.func) == "variables":
            edits = (module.replace(call, module.code(call.func)),)
            yield GoneMember(call, "`variables` of optimizers is a list in Keras 3", edits)
        else:
            yield GoneMember(call, f"`{name_of(call.func)}` of optimizers is gone in Keras 3")


def _rates(program: Program, module: Module) -> Iterator[GoneMember]:
    """Yield the learning rates that are read or set as Keras 2 had it."""
    if ".lr" not in module.text and "set_value" not in module.text:
        return
    told: list[ast.expr] = []
    for call in module.calls("set_value"):
        rate = call.args[0] if call.args else None
        is_rate = isinstance(rate, ast.Attribute) and rate.attr in ("lr", "learning_rate")
        if not is_rate or program.called(module, call) != "keras.backend.set_value":
            continue
        if isinstance(rate, ast.Attribute) and _is_optimizer(program, module, rate.value):
            told.append(rate)
            what = "`set_value` cannot set the learning rate of an optimizer of Keras 3"
            yield GoneMember(call, what, _as_assignment(module, call, rate))
    for node in module.all(ast.Attribute):
        if node.attr == "lr" and node not in told and _is_optimizer(program, module, node.value):
            is_set = isinstance(node.ctx, ast.Store)
            rest = ": what is given to it changes nothing" if is_set else ""
            what = f"`{module.code(node.value)}` has no `lr` in Keras 3{rest}"
            edits = (_last_name(module, node, "learning_rate"),)
            yield GoneMember(node, what, edits, is_ignored=is_set)


def _as_assignment(module: Module, call: ast.Call, rate: ast.Attribute) -> tuple[Edit, ...]:
    """Return the edits that make `K.set_value(rate, value)` an assignment."""
    is_statement = isinstance(module.parent(call), ast.Expr)
    if not is_statement or len(call.args) != 2 or call.keywords or call.lineno != call.end_lineno:
        return ()
    value, path = call.args[1], module.path
    # Piece by piece, for what the value is may be edited as well.
    return (
        Edit(path, module.begin(call), module.begin(rate), ""),
        _last_name(module, rate, "learning_rate"),
        Edit(path, module.end(rate), module.begin(value), " = "),
        Edit(path, module.end(value), module.end(call), ""),
    )


def _legacy_optimizers(program: Program, module: Module) -> Iterator[GoneMember]:
    """Yield the optimizers of Keras 2, which can be imported but not made."""
    for call in module.calls(*STILL_THERE["keras.optimizers"]) if "legacy" in module.text else ():
        if not program.called(module, call).startswith("keras.optimizers.legacy."):
            continue
        told = f"`legacy.{name_of(call.func)}` cannot be made in Keras 3"
        yield GoneMember(call, told, _without_legacy(program, module, call))


def _without_legacy(program: Program, module: Module, call: ast.Call) -> tuple[Edit, ...]:
    made = call.func
    if isinstance(made, ast.Attribute) and isinstance(made.value, ast.Attribute):
        return (module.replace(made, f"{module.code(made.value.value)}.{made.attr}"),)
    if not isinstance(made, ast.Name):
        return ()
    nodes = [b.node for b in program.files.bindings(module).reaching(made, made.id)]
    node = nodes[0] if len(nodes) == 1 else None
    if not isinstance(node, ast.ImportFrom) or not (node.module or "").endswith(".legacy"):
        return ()
    return module_edit(module, node, (node.module or "").removesuffix(".legacy"))


def _iterators(program: Program, module: Module) -> Iterator[GoneMember]:
    for call in module.calls("make_one_shot_iterator", "make_initializable_iterator"):
        owner = call.func.value if isinstance(call.func, ast.Attribute) else None
        if owner is not None and is_dataset(program, module, owner):
            is_plain = name_of(call.func) == "make_one_shot_iterator"
            edits = (module.replace(call, f"iter({module.code(owner)})"),) if is_plain else ()
            told = f"`{name_of(call.func)}` of datasets is gone in TensorFlow 2"
            yield GoneMember(call, told, edits)


def _is_optimizer(program: Program, module: Module, node: ast.expr) -> bool:
    if isinstance(node, ast.Attribute) and node.attr == "optimizer":
        return is_models(program, module, node.value)
    return is_optimizer(program, module, node)
