"""Keras models: which expressions are one, what they are given, where they are built."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from quickfit.code.calls import unpack_keyword_dicts
from quickfit.code.module import Module
from quickfit.code.program import Program
from quickfit.code.syntax import (
    argument,
    called_name,
    is_open,
    keyword_value,
    name_of,
    parse_or_none,
)
from quickfit.code.values import Instance, Item, Literal, Made, Member, Parameter, Unknown, Value

MODEL_MAKERS = frozenset(
    (
        *("keras.Sequential", "keras.Model", "keras.Functional", "keras.models.load_model"),
        *("keras.models.clone_model", "keras.saving.load_model", "keras.models.model_from_json"),
    )
)
MODEL_BASES = frozenset(("keras.Model", "keras.Sequential", "keras.Functional"))


def is_model(program: Program, module: Module, node: ast.expr) -> bool:
    """Tell whether an expression is surely a Keras model."""
    values = program.values(module, node)
    return bool(values) and all(is_model_value(program, value) for value in values)


def is_model_value(program: Program, value: Value) -> bool:
    """Tell whether something is a Keras model: made by Keras, or of a class derived from its."""
    if isinstance(value, Instance):
        return bool(program.ancestors(value) & MODEL_BASES)
    if not isinstance(value, Made):
        return False
    made = value.maker
    return made in MODEL_MAKERS or _is_application(made)


def _is_application(maker: str) -> bool:
    """Tell whether a name is `keras.applications.resnet50.ResNet50`, not a function beside it."""
    return maker.startswith("keras.applications.") and maker.rsplit(".", 1)[1][:1].isupper()


# Arguments in the order in which the methods take them.
_FIT = (
    *("x", "y", "batch_size", "epochs", "verbose", "callbacks", "validation_split"),
    *("validation_data", "shuffle", "class_weight", "sample_weight", "initial_epoch"),
    *("steps_per_epoch", "validation_steps", "validation_batch_size", "validation_freq"),
)
FIT_ARGUMENTS = {
    "fit": _FIT,
    "evaluate": ("x", "y", "batch_size", "verbose", "sample_weight", "steps", "callbacks"),
    "predict": ("x", "batch_size", "verbose", "steps", "callbacks"),
}
# Of all that has a `fit`, only Keras models take these.
_KEYWORDS_OF_FIT = frozenset(
    ("steps_per_epoch", "validation_data", "validation_steps", "epochs", "callbacks")
)


@dataclass(frozen=True)
class Fitting:
    """One call of `fit`, `evaluate` or `predict` of a Keras model."""

    call: ast.Call
    module: Module
    method: str

    def given(self, name: str) -> ast.expr | None:
        """Return what the call gives for an argument."""
        names = FIT_ARGUMENTS[self.method]
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
    return module.calls(*FIT_ARGUMENTS) if _uses_keras(module) else []


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
    more = unpack_keyword_dicts(program, fitting.module, fitting.call)
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
    return any(keyword_value(call, name) is not None for name in _KEYWORDS_OF_FIT)


def _is_compiled(module: Module, model: ast.expr) -> bool:
    """Tell whether what is written alike is compiled as only Keras models are."""
    text = ast.unparse(model)
    calls = [call for call in module.calls("compile") if isinstance(call.func, ast.Attribute)]
    alike = [call for call in calls if ast.unparse(call.func.value) == text]  # type: ignore[attr-defined]
    return any(keyword_value(c, name) is not None for c in alike for name in ("loss", "optimizer"))


def _uses_keras(module: Module) -> bool:
    return "keras" in module.text or "tensorflow" in module.text


# Arguments that of all that has such a method only Keras models take.
_KEYWORDS_OF_MODELS = {
    "predict": frozenset(("verbose", "batch_size", "steps", "callbacks")),
    "fit": frozenset(("epochs", "batch_size", "steps_per_epoch", "validation_data", "callbacks")),
    "fit_generator": frozenset(("epochs", "steps_per_epoch", "validation_data")),
    "compile": frozenset(("optimizer", "loss", "metrics", "run_eagerly", "jit_compile")),
    "train_on_batch": frozenset(("x", "y", "sample_weight")),
}


def model_of(program: Program, module: Module, call: ast.Call) -> ast.expr | None:
    """Return the Keras model whose method is surely called; None for that of something else."""
    if not isinstance(call.func, ast.Attribute):
        return None
    found = program.values(module, call.func)
    if not found or not all(isinstance(value, Member) for value in found):
        return None  # a method that the program has written itself, or a function of a library
    owners = [v.of for v in found if isinstance(v, Member)]
    models = [owner for owner in owners if is_model_value(program, owner)]
    others = [owner for owner in owners if owner not in models]
    is_own = bool(
        {k.arg for k in call.keywords} & _KEYWORDS_OF_MODELS.get(name_of(call.func), frozenset())
    )
    # Only Keras has the method that trains on a batch.
    is_own = is_own or name_of(call.func) == "train_on_batch"
    if not all(_is_open(other) for other in others) or not (models or is_own):
        return None
    if any(not isinstance(other, Literal) for other in others) and not is_own:
        return None
    return call.func.value


def _is_open(value: Value) -> bool:
    """Tell whether something may be a model: nobody knows, or it is None until one is made."""
    if isinstance(value, Literal):
        return value.value is None
    return isinstance(value, Parameter | Unknown | Item | Member)


_SCOPES = (ast.For, ast.AsyncFor, ast.While, ast.FunctionDef, ast.AsyncFunctionDef)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
# A model is handed from one function to another once; further than that nobody follows.
MAX_CALLERS = 1


def line_that_builds(text: str, line: int, method: str = "fit") -> int | None:
    """Return the line of the loop or function around `model.fit(...)` that gives `model` its value.

    None where the name is given a value outside of it: then it is one model all along.
    """
    tree = parse_or_none(text)
    name = _receiver(tree, line, method) if tree is not None else None
    if tree is None or name is None:
        return None
    return _nearest(tree, line, name, depth=0)


def _nearest(tree: ast.Module, line: int, name: str, *, depth: int) -> int | None:
    scopes = [n for n in ast.walk(tree) if isinstance(n, _SCOPES) and _holds(n, line)]
    # From the inside out: the nearest scope that builds it is meant.
    for scope in sorted(scopes, key=lambda node: -node.lineno):
        lines = [n.lineno for n in _statements_binding(scope, name) if n.lineno <= line]
        if lines:
            return max(lines)
        if isinstance(scope, _FUNCTIONS) and name in _arguments(scope):
            place = _arguments(scope).index(name)
            return _of_caller(tree, scope.name, name, place) if depth < MAX_CALLERS else None
    return None


def _of_caller(tree: ast.Module, function: str, name: str, place: int) -> int | None:
    """Return the line that builds what the only call of a function hands over."""
    calls = [n for n in ast.walk(tree) if isinstance(n, ast.Call) and _calls(n, function)]
    given = [value for call in calls if (value := _argument_for(call, name, place)) is not None]
    if len(given) != 1:
        return None
    if isinstance(given[0], ast.Call):
        return given[0].lineno
    return _nearest(tree, given[0].lineno, ast.unparse(given[0]), depth=1)


def _calls(call: ast.Call, function: str) -> bool:
    return isinstance(call.func, ast.Name) and call.func.id == function


def _argument_for(call: ast.Call, name: str, place: int) -> ast.expr | None:
    for keyword in call.keywords:
        if keyword.arg == name:
            return keyword.value
    return call.args[place] if place < len(call.args) else None


def _arguments(scope: ast.FunctionDef | ast.AsyncFunctionDef) -> list[str]:
    return [arg.arg for arg in (*scope.args.posonlyargs, *scope.args.args)]


def _receiver(tree: ast.Module, line: int, method: str) -> str | None:
    """Return what stands before `.fit` on a line: `model`, or `self.model`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            on_line = node.lineno <= line <= (node.end_lineno or node.lineno)
            if on_line and node.func.attr == method:
                return ast.unparse(node.func.value)
    return None


