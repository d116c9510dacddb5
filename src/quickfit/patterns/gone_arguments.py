"""Finds arguments that layers, callbacks, optimizers and models of Keras 3 refuse or ignore."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from quickfit.patterns.gone_members import GoneMember
from quickfit.patterns.keras_methods import is_models
from quickfit.patterns.optimizers import is_optimizer
from quickfit.program import Module, Program, name_of
from quickfit.program.arguments import removed, renamed

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
        edit = renamed(module, call, "lr", "learning_rate")
        edits = (edit,) if edit is not None and not _gives(call, "learning_rate") else ()
        yield GoneMember(keyword, f"`{last}` of Keras 3 does not take `lr`", edits)
    elif is_optimizer(program, module, call) and name == "decay":
        if program.literal(module, keyword.value) not in (None, 0, 0.0):
            told = f"`{last}` of Keras 3 ignores `decay`: the learning rate stays as it is"
            yield GoneMember(keyword, told, is_ignored=True)
    elif name in CALL_ARGUMENTS.get(maker, ()):
        # All at once: one edit for neighbours, whichever of them it is made for.
        gone = removed(module, call, IDLE) if name in IDLE else ()
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
            edit = renamed(module, call, name, table[name]) if table[name] else None
            told = f"`{name_of(call.func)}` of Keras 3 does not take `{name}`"
            yield GoneMember(keyword, told, (edit,) if edit is not None else ())
