"""Turns a PyDataset over image files into a function that returns the equivalent dataset."""

from __future__ import annotations

import ast

from quickfit.findings import FixClass
from quickfit.fixes.change import Change, Edit
from quickfit.fixes.image_batches import Batches
from quickfit.fixes.image_classes import Class, chain_of, is_text, read
from quickfit.fixes.image_code import Pictures
from quickfit.fixes.image_expressions import Env
from quickfit.fixes.image_functions import free_names
from quickfit.fixes.image_generators import is_needed, names_of
from quickfit.fixes.image_layout import broken, comments_between, laid_out, quoted, with_comments
from quickfit.fixes.image_names import Names, parameters
from quickfit.fixes.image_pipeline import Pipeline, written
from quickfit.fixes.image_plan import Plan
from quickfit.fixes.image_prelude import stored
from quickfit.fixes.image_reading import Reading
from quickfit.fixes.image_sequence_uses import (
    batch_order,
    function_name,
    imports,
    instances,
)
from quickfit.fixes.image_unused import removals
from quickfit.fixes.image_values import INDEX, Facts, Item, Line, NotRecognisedError, Start, code
from quickfit.fixes.script import Function, Project, Script

_METHODS = {"__init__", "__len__", "__getitem__", "on_epoch_end"}


def sequence_to_dataset(project: Project, file: str, line: int, *, pillow: int) -> Change | None:
    """Return the change of the PyDataset at a line, or of the one that calls the code there."""
    script = project.script(file)
    if script is None:
        return None
    for found in _sequences(script, line):
        try:
            return _changed(project, script, found, pillow)
        except NotRecognisedError:
            continue
    return None


def _sequences(script: Script, line: int) -> list[ast.ClassDef]:
    every = [c for c in script.all(ast.ClassDef) if _is_sequence(script, c)]
    around = [
        c for c in every if any(b.lineno <= line <= script.end(b)[0] for b in chain_of(script, c))
    ]
    inside = {f.name for f in script.all(ast.FunctionDef) if f.lineno <= line <= script.end(f)[0]}
    callers = [c for c in every if inside & {code(n).split("(")[0] for n in _calls(c)}]
    return list(dict.fromkeys([*around, *callers]))


def _calls(node: ast.AST) -> list[ast.Call]:
    return [n for n in ast.walk(node) if isinstance(n, ast.Call)]


def _is_sequence(script: Script, node: ast.ClassDef) -> bool:
    return bool(chain_of(script, node))


def _followed(
    names: Names, node: ast.ClassDef, tf: str, pillow: int
) -> tuple[Class, Plan, Reading]:
    found = read(names.script, node)
    methods = {k: v for k, v in found.methods.items() if k not in _METHODS}
    own = {*parameters(found.init)[1:], *stored(found.prelude), *found.numbers}
    if any(free_names(m) & own for m in found.methods.values() if m is not found.init):
        raise NotRecognisedError  # a name of the file that means something else in the function
    changed = {k: found.method(v) for k, v in methods.items()}
    reading = Reading(names, Pictures(names, tf=tf, pillow=pillow), Facts(), changed)
    _take_numbers(reading, found)
    reading.taken = {*own, *found.attributes}
    batches = Batches(reading)
    batches.plan.prelude += found.prelude
    env: Env = {}
    if "on_epoch_end" in found.methods:
        batches.epoch_end(found.substituted(found.methods["on_epoch_end"]), env)
    returned = found.substituted(found.methods["__len__"])[-1]
    length = returned.value if isinstance(returned, ast.Return) else None
    counted = reading.batching.batches(length) if length is not None else None
    if counted is None:
        raise NotRecognisedError
    reading.facts.batch_size, reading.facts.drops = counted
    given = parameters(found.methods["__getitem__"])
    if len(given) != 2:
        raise NotRecognisedError
    env[given[1]] = Start(0, counts_batches=True)
    plan = batches.returned(found.substituted(found.methods["__getitem__"]), env)
    return found, plan, reading


def _take_numbers(reading: Reading, found: Class) -> None:
    """Take the attributes that hold the numbers of all items."""
    reading.all_numbers |= set(found.numbers)
    numbers = Item(ast.Name(INDEX, ast.Load()))
    reading.facts.lists |= dict.fromkeys(found.numbers, numbers)
    reading.facts.lengths += found.numbers.values()


