"""A callback watches a number that the training never writes.

What goes wrong: `ModelCheckpoint(save_best_only=True)`, `EarlyStopping` and `ReduceLROnPlateau` act
on one name in the logs. `val_acc` is not there where the metric is called `accuracy`, and nothing
that begins with `val_` is there without data to validate with. Then no model is saved, nothing is
stopped and the learning rate stays: there is a warning between the lines of the progress bar, or
an error at the end of the first epoch.

How it shows: the name is not among the metrics of the `compile`, with or without `val_` in front.

Example:
    model.compile("adam", "mse", metrics=["accuracy"])
    stop = keras.callbacks.EarlyStopping(monitor="val_acc", mode="max")
    model.fit(x, y, validation_split=0.2, callbacks=[stop])

Use instead:
    model.compile("adam", "mse", metrics=["accuracy"])
    stop = keras.callbacks.EarlyStopping(monitor="val_accuracy", mode="max")
    model.fit(x, y, validation_split=0.2, callbacks=[stop])

Fix class: repairs, where the same number has another name.

When it is wrong: where a callback of another library writes more into the logs. Metrics and
callbacks that the text does not show are left alone.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from quickfit.causes._cause import Cause
from quickfit.causes._shared.training_logs import Logs, callbacks_of, logs_of
from quickfit.code import Module, Program
from quickfit.code.keras_models import fittings
from quickfit.code.syntax import argument, is_open
from quickfit.code.values import Made
from quickfit.findings import Change, Effect, FixClass, Spotted, Symptom

# Where `monitor` stands among the arguments, and what comes of it when it is not there.
_WATCHING = {
    "keras.callbacks.EarlyStopping": (0, "training never stops early"),
    "keras.callbacks.ReduceLROnPlateau": (0, "the learning rate is never reduced"),
    "keras.callbacks.ModelCheckpoint": (1, "no model is ever saved"),
}


def scan(module: Module, program: Program) -> Iterator[Spotted]:
    """Report callbacks that watch what none of their trainings writes."""
    if "callbacks" not in module.text:
        return
    watched: dict[Made, list[Logs | None]] = {}
    for fitting in fittings(program, module, "fit"):
        found = callbacks_of(program, fitting) or []
        own = [v for v in found if isinstance(v, Made) and v.maker in _WATCHING]
        logs = logs_of(program, fitting.call, module) if own else None
        for value in own:
            watched.setdefault(value, []).append(logs)
    for made, logged in watched.items():
        name = _monitored(program, made)
        known = [logs for logs in logged if logs is not None and name and not logs.has(name)]
        if known and len(known) == len(logged):
            yield _spotted(made, name, known[0])


def _monitored(program: Program, made: Made) -> str:
    """Return the name that a callback acts on; empty where it is not known, or not needed."""
    at, _ = _WATCHING[made.maker]
    if is_open(made.call):
        return ""
    if made.maker.endswith("ModelCheckpoint"):
        best = argument(made.call, "save_best_only", 3)
        if program.literal(made.module, best, made.frame) is not True:
            return ""
    given = argument(made.call, "monitor", at)
    name = program.literal(made.module, given, made.frame) if given is not None else "val_loss"
    return name if isinstance(name, str) else ""


def _spotted(made: Made, name: str, logs: Logs) -> Spotted:
    module, (at, effect) = made.module, _WATCHING[made.maker]
    given, meant = argument(made.call, "monitor", at), logs.meant_by(name)
    why = f"it is `{meant}`" if meant else f"there are {', '.join(sorted(logs.names))}"
    if name.startswith("val_") and not logs.is_validated:
        why = "nothing is validated"
    change = None
    if meant and isinstance(given, ast.Constant):
        quote = module.code(given)[:1]
        edit = module.replace(given, f"{quote}{meant}{quote}")
        change = Change("Watch the name it has", FixClass.REPAIRS, (edit,))
    return Spotted(
        module.span(given if given is not None else made.call),
        f"`{name}` is never in the logs ({why}): {effect}",
        Effect.WRONG,
        related=((logs.module.span(logs.compiled), "the metrics are named here"),),
        change=change,
    )


CAUSE = Cause(title="A callback watches what is never logged", symptom=Symptom.WRONG, scan=scan)
