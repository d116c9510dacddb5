"""`fit` and `compile` of one model in a loop: which of them set up again what is there already."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from quickfit.causes._shared.keras_objects import is_one_row
from quickfit.code import Module, Program
from quickfit.code.conditions import conditions_around, decide_condition
from quickfit.code.keras_models import model_of
from quickfit.code.loops import (
    Turns,
    is_given_new_in_turn,
    is_kept_over_turns,
    is_many,
    turns_around,
)
from quickfit.code.syntax import argument, is_open, keyword_value, name_of

# Two phases of training, or three, are no loop.
MIN_TURNS = 4
FITS = ("fit", "fit_generator")
# What makes a model another one for each turn, although the object stays.
_RESETS = frozenset(("set_weights", "load_weights", "clear_session", "clone_model", "from_config"))
_TRAINABLE = re.compile("freeze|trainable")
_EPOCHS = {"fit": 3, "fit_generator": 2}


@dataclass(frozen=True)
class Refit:
    """A call of `fit` or `compile` that a loop repeats for the same model.

    Args:
        call: the call.
        model: whose method it is.
        around: the loop.
        kind: `epochs` (one epoch of the same data at a time), `row` (a single row at a time),
            `parts` (other data each time, or several epochs) or `compile`.
    """

    call: ast.Call
    model: ast.expr
    around: Turns
    kind: str


def refits(program: Program, module: Module) -> Iterator[Refit]:
    """Yield the calls of a file that a loop repeats for a model that is made before it."""
    for call in module.calls(*FITS, "compile"):
        model = model_of(program, module, call)
        around = turns_around(program, module, call) if model is not None else []
        if model is None or not is_many(program, around, MIN_TURNS):
            continue
        # Any of the loops may make the model: of folds, of a search.
        if not all(is_kept_over_turns(program, module, model, each) for each in around):
            continue
        if any(_is_reset(each.loop) for each in around):
            continue
        if any(_is_at_times(program, *way) for way in ((module, call), *around[0].calls)):
            continue
        is_compile = name_of(call.func) == "compile"
        kind = "compile" if is_compile else _kind(program, module, call, around)
        if kind != "compile" or not _sets_trainable(around[0]):
            yield Refit(call, model, around[0], kind)


def _kind(program: Program, module: Module, call: ast.Call, around: list[Turns]) -> str:
    data = [part for part in (argument(call, "x", 0), argument(call, "y", 1)) if part is not None]
    is_changing = any(
        is_given_new_in_turn(program, module, part, around[0]) or _has_call(part) for part in data
    )
    if data and is_changing and is_one_row(program, module, data[0]):
        return "row"
    is_plain = bool(data) and not is_changing and not around[0].calls and not is_open(call)
    counts = isinstance(around[0].loop, ast.While) or _is_range(around[0].loop)
    is_one = is_plain and counts and _is_one_epoch(program, module, call)
    return "epochs" if is_one else "parts"


def _has_call(node: ast.expr) -> bool:
    """Tell whether an expression may give something else each time."""
    return any(isinstance(part, ast.Call | ast.Await) for part in ast.walk(node))


def _is_range(loop: ast.AST) -> bool:
    iterated = loop.iter if isinstance(loop, ast.For) else None
    if isinstance(iterated, ast.Call) and name_of(iterated.func) == "tqdm" and iterated.args:
        iterated = iterated.args[0]
    return isinstance(iterated, ast.Call) and name_of(iterated.func) in ("range", "trange")


def _is_one_epoch(program: Program, module: Module, call: ast.Call) -> bool:
    """Tell whether a call trains for one epoch: by default, `epochs=1`, or from `e` to `e + 1`."""
    epochs = argument(call, "epochs", _EPOCHS[name_of(call.func)]) or keyword_value(
        call, "nb_epoch"
    )
    first = keyword_value(call, "initial_epoch")
    if epochs is None:
        return True
    if first is not None:
        return ast.unparse(epochs) == f"{ast.unparse(first)} + 1"
    return program.literal(module, epochs) == 1


def _is_reset(loop: ast.AST) -> bool:
    """Tell whether each turn of a loop begins with other weights."""
    calls = (n for n in ast.walk(loop) if isinstance(n, ast.Call))
    return any(name_of(call.func) in _RESETS for call in calls)


def _is_at_times(program: Program, module: Module, call: ast.Call) -> bool:
    """Tell whether a condition may keep a call from being made in every turn."""
    for test, wanted in conditions_around(module, call):
        above = module.parent(test)
        if (
            not isinstance(above, ast.While)
            and decide_condition(program, module, test) is not wanted
        ):
            return True
    return module.around(call, ast.ExceptHandler) is not None


def _sets_trainable(around: Turns) -> bool:
    """Tell whether a loop changes what is trained, after which a new `compile` is needed."""
    places: list[ast.AST] = [around.loop]
    places += [f for m, c in around.calls if (f := m.function(c)) is not None]
    for part in (n for place in places for n in ast.walk(place)):
        if isinstance(part, ast.Attribute) and part.attr == "trainable":
            if isinstance(part.ctx, ast.Store):
                return True
        elif isinstance(part, ast.Call) and _TRAINABLE.search(name_of(part.func)):
            return True
    return False