def _changed(project: Project, script: Script, node: ast.ClassDef, pillow: int) -> Change:
    if script.parent(node) is not script.tree:
        raise NotRecognisedError
    tf, added = script.import_of("tensorflow", "tf")
    found, plan, reading = _followed(names_of(project, script), node, tf, pillow)
    made_at = instances(project, node.name)
    function = function_name(project, node.name)
    order = batch_order(made_at, plan, found.init)
    made = written(
        plan,
        reading.facts,
        pictures=reading.pictures,
        scope=found.init,
        batch_order=order,
    )
    text = _text(script, node, found, plan, made, function, order)
    edits = [Edit(script.file, (node.lineno, 0), _end(script, node), text), *added]
    for use in made_at:
        edits += use.edits(function, order)
    edits += imports(project, node.name, function)
    edits += removals(project, script, edits)
    kind = FixClass.MAY_CHANGE_RESULTS if order else made.kind
    title = f"Load the pictures of `{node.name}` with tf.data, on all cores"
    return Change(title, kind, tuple(edits), made.note)


def _end(script: Script, node: ast.ClassDef) -> tuple[int, int]:
    last = script.end(node)[0]
    return last, len(script.lines[last - 1])


def _text(
    script: Script,
    node: ast.ClassDef,
    found: Class,
    plan: Plan,
    made: Pipeline,
    function: str,
    batch_order: str,
) -> str:
    """Return the function that takes the place of the class."""
    heads = _heads(script, found.init)
    if batch_order == "shuffle":
        if "shuffle" in parameters(found.init):
            raise NotRecognisedError
        heads.append("shuffle=False")
    taken = {
        *parameters(found.init),
        *(code(s.targets[0]) for s in plan.prelude if isinstance(s, ast.Assign)),
    }
    if {"ds", "load", "load_batch", "nearest"} & taken:
        raise NotRecognisedError
    kept = _kept(script, plan, made)
    if comments_between(script, node.lineno, node.lineno):
        raise NotRecognisedError
    body = with_comments(
        (*kept, *laid_out(made.lines, script)),
        script,
        node.lineno,
        script.end(node)[0],
        made.elsewhere,
    )
    first = node.body[0]
    rows = broken(f"def {function}({', '.join(heads)})")
    rows[-1] += ":"
    if is_text(first):
        rows += [
            f"    {row.strip()}" if row.strip() else "" for row in script.code(first).split("\n")
        ]
        rows += [""]
    rows += [f"    {row}" if row.strip() else "" for row in body.split("\n")]
    return "\n".join(rows)


def _heads(script: Script, init: Function) -> list[str]:
    """Return the parameters of a function that is called as a class was."""
    given = init.args
    if given.vararg or given.posonlyargs:
        raise NotRecognisedError
    first = len(given.args) - len(given.defaults)
    defaults = {a.arg: d for a, d in zip(given.args[first:], given.defaults, strict=True)}
    defaults |= {a.arg: d for a, d in zip(given.kwonlyargs, given.kw_defaults, strict=True) if d}
    rows = [_head(script, a, defaults.get(a.arg)) for a in given.args[1:]]
    named = [_head(script, a, defaults.get(a.arg)) for a in given.kwonlyargs]
    return [*rows, *(["*", *named] if named else [])]


def _head(script: Script, argument: ast.arg, default: ast.expr | None) -> str:
    name = argument.arg
    if argument.annotation is not None:
        name = f"{name}: {script.code(argument.annotation)}"
    if default is None:
        return name
    sign = " = " if argument.annotation is not None else "="
    return f"{name}{sign}{script.code(default)}"


def _kept(script: Script, plan: Plan, made: Pipeline) -> list[Line]:
    """Return the lines of `__init__` that the function still needs."""
    text = "\n".join(row.text for row in made.lines)
    kept = [s for s in plan.prelude if is_needed(s, plan.prelude, text)]
    if any(comments_between(script, s.lineno, (s.end_lineno or 0) - 1) for s in kept):
        raise NotRecognisedError
    return [Line(row, s.lineno) for s in kept for row in quoted(code(s), script).split("\n")]
