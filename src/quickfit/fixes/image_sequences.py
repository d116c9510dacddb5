"""Turns a PyDataset over image files into a function that returns the equivalent dataset."""

from __future__ import annotations

import ast
import copy
import re
from dataclasses import dataclass, field

from quickfit.findings import FixClass
from quickfit.fixes.change import Change, Edit
from quickfit.fixes.image_batches import Batches, Plan
from quickfit.fixes.image_code import Pictures
from quickfit.fixes.image_expressions import Env
from quickfit.fixes.image_names import Names, parameters
from quickfit.fixes.image_pipeline import Pipeline, comments_between, with_comments, written
from quickfit.fixes.image_reading import Reading, free_names
from quickfit.fixes.image_sequence_uses import (
    batch_order,
    function_name,
    imports,
    instances,
)
from quickfit.fixes.image_values import Facts, Line, NotRecognisedError, Start, code
from quickfit.fixes.script import Function, Project, Script

_BASES = ("PyDataset", "Sequence")
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
    every = [c for c in script.all(ast.ClassDef) if _is_sequence(c)]
    around = [c for c in every if c.lineno <= line <= script.end(c)[0]]
    inside = {f.name for f in script.all(ast.FunctionDef) if f.lineno <= line <= script.end(f)[0]}
    callers = [c for c in every if inside & {code(n).split("(")[0] for n in _calls(c)}]
    return list(dict.fromkeys([*around, *callers]))


def _calls(node: ast.AST) -> list[ast.Call]:
    return [n for n in ast.walk(node) if isinstance(n, ast.Call)]


def _is_sequence(node: ast.ClassDef) -> bool:
    return len(node.bases) == 1 and code(node.bases[0]).rsplit(".", 1)[-1] in _BASES


@dataclass
class _Class:
    """The parts of a class, with `self.name` written as plain names."""

    methods: dict[str, Function]
    init: Function
    prelude: list[ast.stmt] = field(default_factory=list)
    attributes: dict[str, ast.expr] = field(default_factory=dict)
    numbers: set[str] = field(default_factory=set)


class _Self(ast.NodeTransformer):
    """Puts in the place of `self.name` what the class was given for it."""

    def __init__(self, attributes: dict[str, ast.expr], methods: dict[str, Function]) -> None:
        self.attributes = attributes
        self.methods = methods

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        if isinstance(node.value, ast.Name) and node.value.id == "self":
            if node.attr in self.methods:
                return node
            found = self.attributes.get(node.attr, ast.Name(node.attr, ast.Load()))
            return ast.copy_location(copy.deepcopy(found), node)
        return self.generic_visit(node)


def _read(node: ast.ClassDef) -> _Class:
    methods: dict[str, Function] = {f.name: f for f in node.body if isinstance(f, ast.FunctionDef)}
    others = [s for s in node.body if not isinstance(s, ast.FunctionDef) and not _is_text(s)]
    if others or not {"__init__", "__len__", "__getitem__"} <= set(methods):
        raise NotRecognisedError
    found = _Class(methods, methods["__init__"])
    for name, method in methods.items():
        if name not in ("__init__", "on_epoch_end") and _stores(method):
            raise NotRecognisedError
    for statement in found.init.body:
        _of_init(statement, found)
    return found


def _stores(method: Function) -> bool:
    nodes = [n for n in ast.walk(method) if isinstance(n, ast.Attribute)]
    return any(isinstance(n.ctx, ast.Store) and code(n.value) == "self" for n in nodes)


def _of_init(statement: ast.stmt, found: _Class) -> None:
    """Take a statement of `__init__`: an attribute, or a call that is Keras's."""
    text = code(statement)
    if _is_text(statement) or re.match(r"super\(.*?\)\.__init__\(", text):
        return
    if text == "self.on_epoch_end()":
        return
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        raise NotRecognisedError
    target, value = statement.targets[0], statement.value
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        if len(target.elts) != len(value.elts) or not all(map(_is_name, value.elts)):
            raise NotRecognisedError
        for one, given in zip(target.elts, value.elts, strict=True):
            _attribute(one, given, statement, found)
        return
    _attribute(target, value, statement, found)


def _is_name(node: ast.expr) -> bool:
    return isinstance(node, ast.Name | ast.Constant)


def _attribute(target: ast.expr, given: ast.expr, statement: ast.stmt, found: _Class) -> None:
    """Take `self.name = value`."""
    if not isinstance(target, ast.Attribute) or code(target.value) != "self":
        raise NotRecognisedError
    value = _Self(found.attributes, found.methods).visit(copy.deepcopy(given))
    if any(isinstance(n, ast.Name) and n.id == "self" for n in ast.walk(value)):
        raise NotRecognisedError
    if isinstance(value, ast.Name | ast.Constant) or re.fullmatch(r"len\([\w.]+\)", code(value)):
        found.attributes[target.attr] = value
        return
    if _is_numbers(value):
        found.numbers.add(target.attr)
        return
    if target.attr in parameters(found.init):
        name = ast.Name(target.attr, ast.Load())
        if any(code(v) == target.attr for v in found.attributes.values()):
            raise NotRecognisedError
        found.attributes[target.attr] = name
    assign = ast.Assign([ast.Name(target.attr, ast.Store())], value)
    found.prelude.append(ast.fix_missing_locations(ast.copy_location(assign, statement)))


