"""`fit` is given arguments that Keras 3 does not take.

What goes wrong: `workers`, `use_multiprocessing` and `max_queue_size` said in Keras 2 how a
generator is read. In Keras 3 `fit`, `evaluate` and `predict` do not know them and end the script
with an error. They belong to the data there: a `keras.utils.PyDataset` takes all three.

How it shows: one of the three is given to a method of a Keras model.

Example:
    model.fit(batches, epochs=10, workers=4, use_multiprocessing=True)

Use instead:
    model.fit(batches, epochs=10)

Or, for a PyDataset that hands on its arguments to `super().__init__(**kwargs)`:
    batches = Batches(files, workers=4, use_multiprocessing=True)
    model.fit(batches, epochs=10)

Fix class: repairs. The model sees the same batches; where they were read by several workers, they
are read by one until the data is told otherwise.

When it is wrong: under Keras 2, which `tf_keras` and TF_USE_LEGACY_KERAS bring; where the program
shows one of them, nothing is reported.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from quickfit.causes._cause import Cause
from quickfit.causes._shared.keras_objects import is_models
from quickfit.code import Module, Program
from quickfit.code.edits import remove_keywords
from quickfit.code.syntax import argument, name_of, own_nodes
from quickfit.code.values import Instance
from quickfit.code.versions import is_version_guarded, uses_legacy_keras
from quickfit.findings import Change, Effect, FixClass, Spotted, Symptom

METHODS = ("fit", "evaluate", "predict")
GONE = ("workers", "use_multiprocessing", "max_queue_size")
_PYDATASET = "keras.utils.PyDataset"


def scan(module: Module, program: Program) -> Iterator[Spotted]:
    """Report every call that gives a model's method one of the three."""
    for call in module.calls(*METHODS):
        given = [k for k in call.keywords if k.arg in GONE]
        if not given or not isinstance(call.func, ast.Attribute):
            continue
        if is_version_guarded(module, call, "TypeError", "ValueError"):
            continue
        if not is_models(program, module, call.func.value) or uses_legacy_keras(program, module):
            continue
        yield Spotted(
            where=module.span(given[0]),
            summary=f"`{call.func.attr}` of Keras 3 does not take {_listed(given)}: an error",
            effect=Effect.CRASHES,
            change=_change(program, module, call, given),
        )


def _listed(given: list[ast.keyword]) -> str:
    names = [f"`{k.arg}`" for k in given]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _change(
    program: Program, module: Module, call: ast.Call, given: list[ast.keyword]
) -> Change | None:
    edits = remove_keywords(module, call, {k.arg for k in given if k.arg})
    if not edits:
        return None
    return Change(
        title=f"Call `{name_of(call.func)}` without what it does not take",
        kind=FixClass.REPAIRS,
        edits=edits,
        note=_note(program, module, call, given),
    )


def _note(program: Program, module: Module, call: ast.Call, given: list[ast.keyword]) -> str:
    """Return where the arguments belong now, if the data is a PyDataset."""
    data = program.only(module, argument(call, "x", 0))
    if not isinstance(data, Instance) or _PYDATASET not in program.ancestors(data):
        return ""
    name = data.made.node.name
    code = ", ".join(module.code(k) for k in given)
    if _hands_on(data.made.node):
        return f"`{name}` takes them: give it `{code}`."
    return f"`{name}` can take them: hand on `**kwargs` to `super().__init__`, and give `{code}`."


def _hands_on(owner: ast.ClassDef) -> bool:
    """Tell whether a class hands on what it is given to the class it is derived from."""
    for method in owner.body:
        if isinstance(method, ast.FunctionDef) and method.name == "__init__":
            calls = [n for n in own_nodes(method) if isinstance(n, ast.Call)]
            inits = [c for c in calls if name_of(c.func) == "__init__"]
            return any(k.arg is None for c in inits for k in c.keywords)
    return True  # it has no way of its own to be made


CAUSE = Cause(title="An argument of fit is gone", symptom=Symptom.CRASH, scan=scan)
