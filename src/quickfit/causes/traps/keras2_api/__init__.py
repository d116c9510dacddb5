"""The program uses what Keras 3 or TensorFlow 2 does not have any more.

What goes wrong: TensorFlow 2.16 and later bring Keras 3, which left out much of Keras 2: modules
(`keras.utils.np_utils`), functions (most of `keras.backend`), methods (`model.fit_generator`) and
arguments (`Adam(lr=…)`). Most end the program with an error at the line that uses them. A few are
worse: `optimizer.lr = …` and `Adam(decay=…)` are taken without a word of error and do nothing. A
model is saved only under a name that ends in `.keras` or `.h5`, weights only in `.weights.h5`.

How it shows: a name that the library of today does not have, a method or an argument that its
objects do not have, or the name of a file that it refuses.

Example:
    from keras.utils import np_utils
    labels = np_utils.to_categorical(labels)
    model.compile(keras.optimizers.Adam(lr=1e-3), "categorical_crossentropy")
    model.fit_generator(batches, epochs=3)

Use instead:
    from keras import utils
    labels = utils.to_categorical(labels)
    model.compile(keras.optimizers.Adam(learning_rate=1e-3), "categorical_crossentropy")
    model.fit(batches, epochs=3)

Fix class: repairs, where the same thing has another name now. Everything else is for a person.

When it is wrong: where the program is meant for Keras 2. With `tf_keras` or TF_USE_LEGACY_KERAS in
the program, behind a question for the version, or with another way at hand (`except ImportError`),
nothing is reported.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from quickfit.causes._cause import Cause
from quickfit.causes.traps.keras2_api.file_names import refused_names
from quickfit.causes.traps.keras2_api.tables import Gone
from quickfit.causes.traps.keras2_api.text import gone_arguments, gone_members, gone_names
from quickfit.code import Module, Program
from quickfit.code.syntax import name_of
from quickfit.code.versions import is_version_guarded, keras2_pin, uses_legacy_keras
from quickfit.findings import Change, Edit, Effect, FixClass, Spotted, Symptom

# What graphs and sessions were made with: two of these, and the file is of that time.
_OF_TENSORFLOW1 = frozenset(
    (
        *("Session", "InteractiveSession", "placeholder", "global_variables_initializer"),
        *("get_variable", "variable_scope", "get_default_graph", "reset_default_graph", "contrib"),
        *("initialize_all_variables", "ConfigProto", "app", "flags", "layers", "assign_add"),
    )
)


def scan(module: Module, program: Program) -> Iterator[Spotted]:
    """Report every place that asks for something that is gone."""
    found = [*_names(program, module), *_members(program, module), *_files(program, module)]
    found = [(node, spot) for node, spot in found if not is_version_guarded(module, node)]
    if not found:
        return
    if uses_legacy_keras(program, module):
        pin = keras2_pin(module.path)
        said = "what is gone in Keras 3 is not told where the project asks for Keras 2"
        program.notes += [f"{pin}: {said}; to be told all the same: --keras3"] if pin else []
        return
    whole = _of_tensorflow1(module)
    if whole is not None:
        yield _spotted(module, whole, _said_of_file(module, len(found)), ())
        return
    yield from sorted((spot for _, spot in found), key=lambda spot: spot.where)


def _of_tensorflow1(module: Module) -> ast.AST | None:
    """Return what shows that a whole file is written for TensorFlow 1; None where it is not."""
    if "tf" not in module.text or "compat.v1" in module.text or "disable_v2" in module.text:
        return None
    names = [n for n in module.all(ast.Attribute) if n.attr in _OF_TENSORFLOW1]
    own = [n for n in names if isinstance(n.value, ast.Name) and n.value.id in ("tf", "tensorflow")]
    return own[0] if len({node.attr for node in own}) > 1 else None


def _said_of_file(module: Module, count: int) -> str:
    return (
        f"this file is written for TensorFlow 1: {count} of its lines use what is gone in"
        " TensorFlow 2; it runs with `tensorflow.compat.v1` and `disable_v2_behavior()`, or is to"
        " be written anew"
    )


def _names(program: Program, module: Module) -> Iterator[tuple[ast.AST, Spotted]]:
    for each in gone_names(program, module):
        written = each.gone.name.replace("tensorflow", "tf", 1)
        summary = f"`{written}` is gone in {_library(each.gone)}{_now(each.gone)}"
        yield each.node, _spotted(module, each.node, summary, each.edits)


def _library(gone: Gone) -> str:
    is_keras = gone.name.startswith(("keras", "tensorflow.keras"))
    return "Keras 3" if is_keras else "TensorFlow 2"


def _now(gone: Gone) -> str:
    if gone.hint:
        return f"; there is {gone.hint}"
    return f"; it is `{gone.instead.replace('tensorflow', 'tf', 1)}` now" if gone.instead else ""


def _members(program: Program, module: Module) -> Iterator[tuple[ast.AST, Spotted]]:
    for each in (*gone_members(program, module), *gone_arguments(program, module)):
        effect = Effect.WRONG if each.is_ignored else Effect.CRASHES
        yield each.node, _spotted(module, each.node, each.told, each.edits, effect=effect)


def _files(program: Program, module: Module) -> Iterator[tuple[ast.AST, Spotted]]:
    for each in refused_names(program, module):
        ends = " or ".join(f"`{ending}`" for ending in each.endings[:2])
        name = name_of(each.call.func)
        summary = f"`{name}` of Keras 3 refuses {module.code(each.node)}: it must end in {ends}"
        yield each.node, _spotted(module, each.node, summary, each.edits)


def _spotted(
    module: Module,
    node: ast.AST,
    summary: str,
    edits: tuple[Edit, ...],
    *,
    effect: Effect = Effect.CRASHES,
) -> Spotted:
    title = "Write it as it is written now"
    change = Change(title, FixClass.REPAIRS, edits) if edits else None
    return Spotted(module.span(node), summary, effect, change=change)


CAUSE = Cause(title="Something is used that is gone", symptom=Symptom.CRASH, scan=scan)
