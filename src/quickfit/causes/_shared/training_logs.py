"""What a `fit` writes into its logs: the keys of `history` and what callbacks can monitor."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass

from quickfit.code import Module, Program
from quickfit.code.keras_models import Fitting
from quickfit.code.syntax import argument, is_open, keyword_value, name_of
from quickfit.code.values import External, Group, Literal, Made, Routine, Value
from quickfit.code.versions import uses_legacy_keras

_MODELS = ("keras.Sequential", "keras.Model", "keras.Functional")
_RATES = ("keras.callbacks.ReduceLROnPlateau", "keras.callbacks.LearningRateScheduler")
_WRITES_LOGS = re.compile(r"logs\s*(\[[^\]]*\]\s*=[^=]|\.update\(|\.setdefault\()")
_WORD = re.compile(r"(.)([A-Z][a-z]+)")
_CAPITAL = re.compile(r"([a-z])([A-Z])")


@dataclass(frozen=True)
class Logs:
    """The names in the logs of a training.

    Args:
        names: all of them, but for those that begin with one of `begins`.
        begins: how names begin that Keras numbers: `auc` may be `auc_1`.
        compiled: the call that says so.
        module: where that stands.
        is_validated: whether there is data to validate with.
    """

    names: frozenset[str]
    begins: tuple[str, ...]
    compiled: ast.Call
    module: Module
    is_validated: bool

    def has(self, name: str) -> bool:
        """Tell whether a name is among them, or may be."""
        plain = name.removeprefix("val_") if self.is_validated else name
        return name in self.names or plain.startswith(self.begins)

    def meant_by(self, name: str) -> str:
        """Return the name that another one for the accuracy stands for; empty where there is none.

        Of `val_acc` that is `val_accuracy`.
        """
        first = "val_" if name.startswith("val_") else ""
        others = {"acc": "accuracy", "accuracy": "acc", "lr": "learning_rate"}
        other = others.get(name.removeprefix("val_"), "")
        return f"{first}{other}" if f"{first}{other}" in self.names else ""


def logs_of(program: Program, fit: ast.Call, module: Module) -> Logs | None:
    """Return what one `fit` logs; None where the text does not say all of it."""
    if not isinstance(fit.func, ast.Attribute) or is_open(fit) or _WRITES_LOGS.search(module.text):
        return None
    models = program.values(module, fit.func.value)
    found = [_compiled(program, module, model) for model in models]
    if not found or any(each is None for each in found) or uses_legacy_keras(program, module):
        return None
    places = [place for each in found for place in each or ()]
    logged = [_metrics(program, there, call) for there, call in places]
    known = {each for each in logged if each is not None}
    if len(known) != 1 or None in logged:
        return None
    names, begins = known.pop()
    fitting = Fitting(fit, module, "fit")
    rate = _rate(program, fitting)
    if rate is None:
        return None
    is_validated = _is_validated(program, fitting)
    names |= {f"val_{name}" for name in names} if is_validated else set()
    there, call = places[0][0], places[0][1]
    return Logs(names | rate, begins, call, there, is_validated)


def _compiled(program: Program, module: Module, model: Value) -> list[tuple[Module, ast.Call]]:
    """Return the calls that compile a model that is made by plain Keras; none: nobody knows."""
    if not isinstance(model, Made) or model.maker not in _MODELS or _has_outputs(program, model):
        return []
    return [
        (there, call)
        for there in dict.fromkeys((module, model.module))
        for call in there.calls("compile")
        if isinstance(call.func, ast.Attribute) and model in program.values(there, call.func.value)
    ]


def _has_outputs(program: Program, model: Made) -> bool:
    """Tell whether a model may have several outputs, which have names of their own."""
    outputs = argument(model.call, "outputs", 1)
    if model.maker == "keras.Sequential" or outputs is None:
        return model.maker != "keras.Sequential"
    values = program.values(model.module, outputs, model.frame)
    one = [v for v in values if not isinstance(v, Group) or len(getattr(v.node, "elts", "ab")) == 1]
    return len(one) != len(values)


def _metrics(
    program: Program, module: Module, call: ast.Call
) -> tuple[frozenset[str], tuple[str, ...]] | None:
    given = keyword_value(call, "metrics")
    if is_open(call) or keyword_value(call, "weighted_metrics") is not None:
        return None
    loss = program.only(module, argument(call, "loss", 1))
    if len(call.args) > 2 or isinstance(loss, Group):
        return None
    names, begins = {"loss"}, []
    values = program.values(module, given)
    if given is not None and len(values) != 1:
        return None
    value = values[0] if values else Literal(None)
    parts: list[tuple[Module, ast.expr]] = []
    if isinstance(value, Group) and isinstance(value.node, ast.List | ast.Tuple):
        parts = [(value.module, part) for part in value.node.elts]
    elif value != Literal(None) and given is not None:
        parts = [(module, given)]
    for there, part in parts:
        name, is_numbered = _metric_name(program, there, part)
        if not name:
            return None
        names.add(name)
        begins += [name] if is_numbered else []
    return frozenset(names), tuple(begins)


def _metric_name(program: Program, module: Module, node: ast.expr) -> tuple[str, bool]:
    """Return what a metric is called in the logs, and whether Keras may number it."""
    value = program.only(module, node)
    if isinstance(value, Literal) and isinstance(value.value, str):
        return value.value, False
    if isinstance(value, Routine) and not isinstance(value.node, ast.Lambda):
        return value.node.name, False
    if isinstance(value, External) and value.name.startswith("keras."):
        last = value.name.rsplit(".", 1)[1]
        return (last, True) if last.islower() else ("", False)
    if not isinstance(value, Made) or not value.maker.startswith("keras.metrics."):
        return "", False
    given = keyword_value(value.call, "name")
    if given is not None:
        name = program.literal(value.module, given, value.frame)
        return (name, False) if isinstance(name, str) else ("", False)
    if value.call.args and value.maker.endswith("MeanMetricWrapper"):
        return "", False
    last = value.maker.rsplit(".", 1)[1]
    return _CAPITAL.sub(r"\1_\2", _WORD.sub(r"\1_\2", last)).lower(), True


def _is_validated(program: Program, fitting: Fitting) -> bool:
    for name in ("validation_data", "validation_split"):
        given = fitting.given(name)
        values = program.values(fitting.module, given)
        if not all(isinstance(v, Literal) and not v.value for v in values):
            return True
    return False


def callbacks_of(program: Program, fitting: Fitting) -> list[Value] | None:
    """Return the callbacks that a `fit` is given; None where there may be others."""
    found: list[Value] = []
    given = fitting.given("callbacks")
    for value in program.values(fitting.module, given):
        if isinstance(value, Literal) and value.value is None:
            continue
        if isinstance(value, Made) and value.maker.startswith("keras.callbacks."):
            found.append(value)  # one without a list
            continue
        if not isinstance(value, Group) or not isinstance(value.node, ast.List | ast.Tuple):
            return None
        for part in value.node.elts:
            found += program.values(value.module, part)
    return found


def _rate(program: Program, fitting: Fitting) -> frozenset[str] | None:
    """Return the name of the learning rate where it is logged; None: other names may be."""
    found = callbacks_of(program, fitting)
    if found is None:
        return None
    own = [v for v in found if isinstance(v, Made) and v.maker.startswith("keras.callbacks.")]
    if len(own) != len(found):
        return None
    is_changed = any(v.maker in _RATES for v in own)
    return frozenset(("learning_rate",)) if is_changed or _is_added(fitting) else frozenset()


def _is_added(fitting: Fitting) -> bool:
    """Tell whether callbacks are put into a list behind its making."""
    given = fitting.given("callbacks")
    if not isinstance(given, ast.Name):
        return False
    added = fitting.module.calls("append", "extend", "insert")
    return any(
        isinstance(c.func, ast.Attribute) and name_of(c.func.value) == given.id for c in added
    )
