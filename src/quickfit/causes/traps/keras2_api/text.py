"""Finds names, members and arguments in a file that its libraries do not have any more."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from quickfit.causes._shared.keras_objects import is_models, is_optimizer
from quickfit.causes.traps.keras2_api.tables import LAST_NAMES, STILL_THERE, Gone, gone
from quickfit.code import Module, Program
from quickfit.code.datasets import is_dataset
from quickfit.code.edits import remove_keywords, rename_keyword
from quickfit.code.imports import imported_names, respell_name, spelled_name, usual_name
from quickfit.code.keras_models import MODEL_BASES
from quickfit.code.syntax import is_open, name_of
from quickfit.code.values import Instance, Made, Routine, Value
from quickfit.findings import Edit

_TF_KERAS = "tensorflow.keras"
_FROM = re.compile(r"from\s+([\w.]+)\s+import\b")


@dataclass(frozen=True)
class GoneName:
    """A place with a name that is gone, and the edits that write it as it is now, if any."""

    node: ast.AST
    gone: Gone
    edits: tuple[Edit, ...]


def gone_names(program: Program, module: Module) -> Iterator[GoneName]:
    """Yield imports and attributes that raise an error where they are run."""
    roots = {name.split(".")[0] for name in imported_names(module)} & {"keras", "tensorflow"}
    # A folder of the program by that name is no library.
    libraries = {root for root in roots if not program.files.path_of(module.path, root)}
    if not libraries:
        return
    for node in module.all(ast.ImportFrom):
        if not node.level and (node.module or "").split(".")[0] in libraries:
            yield from _from(module, node)
    for plain in module.all(ast.Import):
        for alias in plain.names:
            found = gone(usual_name(alias.name)) if alias.name.split(".")[0] in libraries else None
            if found is not None:
                yield GoneName(alias, found, _plain_edit(module, alias, found))
    yield from _attributes(program, module, _bound(module, libraries))


def _bound(module: Module, libraries: set[str]) -> set[str]:
    """Return the names that may stand for something of the libraries."""
    found: set[str] = set()
    for node in module.all(ast.ImportFrom):
        if not node.level and (node.module or "").split(".")[0] in libraries:
            found |= {alias.asname or alias.name for alias in node.names}
    for plain in module.all(ast.Import):
        names = [a for a in plain.names if a.name.split(".")[0] in libraries]
        found |= {alias.asname or alias.name.split(".")[0] for alias in names}
    for given in module.all(ast.Assign):
        target = given.targets[0]
        if isinstance(target, ast.Name) and _root(given.value) in found:
            found.add(target.id)
    return found


def _root(node: ast.expr) -> str:
    """Return the first name of `name.a.b`; empty for anything else."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


# -- imports --------------------------------------------------------------------------------


def _from(module: Module, node: ast.ImportFrom) -> Iterator[GoneName]:
    source = usual_name(node.module or "")
    whole = gone(source)
    if whole is not None:
        yield GoneName(node, whole, _whole_edit(module, node, source, whole))
        return
    for alias in node.names:
        full = f"{source}.{alias.name}"
        found = gone(full)
        if found is not None and found.name == full:
            yield GoneName(alias, found, _alias_edit(module, node, alias, found))


def _whole_edit(module: Module, node: ast.ImportFrom, source: str, whole: Gone) -> tuple[Edit, ...]:
    names = {alias.name for alias in node.names}
    if whole.name == source and _has(whole.instead, names):
        return module_edit(module, node, whole.instead)
    alias = node.names[0]
    inner = gone(f"{source}.{alias.name}")
    is_inner = inner is not None and inner.name == f"{source}.{alias.name}" and len(names) == 1
    return _alias_edit(module, node, alias, inner) if is_inner and inner is not None else ()


def _has(target: str, names: set[str]) -> bool:
    """Tell whether a module has all these names, as far as the tables say."""
    if not target:
        return False
    known = STILL_THERE.get("keras" + target.removeprefix(_TF_KERAS).removeprefix("keras"))
    return known is None or names <= known


def module_edit(module: Module, node: ast.ImportFrom, target: str) -> tuple[Edit, ...]:
    """Return the edit that imports from another module."""
    line, column = module.begin(node)
    written = _FROM.match(module.lines[line - 1], column)
    if written is None:
        return ()
    return (Edit(module.path, (line, written.start(1)), (line, written.end(1)), target),)


