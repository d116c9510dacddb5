"""The calls that train, evaluate and predict with Keras models, and the data they are given."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from quickfit.program import Module, Program, argument, is_open, keyword, name_of
from quickfit.program.keyword_dicts import unpacked
from quickfit.program.models import is_model_value
from quickfit.program.values import Item, Literal, Made, Member, Parameter, Unknown, Value

# Arguments in the order in which the methods take them.
_FIT = (
    *("x", "y", "batch_size", "epochs", "verbose", "callbacks", "validation_split"),
    *("validation_data", "shuffle", "class_weight", "sample_weight", "initial_epoch"),
    *("steps_per_epoch", "validation_steps", "validation_batch_size", "validation_freq"),
)
ARGUMENTS = {
    "fit": _FIT,
    "evaluate": ("x", "y", "batch_size", "verbose", "sample_weight", "steps", "callbacks"),
    "predict": ("x", "batch_size", "verbose", "steps", "callbacks"),
}
# Of all that has a `fit`, only Keras models take these.
_OWN = frozenset(("steps_per_epoch", "validation_data", "validation_steps", "epochs", "callbacks"))


@dataclass(frozen=True)
class Fitting:
    """One call of `fit`, `evaluate` or `predict` of a Keras model."""

    call: ast.Call
    module: Module
    method: str

    def given(self, name: str) -> ast.expr | None:
        """Return what the call gives for an argument."""
        names = ARGUMENTS[self.method]
        if name not in names:
            return None
        return argument(self.call, name, names.index(name))

    @property
    def is_open(self) -> bool:
        """Tell whether it may be given more than the text shows."""
        return is_open(self.call)


@dataclass(frozen=True)
class Feed:
    """The data of one part of a call: what is trained on, or validated with.

    Args:
        fitting: the call.
        data: the dataset, generator or array.
        steps_name: the argument that says how many batches are taken.
        steps: what is given for it.
        batch_size: what is given as the size of a batch of arrays.
    """

    fitting: Fitting
    data: ast.expr
    steps_name: str
    steps: ast.expr | None
    batch_size: ast.expr | None

    @property
    def is_training(self) -> bool:
        """Tell whether the model learns from it."""
        return self.steps_name == "steps_per_epoch"


# Several causes ask for them; only calls are kept, so that a file can be forgotten.
_known: WeakKeyDictionary[Module, list[ast.Call]] = WeakKeyDictionary()


def fittings(program: Program, module: Module, *methods: str) -> list[Fitting]:
    """Return the calls of these methods (all, without any) of what is surely a Keras model."""
    if module not in _known:
        _known[module] = [c for c in _candidates(module) if _is_of_model(program, module, c)]
    found = [Fitting(call, module, name_of(call.func)) for call in _known[module]]
    return [fitting for fitting in found if not methods or fitting.method in methods]


def _candidates(module: Module) -> list[ast.Call]:
    return module.calls(*ARGUMENTS) if _uses_keras(module) else []


def feeds(fitting: Fitting) -> Iterator[Feed]:
    """Yield the data of a call, each with the steps that are asked for."""
    names = {"fit": "steps_per_epoch", "evaluate": "steps", "predict": "steps"}
    steps, data = names[fitting.method], fitting.given("x")
    batch_size = fitting.given("batch_size")
    if data is not None:
        yield Feed(fitting, data, steps, fitting.given(steps), batch_size)
    checked = fitting.given("validation_data")
    if checked is not None:
        own = fitting.given("validation_batch_size") or batch_size
        number = fitting.given("validation_steps")
        yield Feed(fitting, checked, "validation_steps", number, own)


def is_missing(program: Program, feed: Feed) -> bool:
    """Tell whether no number of steps is given, or surely None or 0, which is none as well."""
    fitting = feed.fitting
    more = unpacked(program, fitting.module, fitting.call)
    if more is None:
        return False
    module, steps = more.get(feed.steps_name, (fitting.module, feed.steps))
    values = program.values(module, steps)
    return all(isinstance(v, Literal) and not v.value for v in values)


def _is_of_model(program: Program, module: Module, call: ast.Call) -> bool:
    if not isinstance(call.func, ast.Attribute):
        return False
    found = program.values(module, call.func)
    if not found or not all(isinstance(value, Member) for value in found):
        return False  # a method that the program has written itself, or a function of a library
    owners = [value.of for value in found if isinstance(value, Member)]
    if all(is_model_value(program, owner) for owner in owners):
        return True
    if not all(is_model_value(program, o) or _may_be_model(o) for o in owners):
        return False
    return _takes_own(call) or _is_compiled(module, call.func.value)


def _may_be_model(value: Value) -> bool:
    """Tell whether nothing says what an object is."""
    if isinstance(value, Made):
        return not value.maker
    return isinstance(value, Unknown | Parameter | Member | Item)


def _takes_own(call: ast.Call) -> bool:
    return any(keyword(call, name) is not None for name in _OWN)


def _is_compiled(module: Module, model: ast.expr) -> bool:
    """Tell whether what is written alike is compiled as only Keras models are."""
    text = ast.unparse(model)
    calls = [call for call in module.calls("compile") if isinstance(call.func, ast.Attribute)]
    alike = [call for call in calls if ast.unparse(call.func.value) == text]  # type: ignore[attr-defined]
    return any(keyword(c, name) is not None for c in alike for name in ("loss", "optimizer"))


def _uses_keras(module: Module) -> bool:
    return "keras" in module.text or "tensorflow" in module.text
