"""A model of Keras 3 is given to a toolkit that knows models of Keras 2 only.

What goes wrong: `tensorflow_model_optimization` prunes, clusters and quantizes models of Keras 2.
With TensorFlow 2.16 and later it takes them from the package `tf_keras`; a model made with `keras`
or `tf.keras` is one of Keras 3 and is refused with a ValueError, although its type has the name
that the message asks for (`You passed an object of type: Sequential`).

How it shows: a function of the toolkit is called with a model or layer of Keras 3, Keras is
imported by its own name or before the toolkit, and nothing in the program asks for Keras 2. (The
toolkit asks for it when it is imported; a `tf.keras` first used behind that is Keras 2.)

Example:
    import keras
    import tensorflow_model_optimization as tfmot
    model = keras.Sequential([keras.layers.Dense(1)])
    model = tfmot.sparsity.keras.prune_low_magnitude(model)

Use instead:
    import tensorflow_model_optimization as tfmot
    import tf_keras
    model = tf_keras.Sequential([tf_keras.layers.Dense(1)])
    model = tfmot.sparsity.keras.prune_low_magnitude(model)

Fix class: none; the whole program has to choose Keras 2, by `tf_keras` or by TF_USE_LEGACY_KERAS=1
before TensorFlow is imported. Quantization alone is also in Keras 3: `model.quantize("int8")`.

When it is wrong: where TF_USE_LEGACY_KERAS is set outside of the program. Set it in the program as
well, before the first import, and nothing is reported.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from quickfit.causes._cause import Cause
from quickfit.code import Module, Program
from quickfit.code.imports import files_run_together
from quickfit.code.keras_models import is_model_value
from quickfit.code.syntax import name_of
from quickfit.code.values import Instance, Made, Parameter, Value
from quickfit.code.versions import is_version_guarded, uses_legacy_keras
from quickfit.errors import SourceError
from quickfit.findings import Effect, Spotted, Symptom

TOOLKIT = "tensorflow_model_optimization"
FUNCTIONS = (
    *("prune_low_magnitude", "quantize_model", "quantize_annotate_model"),
    *("quantize_annotate_layer", "cluster_weights"),
)
_TOOLKIT_IMPORT = re.compile(rf"^[ \t]*(?:import|from)[ \t]+{TOOLKIT}\b", re.MULTILINE)
_KERAS_IMPORT = re.compile(r"^[ \t]*(?:import[ \t]+keras\b|from[ \t]+keras\b)", re.MULTILINE)
_EARLY_IMPORT = re.compile(
    r"^[ \t]*(?:from[ \t]+tensorflow[ \t]+import[^\n]*\bkeras\b"
    r"|(?:from|import)[ \t]+tensorflow\.keras\b)",
    re.MULTILINE,
)


def scan(module: Module, program: Program) -> Iterator[Spotted]:
    """Report the calls that hand a model of Keras 3 to the toolkit."""
    if TOOLKIT not in module.text:
        return
    for call in module.calls(*FUNCTIONS, *_other_names(module)):
        name = program.called(module, call)
        if not name.startswith(f"{TOOLKIT}.") or not call.args:
            continue
        if is_version_guarded(module, call) or not _is_of_keras3(program, module, call.args[0]):
            continue
        if uses_legacy_keras(program, module) or not _is_imported_first(program, module):
            continue
        code = module.code(call.args[0])
        shown = f"`{code}`" if "\n" not in code and len(code) < 40 else "what it is given"
        yield Spotted(
            where=module.span(call),
            summary=f"`{name.rsplit('.', 1)[1]}` takes models of Keras 2; {shown} is of Keras 3",
            effect=Effect.CRASHES,
        )


def _is_imported_first(program: Program, module: Module) -> bool:
    """Tell whether Keras 3 is there before the toolkit is imported, which asks for Keras 2 itself.

    `tf.keras` is looked up when it is used: behind the toolkit's import that is Keras 2.
    """
    for path in files_run_together(program, module.path):
        try:
            text = program.files.text(path)
        except SourceError:
            continue
        toolkit = _TOOLKIT_IMPORT.search(text)
        end = toolkit.start() if toolkit is not None else len(text)
        if _KERAS_IMPORT.search(text) or _EARLY_IMPORT.search(text, 0, end):
            return True
    return False


def _other_names(module: Module) -> set[str]:
    """Return what a file calls the functions of the toolkit beside their own names."""
    aliases = [a for node in module.all(ast.ImportFrom) for a in node.names if a.asname]
    found = {a.asname or "" for a in aliases if a.name in FUNCTIONS}
    for node in module.all(ast.Assign):
        target = node.targets[0]
        if name_of(node.value) in FUNCTIONS and isinstance(target, ast.Name):
            found.add(target.id)
    return found - set(FUNCTIONS)


def _is_of_keras3(program: Program, module: Module, node: ast.expr) -> bool:
    values = program.values(module, node)
    known = [v for v in values if not isinstance(v, Parameter)]
    if not known:
        return bool(values) and _has_keras3(program, module)
    return all(_is_made(program, value) for value in known)


def _is_made(program: Program, value: Value) -> bool:
    if isinstance(value, Instance):
        return any(name.startswith("keras.") for name in program.ancestors(value))
    is_layer = isinstance(value, Made) and value.maker.startswith("keras.layers.")
    return is_layer or is_model_value(program, value)


def _has_keras3(program: Program, module: Module) -> bool:
    """Tell whether the file itself makes models or layers of Keras, which is Keras 3 then."""
    makers = module.calls("Sequential", "Model", "Dense", "Conv2D", "clone_model", "load_model")
    return any(program.called(module, call).startswith("keras.") for call in makers)


CAUSE = Cause(
    title="A toolkit for Keras 2 is given a model of Keras 3", symptom=Symptom.CRASH, scan=scan
)
