"""A key of `history` that the training never writes.

What goes wrong: `fit` writes its numbers under the names that `compile` gave its metrics:
`metrics=["accuracy"]` is `history["accuracy"]`, not `["acc"]`; without data to validate with there
is no `val_loss`; the learning rate is `learning_rate` in Keras 3, not `lr`. The `KeyError` comes
when all epochs are done, and the training with it is lost.

How it shows: a key is asked for that is not among the metrics of the `compile` and what the `fit`
and its callbacks add.

Example:
    model.compile("adam", "mse", metrics=["accuracy"])
    history = model.fit(x, y, epochs=50)
    plt.plot(history.history["acc"])

Use instead:
    model.compile("adam", "mse", metrics=["accuracy"])
    history = model.fit(x, y, epochs=50)
    plt.plot(history.history["accuracy"])

Fix class: repairs, where the same number has another name. Else a person has to say what is meant.

When it is wrong: where a callback of another library writes more into the logs. Metrics that the
text does not show, and keys that are asked for first, are left alone.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from quickfit.causes._cause import Cause
from quickfit.causes._shared.training_logs import Logs, logs_of
from quickfit.code import Module, Program
from quickfit.code.conditions import conditions_around
from quickfit.code.values import Made, Member, Value
from quickfit.code.versions import is_version_guarded
from quickfit.findings import Change, Effect, FixClass, Spotted, Symptom

_TRAINS = ("fit", "fit_generator")


def scan(module: Module, program: Program) -> Iterator[Spotted]:
    """Report the keys of histories that their `fit` does not write."""
    for node in module.all(ast.Subscript) if "history" in module.text else ():
        key = node.slice.value if isinstance(node.slice, ast.Constant) else None
        if not isinstance(key, str) or not isinstance(node.ctx, ast.Load):
            continue
        fits = [_fit(value) for value in program.values(module, node.value)]
        if not fits or None in fits or _is_asked_first(module, node, key):
            continue
        logs = [logs_of(program, fit.call, fit.module) for fit in fits if fit is not None]
        known = [each for each in logs if each is not None and not each.has(key)]
        if known and len(known) == len(logs):
            yield _spotted(module, node, key, known[0])


def _fit(value: Value) -> Made | None:
    """Return the `fit` whose `history.history` something is."""
    if not isinstance(value, Member) or value.name != "history":
        return None
    made = value.of
    return made if isinstance(made, Made) and made.method in _TRAINS else None


def _is_asked_first(module: Module, node: ast.Subscript, key: str) -> bool:
    if is_version_guarded(module, node, "KeyError"):
        return True
    tests = (ast.unparse(test) for test, _ in conditions_around(module, node))
    return any(f"'{key}'" in test or " in " in test for test in tests)


def _spotted(module: Module, node: ast.Subscript, key: str, logs: Logs) -> Spotted:
    meant = logs.meant_by(key)
    why = f"it is `{meant}`" if meant else f"there are {_listed(logs)}"
    if key.startswith("val_") and not logs.is_validated and logs.has(key.removeprefix("val_")):
        why = "nothing is validated"
    quote = module.code(node.slice)[:1]
    change = None
    if meant and quote in ("'", '"'):
        edit = module.replace(node.slice, f"{quote}{meant}{quote}")
        change = Change("Ask for the name it has", FixClass.REPAIRS, (edit,))
    return Spotted(
        module.span(node),
        f"`history` has no `{key}` when the training is over: {why}",
        Effect.CRASHES,
        related=((logs.module.span(logs.compiled), "the metrics are named here"),),
        change=change,
    )


def _listed(logs: Logs) -> str:
    return ", ".join(f"`{name}`" for name in sorted(logs.names))


CAUSE = Cause(title="A key that the history does not have", symptom=Symptom.CRASH, scan=scan)
