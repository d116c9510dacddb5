"""A model is built in every round of a loop, and what the rounds before built is not freed.

Why it is slow: every model brings its variables, its optimizer's state and the graphs of its train
step. A `History` that is kept holds its model. And where nothing is kept, TensorFlow itself does
not give back what a compiled train step refers to: on TensorFlow 2.21 a model of 2.2 million
weights with Adam left 33 MB per round, with `clear_session`, `del` and `gc.collect()` as without
(25 rounds each). A search over hyperparameters or folds grows by one model per round.

How it shows: `fit` is called ten times or more at one line, most of the calls trace a train step
of their own, memory after each round is higher than after the one before, in the first half of the
rounds as in the second, and models or graphs that are alive grow with them.

Example:
    for rate in rates:
        model = build()
        model.compile(keras.optimizers.Adam(rate), loss="mse")
        results.append(model.fit(x, y))

Use instead:
    import concurrent.futures, multiprocessing

    spawned = multiprocessing.get_context("spawn")
    for rate in rates:
        with concurrent.futures.ProcessPoolExecutor(1, mp_context=spawned) as pool:
            results.append(pool.submit(train_one, rate).result())

Fix class: same results. A process gives everything back when it ends; `train_one` builds, trains
and returns `history`, which is numbers, and not the `History`, which holds its model. Where only
the learning rate or the data differ, build one model and set its weights, and the variables of its
optimizer, back before each round: that needs no process and no second trace.

When it is wrong: a few folds end before it matters, and nothing is reported below ten rounds.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from quickfit.causes._cause import Cause, example, running_out
from quickfit.code import Module, Program
from quickfit.code.conditions import conditions_around, is_for_tests, never_runs
from quickfit.code.keras_models import is_model
from quickfit.code.loops import Turns, count_turns, is_many, is_new_in_turn, turns_around
from quickfit.code.syntax import name_of
from quickfit.code.values import Made
from quickfit.findings import Effect, Evidence, Finding, Fix, FixClass, Spotted, Symptom
from quickfit.signals import Signals
from quickfit.signals.leak_kinds import Rounds, is_growing, model_rounds

# A last round that takes so much longer than the first ones is worth a word.
MIN_SLOWER = 1.2


def detect(signals: Signals) -> Finding | None:
    """Report models that are built in a loop while memory grows from round to round."""
    rounds = model_rounds(signals)
    if rounds is None or not is_growing(rounds):
        return None
    return running_out(
        rounds.exhaustion(signals),
        f"a model is built in each of {rounds.rounds} rounds, and memory is not given back",
        rounds.location,
        *_evidence(rounds),
    )


def scan(module: Module, program: Program) -> Iterator[Spotted]:
    """Report models that each turn of a loop makes: for nothing, or without freeing them."""
    if is_for_tests(module):
        return
    for found in (*loaded_again(program, module), *searched(program, module)):
        if never_runs(program, module, found.call):
            continue
        loop = found.around
        yield Spotted(
            where=module.span(found.call),
            summary=_said(module, found),
            effect=Effect.SLOW,
            related=((loop.module.span(loop.loop), "the loop"),) if loop.calls else (),
            is_hint=found.kind == "dropped" or (found.kind == "kept" and found.rounds is None),
        )


def _said(module: Module, found: Rebuild) -> str:
    line = found.around.line
    if found.kind == "same":
        made = module.code(found.call.func)
        return f"`{made}` makes the same model again in each turn of the loop at line {line}"
    rounds = f"{found.rounds} turns" if found.rounds is not None else "turns"
    if found.kind == "kept":
        return (
            f"what `fit` returns is kept in all {rounds} of the loop at line {line}, and with it "
            "the model of each"
        )
    return f"each of the {rounds} of the loop at line {line} builds a model, and nothing frees it"


def _evidence(rounds: Rounds) -> tuple[Evidence, ...]:
    found = [
        Evidence("more memory in use after every round", rounds.per_round, "bytes"),
        Evidence("calls of `fit`, each with a model of its own", rounds.rounds, "count"),
    ]
    for kind, per_round in rounds.alive.items():
        said = "kept, or not collected yet"
        found.append(Evidence(f"more {kind} are alive per round", per_round, "count", said))
    first_s, last_s = rounds.round_s
    if first_s and last_s >= MIN_SLOWER * first_s:
        slower = f"the first rounds took {first_s:.1f} s, the last {last_s:.1f} s"
        found.append(
            Evidence("as long takes a round at the end", last_s / first_s, "factor", slower)
        )
    return tuple(found)


def fix(finding: Finding, signals: Signals) -> Fix | None:
    """Show how to give each round a process, which frees what nothing else does."""
    rounds = model_rounds(signals)
    note = "Where only a number or the data differ, build once and set the weights back each round."
    if rounds is not None and rounds.clears:
        note = f"`clear_session` is called already, and memory grows all the same. {note}"
    return Fix(
        title="Give each round a process of its own: what it took is freed when it ends",
        kind=FixClass.SAME_RESULTS,
        example=example(__doc__ or "", "Use instead"),
        note=note,
    )


# Below ten rounds it does not matter how much each one leaves behind.
MIN_ROUNDS = 10
# A model that is read, or given, as a whole: the same one each time, for the same arguments.
_LOADERS = frozenset(("keras.models.load_model", "keras.saving.load_model"))
_TRAINS = frozenset(("fit", "fit_generator", "train_on_batch", "compile", "GradientTape"))
_FREES = ("clear_session", "Process", "ProcessPoolExecutor", "Pool", "get_context")
_RESULTS = frozenset(("fit", "fit_generator"))


@dataclass(frozen=True)
class Rebuild:
    """A model that each turn of a loop makes.

    Args:
        call: what makes it.
        around: the loop.
        kind: `same` (for nothing: it is the one of the turn before), `kept` (its `History` is
            kept, and the model with it) or `dropped`.
        rounds: how often; None where the text does not say.
    """

    call: ast.Call
    around: Turns
    kind: str
    rounds: int | None = None


def loaded_again(program: Program, module: Module) -> Iterator[Rebuild]:
    """Yield what loads one model in each turn of a loop that only uses it."""
    for call in module.calls("load_model", *_application_names(module)):
        made = program.only(module, call)
        if not isinstance(made, Made) or not _is_whole(made.maker):
            continue
        around = turns_around(program, module, call)
        if not around or not is_many(program, around, MIN_ROUNDS):
            continue
        function = module.function(call) if around[0].calls else None
        scope: ast.AST = function if function is not None else around[0].loop
        if _is_used_only(module, call, scope) and _is_same(program, module, call, around[0]):
            yield Rebuild(call, around[0], "same")


def _application_names(module: Module) -> list[str]:
    if "applications" not in module.text:
        return []
    calls = module.all(ast.Call)
    return list(dict.fromkeys(n for c in calls if (n := name_of(c.func))[:1].isupper()))


def _is_whole(maker: str) -> bool:
    if maker in _LOADERS:
        return True
    return maker.startswith("keras.applications.") and maker.rsplit(".", 1)[1][:1].isupper()


def _is_same(program: Program, module: Module, call: ast.Call, around: Turns) -> bool:
    """Tell whether the arguments are the same in every turn, and the call is made in each."""
    parts = [*call.args, *(k.value for k in call.keywords)]
    if any(_is_given(program, module, part, around) for part in parts):
        return False
    if any(isinstance(n, ast.Call) for part in parts for n in ast.walk(part)):
        return False
    statement = module.statement(call)
    is_kept = isinstance(statement, ast.Assign | ast.AnnAssign) and not _is_local(statement)
    ways = [(module, call), *around.calls]
    return not is_kept and not any(_is_at_times(m, c, around) for m, c in ways)


def _is_at_times(module: Module, call: ast.Call, around: Turns) -> bool:
    """Tell whether a condition inside the loop, or on the way from it, decides on a call."""
    is_inside = module is around.module and module.is_in(call, around.loop)
    tests = [test for test, _ in conditions_around(module, call)]
    if is_inside:
        own = getattr(around.loop, "test", None)
        tests = [t for t in tests if module.is_in(t, around.loop) and t is not own]
    return bool(tests) and (is_inside or module.function(call) is not None)


def _is_given(program: Program, module: Module, node: ast.expr, around: Turns) -> bool:
    """Tell whether an argument may be another one in each turn."""
    if not around.calls:
        return is_new_in_turn(program, module, node, around.loop)
    function = module.function(node)
    # What a function is given, or makes itself, is open.
    return function is not None and is_new_in_turn(program, module, node, function)


def _is_local(statement: ast.Assign | ast.AnnAssign) -> bool:
    """Tell whether a name holds the model: what an object or a dictionary keeps is a cache."""
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    return all(isinstance(target, ast.Name) for target in targets)


def _is_used_only(module: Module, call: ast.Call, scope: ast.AST) -> bool:
    """Tell whether a model is neither trained, nor changed, nor handed on."""
    calls = (n for n in ast.walk(scope) if isinstance(n, ast.Call))
    names = {name_of(c.func) for c in calls}
    if names & {*_TRAINS, *_FREES, "append", "cache", "lru_cache", "Model", "Sequential"}:
        return False
    given = (n for n in ast.walk(scope) if isinstance(n, ast.Return | ast.Yield))
    if any(_mentions(module, each, call) for each in given):
        return False
    return bool(names & {"predict", "evaluate", "predict_on_batch"}) and not _has_cache(scope)


def _has_cache(scope: ast.AST) -> bool:
    return bool(getattr(scope, "decorator_list", []))


def _mentions(module: Module, node: ast.AST, call: ast.Call) -> bool:
    """Tell whether a statement gives the model itself: `return model`, `return load_model(…)`."""
    statement = module.statement(call)
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    names = {target.id for target in targets if isinstance(target, ast.Name)}
    value = getattr(node, "value", None)
    parts = value.elts if isinstance(value, ast.Tuple) else [value]
    return any(part is call or name_of(part) in names for part in parts if part is not None)


# -- rounds of a search -----------------------------------------------------------------------


def searched(program: Program, module: Module) -> Iterator[Rebuild]:
    """Yield loops that build a model in each turn and free none.

    By the call of `fit` whose result keeps the model, or by the one that builds it.
    """
    if module.calls(*_FREES):
        return
    for call in module.calls(*_RESULTS):
        loops = [
            t for t in turns_around(program, module, call) if t.module is module and not t.calls
        ]
        receiver = call.func.value if isinstance(call.func, ast.Attribute) else None
        if not loops or receiver is None or not is_many(program, loops, MIN_ROUNDS):
            continue
        if not isinstance(receiver, ast.Name) or not is_model(program, module, receiver):
            continue
        is_built = is_new_in_turn(program, module, receiver, loops[0].loop)
        if not is_built or _frees(program, module, receiver):
            continue
        # Folds are few, and people keep what they gave.
        is_search = not any(_is_over_folds(each.loop) for each in loops)
        if is_search and not _is_collected(loops[-1].loop, receiver.id):
            kind = "kept" if _keeps_history(module, call) else "dropped"
            rounds = _rounds(program, loops)
            if kind == "kept" or rounds is not None:
                where = call if kind == "kept" else _built(program, module, receiver) or call
                yield Rebuild(where, loops[0], kind, rounds)


def _built(program: Program, module: Module, model: ast.Name) -> ast.Call | None:
    """Return the one call that a name of a model is given the result of."""
    bound = program.files.bindings(module).reaching(model, model.id)
    value = bound[0].value if len(bound) == 1 else None
    return value if isinstance(value, ast.Call) else None


def _is_over_folds(loop: ast.AST) -> bool:
    iterated = loop.iter if isinstance(loop, ast.For) else None
    calls = [n for n in ast.walk(iterated) if isinstance(n, ast.Call)] if iterated else []
    return any(name_of(call.func) == "split" for call in calls)


def _rounds(program: Program, loops: list[Turns]) -> int | None:
    found = 1
    for each in loops:
        number = count_turns(program, each.module, each.loop)
        if number is None:
            return None
        found *= number
    return found


def _frees(program: Program, module: Module, receiver: ast.Name) -> bool:
    """Tell whether what builds the model frees the one before."""
    for value in program.values(module, receiver):
        place = value.module if isinstance(value, Made) else None
        if place is not None and place.calls(*_FREES):
            return True
    return False


def _is_collected(loop: ast.AST, name: str) -> bool:
    """Tell whether the models themselves are kept, as an ensemble is."""
    for node in ast.walk(loop):
        if isinstance(node, ast.Call) and name_of(node.func) in ("append", "extend", "add"):
            parts = [p for a in node.args for p in getattr(a, "elts", [a])]
            if any(name_of(part) == name for part in parts):
                return True
        if isinstance(node, ast.Assign) and name_of(node.value) == name:
            return any(isinstance(t, ast.Subscript | ast.Attribute) for t in node.targets)
    return False


def _keeps_history(module: Module, call: ast.Call) -> bool:
    """Tell whether what `fit` returns is put into a list, and not its numbers alone."""
    above = module.parent(call)
    if isinstance(above, ast.Call) and name_of(above.func) == "append":
        return True
    target = above.targets[0] if isinstance(above, ast.Assign) else None
    if not isinstance(target, ast.Name):
        return isinstance(target, ast.Subscript)
    loops = module.loops(call)
    appended = (
        n for n in ast.walk(loops[0]) if isinstance(n, ast.Call) and name_of(n.func) == "append"
    )
    return any(
        isinstance(a, ast.Name) and a.id == target.id for call in appended for a in call.args
    )


CAUSE = Cause(
    title="Models are built in a loop and not freed",
    symptom=Symptom.MEMORY,
    detect=detect,
    scan=scan,
    fix=fix,
)