def _holds(node: ast.stmt, line: int) -> bool:
    return node.lineno <= line <= (node.end_lineno or 0)


def _statements_binding(scope: ast.AST, name: str) -> list[ast.stmt]:
    """Return the statements that give a name the result of a call."""
    found: list[ast.stmt] = []
    for node in ast.walk(scope):
        if isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(node.value, ast.Call):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if any(ast.unparse(target) == name for target in targets):
                found.append(node)
    return found


_LOOPS = (ast.For, ast.AsyncFor, ast.While)


def loop_lines(text: str, line: int) -> tuple[int, int]:
    """Return first and last line of the loop that a line begins, or else the nearest around it."""
    tree = parse_or_none(text)
    loops = [n for n in ast.walk(tree) if isinstance(n, _LOOPS)] if tree is not None else []
    around = [(n.lineno, n.end_lineno or 0) for n in loops]
    around = [(first, last) for first, last in around if first <= line <= last]
    return max(around, default=(line, line))


def functions_of_training(text: str, first: int, last: int) -> set[str]:
    """Return the functions that run while training does, as far as their names tell.

    Those called between two lines, generators, and the methods that Keras calls; and what all
    of these call in turn.
    """
    tree = parse_or_none(text)
    if tree is None:
        return set()
    functions = {n.name: n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)}
    found = {name for name, node in functions.items() if _is_run_by_others(node)}
    found |= {
        called_name(node)
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and first <= node.lineno <= last
    } & functions.keys()
    waiting = list(found)
    while waiting:
        calls = [n for n in ast.walk(functions[waiting.pop()]) if isinstance(n, ast.Call)]
        new = {called_name(call) for call in calls} & functions.keys() - found
        found |= new
        waiting.extend(new)
    return found


def _is_run_by_others(function: ast.FunctionDef) -> bool:
    if function.name.startswith("on_") and "epoch" not in function.name:
        return "batch" in function.name
    if function.name in ("__getitem__", "__next__", "__call__", "call", "train_step"):
        return True
    return any(isinstance(node, ast.Yield) for node in ast.walk(function))
