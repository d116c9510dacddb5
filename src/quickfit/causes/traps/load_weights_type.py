"""Weights are loaded from a kind of file that Keras 3 does not read.

What goes wrong: `load_weights` of Keras 3 reads `.weights.h5`, `.keras` and the older `.h5` and
`.hdf5`. The checkpoints of TensorFlow, which have no ending or `.ckpt`, and what
`tf.train.latest_checkpoint` gives, end with `ValueError: File format not supported`.

How it shows: the name surely has none of these endings.

Example:
    model.load_weights("checkpoints/best.ckpt")

Use instead:
    model.load_weights("checkpoints/best.weights.h5")

Fix class: show-only. The file has to be written anew, by `save_weights` of Keras 3; a checkpoint of
TensorFlow is read by `tf.train.Checkpoint(model=model).restore(path)`.

When it is wrong: with Keras 2, which is looked for in the program and the pins of its project.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from quickfit.causes._cause import Cause
from quickfit.causes._shared.keras_objects import is_models
from quickfit.causes._shared.saved_names import ending_of, is_refused_ending
from quickfit.code import Module, Program
from quickfit.code.syntax import argument, is_open
from quickfit.code.values import Made, Value
from quickfit.code.versions import is_version_guarded, uses_legacy_keras
from quickfit.findings import Effect, Spotted, Symptom

_READ = (".weights.h5", ".keras", ".h5", ".hdf5", ".json")
_LATEST = "tensorflow.train.latest_checkpoint"


def scan(module: Module, program: Program) -> Iterator[Spotted]:
    """Report the names of weights that Keras 3 refuses."""
    for call in module.calls("load_weights") if "rbax" not in module.text else ():
        path = argument(call, "filepath", 0)
        if path is None or is_open(call) or not isinstance(call.func, ast.Attribute):
            continue
        values = program.values(module, path)
        if not values or not all(_is_refused(program, value) for value in values):
            continue
        if uses_legacy_keras(program, module) or is_version_guarded(module, call):
            continue
        if is_models(program, module, call.func.value):
            yield Spotted(
                module.span(call),
                f"`load_weights` of Keras 3 does not read {module.code(path)}: it must end in"
                " `.weights.h5`, `.keras` or `.h5`",
                Effect.CRASHES,
            )


def _is_refused(program: Program, value: Value) -> bool:
    if isinstance(value, Made) and value.maker == _LATEST:
        return True
    end = ending_of(program, value)
    return end is not None and is_refused_ending(end, _READ)


CAUSE = Cause(
    title="Weights are in a file that Keras 3 does not read", symptom=Symptom.CRASH, scan=scan
)