def _is_numbers(node: ast.expr) -> bool:
    return bool(re.fullmatch(r"(np|numpy)\.arange\(len\([\w.]+\)\)", code(node))) or bool(
        re.fullmatch(r"list\(range\(len\([\w.]+\)\)\)", code(node))
    )


def _is_text(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _substituted(method: Function, found: _Class) -> list[ast.stmt]:
    changed = _Self(found.attributes, found.methods).visit(copy.deepcopy(method))
    body: list[ast.stmt] = ast.fix_missing_locations(changed).body
    return body[1:] if _is_text(body[0]) else body


def _followed(
    script: Script, node: ast.ClassDef, tf: str, pillow: int
) -> tuple[_Class, Plan, Reading]:
    names = Names(script)
    found = _read(node)
    methods = {k: v for k, v in found.methods.items() if k not in _METHODS}
    if any(free_names(m) & {*parameters(found.init)[1:]} for m in found.methods.values()):
        raise NotRecognisedError  # a name of the file that `__init__` uses for something else
    changed = {k: _method(v, found) for k, v in methods.items()}
    reading = Reading(names, Pictures(names, tf=tf, pillow=pillow), Facts(), changed)
    reading.all_numbers |= found.numbers
    reading.taken = {*parameters(found.init), *found.attributes, *found.numbers}
    batches = Batches(reading)
    env: Env = {}
    if "on_epoch_end" in found.methods:
        body = _substituted(found.methods["on_epoch_end"], found)
        batches.epoch_end(body, env)
    returned = _substituted(found.methods["__len__"], found)[-1]
    length = returned.value if isinstance(returned, ast.Return) else None
    counted = reading.batching.batches(length) if length is not None else None
    if counted is None:
        raise NotRecognisedError
    reading.facts.batch_size, reading.facts.drops = counted
    given = parameters(found.methods["__getitem__"])
    if len(given) != 2:
        raise NotRecognisedError
    env[given[1]] = Start(0, counts_batches=True)
    batches.plan.prelude += found.prelude
    plan = batches.returned(_substituted(found.methods["__getitem__"], found), env)
    return found, plan, reading


def _method(method: Function, found: _Class) -> Function:
    changed = _Self(found.attributes, found.methods).visit(copy.deepcopy(method))
    return ast.fix_missing_locations(changed)  # type: ignore[no-any-return]


def _changed(project: Project, script: Script, node: ast.ClassDef, pillow: int) -> Change:
    if node.decorator_list or node.keywords or script.parent(node) is not script.tree:
        raise NotRecognisedError
    tf, added = script.import_of("tensorflow", "tf")
    found, plan, reading = _followed(script, node, tf, pillow)
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
    kind = FixClass.MAY_CHANGE_RESULTS if order else made.kind
    title = f"Load the pictures of `{node.name}` with tf.data, on all cores"
    return Change(title, kind, tuple(edits), made.note)


def _end(script: Script, node: ast.ClassDef) -> tuple[int, int]:
    last = script.end(node)[0]
    return last, len(script.lines[last - 1])


def _text(
    script: Script,
    node: ast.ClassDef,
    found: _Class,
    plan: Plan,
    made: Pipeline,
    function: str,
    batch_order: str,
) -> str:
    """Return the function that takes the place of the class."""
    heads = [_argument(script, found.init, name) for name in parameters(found.init)[1:]]
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
    kept = [Line(code(s), s.lineno) for s in plan.prelude]
    if comments_between(script, node.lineno, node.lineno):
        raise NotRecognisedError
    body = with_comments(
        (*kept, *made.lines), script, node.lineno, script.end(node)[0], made.elsewhere
    )
    first = node.body[0]
    rows = [f"def {function}({', '.join(heads)}):"]
    if _is_text(first):
        rows += [
            f"    {row.strip()}" if row.strip() else "" for row in script.code(first).split("\n")
        ]
        rows += [""]
    rows += [f"    {row}" if row.strip() else "" for row in body.split("\n")]
    return "\n".join(rows)


def _argument(script: Script, init: Function, name: str) -> str:
    given = init.args
    if given.vararg or given.kwonlyargs or given.posonlyargs:
        raise NotRecognisedError
    names = [a.arg for a in given.args]
    at = names.index(name) - (len(names) - len(given.defaults))
    return f"{name}={script.code(given.defaults[at])}" if at >= 0 else name
