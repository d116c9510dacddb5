"""`cache` keeps pictures that were changed at random, and every epoch gets the same ones.

What goes wrong: a cache keeps what the stages in front of it give in the first epoch. A map that
flips, crops or colours at random, standing in front of it, is not run again: each picture is
changed once and looks the same for the rest of the training. That is no augmentation, only other
data, and nothing in the losses says so.

How it shows: in front of a `cache` is a `map` whose function surely draws random numbers.

Example:
    dataset = dataset.map(load).map(flip_at_random).cache()

Use instead:
    dataset = dataset.map(load).cache().map(flip_at_random)

Fix class: repairs. The cache moves in front of the random map; a map that reads files and draws at
random has to be split by hand.

When it is wrong: where one fixed set of changed pictures is what is wanted. Data that is only
evaluated with, and training of a single epoch, are not reported.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator

from quickfit.causes._cause import Cause
from quickfit.causes._shared.dataset_chains import reordered
from quickfit.causes._shared.dataset_elements import Step, consumers, steps
from quickfit.code import Module, Program
from quickfit.code.conditions import Reach
from quickfit.code.datasets import (
    MAPPING,
    Chain,
    Stage,
    chain_of,
    chains,
    chains_of,
    conditions_to_reach,
    frames_of,
)
from quickfit.code.keras_models import Feed
from quickfit.code.loops import repeating_loop
from quickfit.code.syntax import Function, argument, own_nodes
from quickfit.code.values import Frame, Made
from quickfit.findings import Change, Effect, FixClass, Spotted, Symptom

_CHECKED = re.compile(r"(^|_)(val|valid|validation|test|eval|evaluation|dev)(_|$|ds|set)", re.I)
# Give numbers, of which data is made up.
NUMBERS = ("range", "counter", "random")


def scan(module: Module, program: Program) -> Iterator[Spotted]:
    """Report every `cache` with a random map in front of it."""
    for call in module.calls("cache"):
        if not isinstance(call.func, ast.Attribute):
            continue
        for frame in (None, *frames_of(program, module, call)):
            found = _drawn(program, module, call, frame)
            if found is not None:
                # What other calls of the function want of it may be another order.
                change = _change(program, module, call, found[0]) if frame is None else None
                yield _spotted(module, call, found, change)
                break


def _drawn(
    program: Program, module: Module, cache: ast.Call, frame: Frame | None
) -> tuple[Stage, Step] | None:
    """Return what draws at random in front of a cache, in one call of its function or in all."""
    values = program.values(module, cache, frame)
    for chain in dict.fromkeys(c for value in values for c in chains_of(value)):
        found = _random(program, (module, frame), chain, cache)
        if found is not None and not _is_harmless(program, module, cache, frame):
            return found
    return None


def _random(
    program: Program, at: tuple[Module, Frame | None], chain: Chain, cache: ast.Call
) -> tuple[Stage, Step] | None:
    """Return the first stage in front of a cache that draws at random, and where it does."""
    before = list(chain.before(cache))
    last = max((i for i, s in enumerate(before) if s.name == "cache"), default=-1)
    for stage in before[last + 1 :]:
        if stage.name not in MAPPING or _excludes(program, at, cache, stage):
            continue
        random = [step for step in steps(program, stage) if step.is_random]
        changing = [step for step in random if not step.is_bare or _changes(program, chain, step)]
        if changing:
            return stage, changing[0]
    return None


def _changes(program: Program, chain: Chain, step: Step) -> bool:
    """Tell whether random numbers are for changing data; they may as well be the data."""
    if chain.stages[0].name.rsplit(".", 1)[-1].lower() in NUMBERS:
        return False
    return not _is_seeded(program, step) and mixes(step.module, step.call)


def _is_seeded(program: Program, step: Step) -> bool:
    """Tell whether numbers come from a generator that is made anew with a seed."""
    of = step.call.func.value if isinstance(step.call.func, ast.Attribute) else None
    made = program.only(step.module, of)
    if not isinstance(made, Made) or step.module.function(made.call) is None:
        return False
    return bool(made.call.args or made.call.keywords)


def _excludes(
    program: Program, at: tuple[Module, Frame | None], cache: ast.Call, stage: Stage
) -> bool:
    """Tell whether a condition keeps the map out, or may do so wherever the cache is."""
    module, frame = at
    mapped = _open(Reach(program.resolver, stage.module, stage.frame), stage.call)
    cached = _open(Reach(program.resolver, module, frame), cache)
    if mapped is None or cached is None:
        return True
    return bool(_names(mapped - cached) & _names(cached - mapped))


def _open(reach: Reach, call: ast.Call) -> set[ast.expr] | None:
    """Return the conditions around a call that may hold or not; None where one does not."""
    around = conditions_to_reach(reach.module, call)
    answers = {test: reach.holds(test) for test in around}
    if any(answers[test] is (not wanted) for test, wanted in around.items()):
        return None
    return {test for test, holds in answers.items() if holds is None}


def _names(tests: Iterable[ast.expr]) -> set[str]:
    return {n.id for test in tests for n in ast.walk(test) if isinstance(n, ast.Name)}


def _is_harmless(program: Program, module: Module, cache: ast.Call, frame: Frame | None) -> bool:
    """Tell whether nothing is lost: the data is only checked with, or gone through once."""
    fed = consumers(program, module, cache)
    mine = [feed for feed in fed if frame is None or _comes_by(program, feed, cache, frame)]
    if mine:
        return all(not feed.is_training or _is_single(program, feed) for feed in mine)
    made = module.statement(cache) if frame is None else frame.module.statement(frame.call)
    targets = made.targets if isinstance(made, ast.Assign) else []
    return any(isinstance(t, ast.Name) and _CHECKED.search(t.id) for t in targets)


def _comes_by(program: Program, feed: Feed, cache: ast.Call, frame: Frame) -> bool:
    """Tell whether the data that is fed has been cached in this call of the function."""
    stages = [s for c in chains(program, feed.fitting.module, feed.data) for s in c.stages]
    frames = [stage.frame for stage in stages if stage.call is cache]
    return any(found is not None and found.call is frame.call for found in frames)


def _is_single(program: Program, feed: Feed) -> bool:
    """Tell whether a `fit` goes through its data once."""
    fitting = feed.fitting
    epochs = fitting.given("epochs")
    is_one = epochs is None or program.literal(fitting.module, epochs) == 1
    if not is_one or fitting.is_open or feed.steps is not None:
        return False
    stages = [s for c in chains(program, fitting.module, feed.data) for s in c.stages]
    if any(stage.name == "repeat" for stage in stages):
        return False
    return repeating_loop(program, fitting.module, fitting.call) is None


def _spotted(
    module: Module, call: ast.Call, found: tuple[Stage, Step], change: Change | None
) -> Spotted:
    stage, random = found
    name = _mapped_name(stage)
    drawn = random.name.rsplit(".", 1)[-1]
    where = "" if stage.module is not module else f" at line {_line(stage)}"
    return Spotted(
        where=module.span(call),
        summary=f"`cache` keeps what `{name}`{where} gives in the first epoch: `{drawn}` draws once"
        " for each element, and every epoch gets the same",
        effect=Effect.WRONG,
        related=(
            (stage.module.span(stage.call), "mapped here, in front of the cache"),
            (random.module.span(random.call), "drawn at random here"),
        ),
        change=change,
    )


def _line(stage: Stage) -> int:
    return stage.call.func.end_lineno or stage.call.lineno


def _mapped_name(stage: Stage) -> str:
    given = argument(stage.call, "map_func", 0)
    if isinstance(given, ast.Name | ast.Attribute):
        return f"{stage.name}({ast.unparse(given)})"
    return f"{stage.name}(…)"


def _change(program: Program, module: Module, call: ast.Call, stage: Stage) -> Change | None:
    if stage.module is not module or any(step.reads for step in steps(program, stage)):
        return None
    chain = chain_of(module, call)
    found = [step.call for step in chain.steps] if chain is not None else []
    if chain is None or call not in found or stage.call not in found:
        return None
    begin, end = found.index(stage.call), found.index(call)
    edits = reordered(module, chain, begin, [end, *range(begin, end)])
    if not edits:
        return None
    return Change("Cache before the random map", FixClass.REPAIRS, edits)


MAX_ROUNDS = 4


def mixes(module: Module, draw: ast.Call) -> bool:
    """Tell whether the result of a call meets an argument of the function around it.

    `x + normal(shape)` does, and so does a draw that decides what is done to `x`. Data that is
    made up of random numbers meets nothing.
    """
    function = module.function(draw)
    if function is None:
        return False
    given = _arguments(function)
    if _mentions(draw, given):
        return True
    nodes = own_nodes(function)
    drawn, given = _derived(nodes, set(), draw), _derived(nodes, given, None) | given
    given -= drawn
    return any(_joins(node, drawn, draw, given) for node in nodes)


def _arguments(function: Function) -> set[str]:
    given = function.args
    names = {a.arg for a in (*given.posonlyargs, *given.args, *given.kwonlyargs)}
    return names - {"self", "cls"}


def _derived(nodes: list[ast.AST], names: set[str], call: ast.Call | None) -> set[str]:
    """Return the names that are assigned something made of names, or of a call."""
    found = set(names)
    assigned = [n for n in nodes if isinstance(n, ast.Assign)]
    for _ in range(MAX_ROUNDS):
        for node in assigned:
            if _mentions(node.value, found) or (call is not None and _holds(node.value, call)):
                found |= {
                    n.id for t in node.targets for n in ast.walk(t) if isinstance(n, ast.Name)
                }
    return found


def _joins(node: ast.AST, drawn: set[str], draw: ast.Call, given: set[str]) -> bool:
    """Tell whether an operation, a call or a choice takes both."""
    if isinstance(node, ast.Call) and node is draw:
        return False
    if not isinstance(node, ast.BinOp | ast.Call | ast.IfExp | ast.If):
        return False
    return (_mentions(node, drawn) or _holds(node, draw)) and _mentions(node, given)


def _mentions(node: ast.AST, names: set[str]) -> bool:
    return any(isinstance(n, ast.Name) and n.id in names for n in ast.walk(node))


def _holds(node: ast.AST, call: ast.Call) -> bool:
    return any(n is call for n in ast.walk(node))


CAUSE = Cause(title="A cache keeps what was drawn at random", symptom=Symptom.WRONG, scan=scan)
