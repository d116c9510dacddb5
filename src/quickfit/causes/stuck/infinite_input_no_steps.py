"""The data is endless and nobody says after how many batches an epoch, or a validation, is over.

Why it is slow: `.repeat()` without a number and a generator with `while True` never run out.
Without `steps_per_epoch` the first epoch never ends: the bar counts on without a total, and no
checkpoint, validation or learning-rate schedule ever comes. Without `validation_steps` it is the
validation that never ends: the bar stands at the last step of the epoch and looks frozen.

How it shows: the dataset tells itself that it is endless, or all that the generator does is in a
`while True` that nothing leaves; `fit` was given no number of steps; and the epoch, or the
validation, has lasted for a quarter of a minute. The text of a script shows it as well.

Example:
    train = train.shuffle(1000).repeat().batch(32)
    test = test.repeat().batch(32)
    model.fit(train, validation_data=test, epochs=10)

Use instead:
    train = train.shuffle(1000).batch(32)  # fit starts it anew for every epoch
    test = test.batch(32)
    model.fit(train, validation_data=test, epochs=10)

Fix class: repairs, where a `.repeat()` is for this call alone: without it, an epoch is the whole
data. Otherwise shown only: for a generator give `steps_per_epoch=len(paths) // batch_size`, and
make sure that it is not 0: `validation_steps=0` is taken as not given.

When it is wrong: a training may be meant to have one endless epoch that a callback ends. Where the
text of the script sets `stop_training`, nothing is said.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from quickfit.causes._cause import Cause, silence_finding
from quickfit.causes._shared.generators import Endless, endless_input
from quickfit.code.calls import unpack_keyword_dicts
from quickfit.code.keras_models import Feed, feeds, fittings, is_missing
from quickfit.code.lines import is_endless
from quickfit.code.module import Module
from quickfit.code.program import Program
from quickfit.code.values import Instance
from quickfit.code.versions import uses_legacy_keras
from quickfit.findings import (
    Change,
    Edit,
    Effect,
    Evidence,
    Finding,
    Fix,
    FixClass,
    Location,
    Spotted,
    Symptom,
)
from quickfit.liveness.reason import Mechanism, Proof, Reason
from quickfit.liveness.scene import Scene
from quickfit.signals import Signals

# Endless data is told of once an epoch has lasted this long.
MIN_EPOCH_S = 15.0
# Data that has not come for this long, or for two steps, does not come any more.
STILL_COMING_S = 5.0
ENDLESS = -1


def detect(signals: Signals) -> Finding | None:
    """Report what was seen while the run was quiet."""
    return silence_finding(signals, "infinite-input-no-steps")


def scan(module: Module, program: Program) -> Iterator[Spotted]:
    """Report endless data that is given to Keras without a number of steps."""
    for feed in _stepless(module, program):
        source = endless_input(program, module, feed.data)
        if source is None or (feed.is_training and _is_stopped(program, feed)):
            continue
        if source.kind != "generator" and uses_legacy_keras(program, module):
            continue  # Keras 2 refuses such a dataset at once
        yield Spotted(
            where=module.span(feed.fitting.call),
            summary=_summary(feed, source),
            effect=Effect.HANGS,
            related=(
                (module.span(feed.data), "the data"),
                (source.module.span(_head(source)), "never ends"),
            ),
            change=_without_repeat(module, program, feed, source),
        )


def _stepless(module: Module, program: Program) -> Iterator[Feed]:
    for fitting in fittings(program, module):
        for feed in feeds(fitting):
            if is_missing(program, feed):
                yield feed


def _summary(feed: Feed, source: Endless) -> str:
    method = feed.fitting.method
    shown = feed.fitting.module.code(feed.data)
    data = f"`{shown}`" if "\n" not in shown and len(shown) <= 40 else "the data"
    ends = {"steps_per_epoch": "epoch", "validation_steps": "validation", "steps": f"`{method}`"}
    why = {"generator": "a loop that nothing leaves", "repeat": "`repeat()` without a number"}
    told = f" ({why[source.kind]})" if source.kind in why else ""
    what = "the first" if feed.steps_name != "steps" else "the"
    return (
        f"{data} never runs out{told} and `{method}` is given no `{feed.steps_name}`: "
        f"{what} {ends[feed.steps_name]} never ends"
    )


def _head(source: Endless) -> ast.AST:
    """Return what to point at: of a loop, what it runs over or its condition."""
    node = source.node
    if isinstance(node, ast.While):
        return node.test
    return node.iter if isinstance(node, ast.For) else node


def _is_stopped(program: Program, feed: Feed) -> bool:
    """Tell whether a callback of the program may end an epoch that has no end."""
    fitting, module = feed.fitting, feed.fitting.module
    places = [module]
    more = unpack_keyword_dicts(program, module, fitting.call) or {}
    where, given = more.get("callbacks", (module, fitting.given("callbacks")))
    for value in program.values(where, given):
        parts = program.resolver.elements(value)
        places += [part.made.module for part in parts if isinstance(part, Instance)]
    return any("stop_training" in place.text for place in places)


def _without_repeat(module: Module, program: Program, feed: Feed, source: Endless) -> Change | None:
    """Return the change that takes a `repeat` away which nobody else has a use for."""
    call = source.node
    if source.kind != "repeat" or source.module is not module or not isinstance(call, ast.Call):
        return None
    if not isinstance(call.func, ast.Attribute) or not _is_for_this(module, program, feed, call):
        return None
    edit = _cut(module, call, call.func.value)
    if edit is None:
        return None
    return Change(
        title="Let the data end, so that an epoch can",
        kind=FixClass.REPAIRS,
        edits=(edit,),
        note="`fit` begins the data anew for every epoch.",
    )


def _cut(module: Module, call: ast.Call, before: ast.expr) -> Edit | None:
    """Return the edit that takes a stage out of a chain; comments of the stage before it stay."""
    begin, end = module.end(before), module.end(call)
    between = module.lines[begin[0] - 1][begin[1] :] if begin[0] != end[0] else ""
    if between.strip(" )").startswith("#"):
        begin = (end[0] - 1, len(module.lines[end[0] - 2]))
        if module.lines[end[0] - 1][: end[1]].strip() != ".repeat()":
            return None
    return Edit(module.path, begin, end, "") if ")" not in between else None


def _is_for_this(module: Module, program: Program, feed: Feed, call: ast.Call) -> bool:
    """Tell whether a dataset goes only to calls that take all of it."""
    if module.is_in(call, feed.data):
        return True
    statement = module.statement(call)
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return False
    target = statement.targets[0]
    if not isinstance(target, ast.Name) or module.function(call) is not module.function(feed.data):
        return False
    named = [n for n in module.all(ast.Name) if n.id == target.id]
    takers = [f.data for f in _stepless(module, program)]
    return all(n in takers or _is_handed_on(module, n) for n in named)


def _is_handed_on(module: Module, node: ast.Name) -> bool:
    """Tell whether a name only gets a value, or gives its own to itself: `ds = ds.batch(8)`."""
    if not isinstance(node.ctx, ast.Load):
        return isinstance(module.statement(node), ast.Assign)
    statement = module.statement(node)
    if not isinstance(statement, ast.Assign):
        return False
    return [ast.unparse(target) for target in statement.targets] == [node.id]


def show_endless_epoch(scene: Scene) -> Reason | None:
    """Tell of an epoch, or a validation, that never ends because its data does not."""
    loop = scene.loop
    if loop is None or loop.kind not in ("fit", "evaluate", "predict"):
        return None
    validates = loop.phase == "validation"
    limit = loop.facts.get("validation_steps" if validates else "steps_per_epoch")
    if not validates:
        limit = limit or loop.facts.get("steps")  # known from the start; the other after a step
    source = _endless_source(scene)
    if limit or source is None or _ends_by_itself(scene):
        return None
    if scene.still_s > max(STILL_COMING_S, 2 * scene.longest_s):
        return None  # the data has stopped coming: that is another story
    what, name = ("validation", "validation_steps") if validates else ("epoch", "steps_per_epoch")
    done = scene.stages[0].elements if validates and scene.stages else loop.steps
    return Reason(
        cause="infinite-input-no-steps",
        summary=f"the {what} never ends: its data is endless and `{name}` is not given",
        where=loop.location or source,
        evidence=(
            Evidence(f"batches in this {what} so far", done, "count"),
            Evidence(f"`{name}`", 0, "count", "not given"),
        ),
        advice=f"Give `fit` a `{name}`, or let the data end.",
        also=source,
        is_certain=loop.lasted_s >= MIN_EPOCH_S,
    )


def _ends_by_itself(scene: Scene) -> bool:
    """Tell whether a callback of the script's may end an epoch that has no end."""
    return any("stop_training" in text for text in scene.sources.values())


def _endless_source(scene: Scene) -> Location | None:
    """Return the line that makes the data endless."""
    if scene.cardinality == ENDLESS:
        repeats = [s for s in scene.stages if s.kind == "repeat" and s.location is not None]
        placed = [s for s in scene.stages if s.location is not None]
        return (repeats or placed or list(scene.stages))[0].location
    source = scene.inputs[-1] if scene.inputs else None
    where = source.location if source is not None else None
    if where is None or source is None or source.kind != "generator":
        return None
    return where if is_endless(scene.sources.get(where.file, ""), where.line) else None


CAUSE = Cause(
    title="An epoch or a validation never ends",
    symptom=Symptom.STUCK,
    detect=detect,
    scan=scan,
    advice=Fix("Say how many batches an epoch, or a validation, has", FixClass.SHOW_ONLY),
    live=(Mechanism(show_endless_epoch, Proof.COUNTED, is_told_of_moving_runs=True),),
)