def _alias_edit(
    module: Module, node: ast.ImportFrom, alias: ast.alias, found: Gone
) -> tuple[Edit, ...]:
    if not found.instead:
        return ()
    parent, last = found.instead.rsplit(".", 1)
    bound = alias.asname or alias.name
    if found.instead in (f"tensorflow.{found.name}",):
        # All that `keras` has there `tf.keras` has as well.
        return module_edit(module, node, parent)
    if not _has(found.instead, _used(module, bound)) and _is_moved(found):
        return ()
    code = last if last == bound else f"{last} as {bound}"
    edit = module.replace(alias, code)
    if parent == usual_name(node.module or ""):
        return (edit,)
    return (*module_edit(module, node, parent), edit) if len(node.names) == 1 else ()


def _is_moved(found: Gone) -> bool:
    """Tell whether a module is gone, and not a function or class."""
    return found.instead.rsplit(".", 1)[1].islower() and found.instead.count(".") <= 2


def _used(module: Module, name: str) -> set[str]:
    """Return the attributes of a name that a file asks for."""
    return {
        n.attr
        for n in module.all(ast.Attribute)
        if isinstance(n.value, ast.Name) and n.value.id == name
    }


def _plain_edit(module: Module, alias: ast.alias, found: Gone) -> tuple[Edit, ...]:
    is_whole = found.name == usual_name(alias.name) and alias.asname is not None
    if not is_whole or not _has(found.instead, _used(module, alias.asname or "")):
        return ()
    return (module.replace(alias, f"{found.instead} as {alias.asname}"),)


# -- attributes -----------------------------------------------------------------------------


def _attributes(program: Program, module: Module, roots: set[str]) -> Iterator[GoneName]:
    for node in module.all(ast.Attribute) if roots else ():
        if node.attr not in LAST_NAMES or not isinstance(node.ctx, ast.Load):
            continue
        if _root(node) not in roots:
            continue
        full = spelled_name(program, module, node)
        found = gone(full) if full else None
        if found is None or found.name != full or _is_told(program, module, node, full):
            continue
        yield GoneName(node, found, _attribute_edit(program, module, node, found))


def _is_told(program: Program, module: Module, node: ast.Attribute, full: str) -> bool:
    """Tell whether a name is told of elsewhere: by its import, or as a part of a longer one."""
    above = module.parent(node)
    if isinstance(above, ast.Attribute):
        longer = f"{full}.{above.attr}"
        found = gone(longer)
        if found is not None and found.name == longer:
            return True
    part: ast.expr = node
    while isinstance(part, ast.Attribute):
        part = part.value
    return gone(spelled_name(program, module, part)) is not None


def _attribute_edit(
    program: Program, module: Module, node: ast.Attribute, found: Gone
) -> tuple[Edit, ...]:
    if not found.instead:
        return ()
    above = module.parent(node)
    if isinstance(above, ast.Attribute) and not _has(found.instead, {above.attr}):
        return ()
    code = respell_name(program, module, node, found.instead)
    if code:
        return (module.replace(node, code),)
    if found.instead == f"tensorflow.{found.name}":
        return _import_edit(program, module, node)
    return ()


def _import_edit(program: Program, module: Module, node: ast.Attribute) -> tuple[Edit, ...]:
    """Return the edit that imports from `tf.keras` what an attribute is taken of."""
    if not isinstance(node.value, ast.Name):
        return ()
    bindings = program.files.bindings(module).reaching(node.value, node.value.id)
    nodes = [b.node for b in bindings]
    if len(nodes) != 1 or not isinstance(nodes[0], ast.Import | ast.ImportFrom):
        return ()
    statement = nodes[0]
    if len(statement.names) != 1:
        return ()
    if isinstance(statement, ast.ImportFrom):
        return module_edit(module, statement, f"tensorflow.{statement.module}")
    alias = statement.names[0]
    code = f"tensorflow.{alias.name} as {alias.asname}"
    return (module.replace(alias, code),) if alias.asname else ()


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
_LAYER_BASES = {"keras.layers.Layer", "keras.Layer", *MODEL_BASES}
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
        edit = rename_keyword(module, call, name, new)
        edits += [edit] if edit is not None else []
    return (*edits, *remove_keywords(module, call, _DROPPED))


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


_LAYERS = "keras.layers."
# Arguments of layers that no layer takes any more, but for those named behind them.
LAYER_ARGUMENTS = {
    "batch_input_shape": ("InputLayer", "Input"),
    "weights": ("Embedding", "Bidirectional"),
    "init": (),
    "border_mode": (),
    "subsample": (),
    "dim_ordering": (),
    "W_regularizer": (),
    "b_regularizer": (),
    "W_constraint": (),
    "inner_activation": (),
    "nb_filter": (),
    "time_major": (),
}
CALL_ARGUMENTS = {
    "keras.callbacks.ModelCheckpoint": ("period", "load_weights_on_restart", "options"),
    "keras.callbacks.TensorBoard": (
        *("write_grads", "batch_size", "embeddings_layer_names", "embeddings_data"),
    ),
    "keras.layers.BatchNormalization": ("fused", "virtual_batch_size", "mode"),
}
# Those without which the same is computed.
IDLE = {"options", "write_grads", "batch_size", "embeddings_layer_names", "fused"}
COMPILE_ARGUMENTS = {
    "sample_weight_mode": "",
    "target_tensors": "",
    "experimental_run_tf_function": "",
    "experimental_steps_per_execution": "steps_per_execution",
}
_ALL = {*LAYER_ARGUMENTS, "lr", "decay", *(n for many in CALL_ARGUMENTS.values() for n in many)}


def gone_arguments(program: Program, module: Module) -> Iterator[GoneMember]:
    """Yield what is given in vain, or ends the program."""
    yield from _made_with(program, module)
    yield from _model_arguments(program, module)


def _made_with(program: Program, module: Module) -> Iterator[GoneMember]:
    """Yield arguments of layers, callbacks and optimizers that are refused."""
    is_near = "keras" in module.text or "tensorflow" in module.text
    for keyword in module.all(ast.keyword) if is_near else ():
        call = module.parent(keyword)
        if keyword.arg not in _ALL or not isinstance(call, ast.Call):
            continue
        maker = program.called(module, call)
        if maker.startswith("keras."):
            yield from _refused(program, module, call, keyword, maker)


def _refused(
    program: Program, module: Module, call: ast.Call, keyword: ast.keyword, maker: str
) -> Iterator[GoneMember]:
    name, last = keyword.arg or "", maker.rsplit(".", 1)[1]
    if is_optimizer(program, module, call) and name == "lr":
        edit = rename_keyword(module, call, "lr", "learning_rate")
        edits = (edit,) if edit is not None and not _gives(call, "learning_rate") else ()
        yield GoneMember(keyword, f"`{last}` of Keras 3 does not take `lr`", edits)
    elif is_optimizer(program, module, call) and name == "decay":
        if program.literal(module, keyword.value) not in (None, 0, 0.0):
            told = f"`{last}` of Keras 3 ignores `decay`: the learning rate stays as it is"
            yield GoneMember(keyword, told, is_ignored=True)
    elif name in CALL_ARGUMENTS.get(maker, ()):
        # All at once: one edit for neighbours, whichever of them it is made for.
        gone = remove_keywords(module, call, IDLE) if name in IDLE else ()
        yield GoneMember(keyword, f"`{last}` of Keras 3 does not take `{name}`", gone)
    elif maker.startswith(_LAYERS) and last not in LAYER_ARGUMENTS.get(name, (last,)):
        yield GoneMember(keyword, f"`{last}` of Keras 3 does not take `{name}`")


def _gives(call: ast.Call, name: str) -> bool:
    return bool(call.args) or any(k.arg == name for k in call.keywords)


def _model_arguments(program: Program, module: Module) -> Iterator[GoneMember]:
    for call in module.calls("compile", "fit"):
        table = COMPILE_ARGUMENTS if name_of(call.func) == "compile" else {"nb_epoch": "epochs"}
        given = [k for k in call.keywords if k.arg in table]
        owner = call.func.value if isinstance(call.func, ast.Attribute) else None
        if not given or owner is None or not is_models(program, module, owner):
            continue
        for keyword in given:
            name = keyword.arg or ""
            edit = rename_keyword(module, call, name, table[name]) if table[name] else None
            told = f"`{name_of(call.func)}` of Keras 3 does not take `{name}`"
            yield GoneMember(keyword, told, (edit,) if edit is not None else ())
