"""Turns a PyDataset over image files into a function that returns the equivalent dataset."""

from __future__ import annotations

import ast
import copy
import re
from dataclasses import dataclass, field

from quickfit.causes._shared.image_pipeline import loops
from quickfit.causes._shared.image_pipeline.batches import Batches
from quickfit.causes._shared.image_pipeline.calls import Reading
from quickfit.causes._shared.image_pipeline.dataset_code import Pipeline, written
from quickfit.causes._shared.image_pipeline.expressions import Env
from quickfit.causes._shared.image_pipeline.functions import free_names
from quickfit.causes._shared.image_pipeline.generators import is_needed, names_of
from quickfit.causes._shared.image_pipeline.layout import (
    broken,
    comments_between,
    laid_out,
    quoted,
    with_comments,
)
from quickfit.causes._shared.image_pipeline.loops import stored
from quickfit.causes._shared.image_pipeline.pictures import Pictures
from quickfit.causes._shared.image_pipeline.uses import removals
from quickfit.causes._shared.image_pipeline.values import (
    INDEX,
    Facts,
    Item,
    Line,
    Names,
    NotRecognisedError,
    Plan,
    Start,
    assignment,
    code,
)
from quickfit.code.module import Module
from quickfit.code.program import Program
from quickfit.code.syntax import Def, is_docstring, parameter_names, parse_expression
from quickfit.findings import Change, Edit, FixClass

_METHODS = {"__init__", "__len__", "__getitem__", "on_epoch_end"}


def sequence_to_dataset(program: Program, file: str, line: int, *, pillow: int) -> Change | None:
    """Return the change of the PyDataset at a line, or of the one that calls the code there."""
    module = program.find_module(file)
    if module is None:
        return None
    for found in _sequences(module, line):
        try:
            return _changed(program, module, found, pillow)
        except NotRecognisedError:
            continue
    return None


def _sequences(module: Module, line: int) -> list[ast.ClassDef]:
    every = [c for c in module.all(ast.ClassDef) if _is_sequence(module, c)]
    around = [
        c for c in every if any(b.lineno <= line <= module.end(b)[0] for b in chain_of(module, c))
    ]
    inside = {f.name for f in module.all(ast.FunctionDef) if f.lineno <= line <= module.end(f)[0]}
    callers = [c for c in every if inside & {code(n).split("(")[0] for n in _calls(c)}]
    return list(dict.fromkeys([*around, *callers]))


def _calls(node: ast.AST) -> list[ast.Call]:
    return [n for n in ast.walk(node) if isinstance(n, ast.Call)]


def _is_sequence(module: Module, node: ast.ClassDef) -> bool:
    return bool(chain_of(module, node))


def _followed(
    names: Names, node: ast.ClassDef, tf: str, pillow: int
) -> tuple[Class, Plan, Reading]:
    found = read(names.module, node)
    methods = {k: v for k, v in found.methods.items() if k not in _METHODS}
    own = {*parameter_names(found.init)[1:], *stored(found.prelude), *found.numbers}
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
    given = parameter_names(found.methods["__getitem__"])
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


def _changed(program: Program, module: Module, node: ast.ClassDef, pillow: int) -> Change:
    if module.parent(node) is not module.tree:
        raise NotRecognisedError
    tf, added = module.import_of("tensorflow", "tf")
    found, plan, reading = _followed(names_of(program, module), node, tf, pillow)
    made_at = instances(program, node.name)
    function = function_name(program, node.name)
    order = batch_order(made_at, plan, found.init)
    made = written(
        plan,
        reading.facts,
        pictures=reading.pictures,
        scope=found.init,
        batch_order=order,
    )
    text = _text(module, node, found, plan, made, function, order)
    edits = [Edit(module.path, (node.lineno, 0), _end(module, node), text), *added]
    for use in made_at:
        edits += use.edits(function, order)
    edits += imports(program, node.name, function)
    edits += removals(program, module, edits)
    kind = FixClass.MAY_CHANGE_RESULTS if order else made.kind
    title = f"Load the pictures of `{node.name}` with tf.data, on all cores"
    return Change(title, kind, tuple(edits), made.note)


def _end(module: Module, node: ast.ClassDef) -> tuple[int, int]:
    last = module.end(node)[0]
    return last, len(module.lines[last - 1])


def _text(
    module: Module,
    node: ast.ClassDef,
    found: Class,
    plan: Plan,
    made: Pipeline,
    function: str,
    batch_order: str,
) -> str:
    """Return the function that takes the place of the class."""
    heads = _heads(module, found.init)
    if batch_order == "shuffle":
        if "shuffle" in parameter_names(found.init):
            raise NotRecognisedError
        heads.append("shuffle=False")
    taken = {
        *parameter_names(found.init),
        *(code(s.targets[0]) for s in plan.prelude if isinstance(s, ast.Assign)),
    }
    if {"ds", "load", "load_batch", "nearest"} & taken:
        raise NotRecognisedError
    kept = _kept(module, plan, made)
    if comments_between(module, node.lineno, node.lineno):
        raise NotRecognisedError
    body = with_comments(
        (*kept, *laid_out(made.lines, module)),
        module,
        node.lineno,
        module.end(node)[0],
        made.elsewhere,
    )
    first = node.body[0]
    rows = broken(f"def {function}({', '.join(heads)})")
    rows[-1] += ":"
    if is_docstring(first):
        rows += [
            f"    {row.strip()}" if row.strip() else "" for row in module.code(first).split("\n")
        ]
        rows += [""]
    rows += [f"    {row}" if row.strip() else "" for row in body.split("\n")]
    return "\n".join(rows)


def _heads(module: Module, init: Def) -> list[str]:
    """Return the parameters of a function that is called as a class was."""
    given = init.args
    if given.vararg or given.posonlyargs:
        raise NotRecognisedError
    first = len(given.args) - len(given.defaults)
    defaults = {a.arg: d for a, d in zip(given.args[first:], given.defaults, strict=True)}
    defaults |= {a.arg: d for a, d in zip(given.kwonlyargs, given.kw_defaults, strict=True) if d}
    rows = [_head(module, a, defaults.get(a.arg)) for a in given.args[1:]]
    named = [_head(module, a, defaults.get(a.arg)) for a in given.kwonlyargs]
    return [*rows, *(["*", *named] if named else [])]


def _head(module: Module, argument: ast.arg, default: ast.expr | None) -> str:
    name = argument.arg
    if argument.annotation is not None:
        name = f"{name}: {module.code(argument.annotation)}"
    if default is None:
        return name
    sign = " = " if argument.annotation is not None else "="
    return f"{name}{sign}{module.code(default)}"


def _kept(module: Module, plan: Plan, made: Pipeline) -> list[Line]:
    """Return the lines of `__init__` that the function still needs."""
    text = "\n".join(row.text for row in made.lines)
    kept = [s for s in plan.prelude if is_needed(s, plan.prelude, text)]
    if any(comments_between(module, s.lineno, (s.end_lineno or 0) - 1) for s in kept):
        raise NotRecognisedError
    return [Line(row, s.lineno) for s in kept for row in quoted(code(s), module).split("\n")]


# What Keras asks a PyDataset for; a dataset has its own threads.
_OF_KERAS = {"workers", "use_multiprocessing", "max_queue_size"}


@dataclass
class Instance:
    """A call that makes the PyDataset, and whether `fit` trains on it."""

    module: Module
    call: ast.Call
    is_trained_on: bool
    keeps_order: bool

    def edits(self, function: str, batch_order: str) -> list[Edit]:
        """Return the edits that call the function instead."""
        call = self.call
        kept = [k for k in call.keywords if k.arg not in _OF_KERAS]
        if any(k.arg is None for k in call.keywords):
            raise NotRecognisedError
        if len(kept) == len(call.keywords) and not (batch_order and self.is_trained_on):
            return [self.module.replace(call.func, self._name(function))]
        arguments = [self.module.code(a) for a in call.args]
        arguments += [f"{k.arg}={self.module.code(k.value)}" for k in kept]
        if batch_order == "shuffle" and self.is_trained_on and not self.keeps_order:
            arguments.append("shuffle=True")
        statement = self.module.statement(call)
        if self.module.has_comment(statement, statement):
            raise NotRecognisedError
        return [self.module.replace(call, f"{self._name(function)}({', '.join(arguments)})")]

    def _name(self, function: str) -> str:
        func = self.call.func
        return f"{code(func.value)}.{function}" if isinstance(func, ast.Attribute) else function


def instances(program: Program, name: str) -> list[Instance]:
    """Return the calls that make a PyDataset."""
    found = []
    for file in program.paths:
        module = program.find_module(file)
        for node in ast.walk(module.tree) if module else ():
            is_it = isinstance(node, ast.Name) and node.id == name
            is_it = is_it or (isinstance(node, ast.Attribute) and node.attr == name)
            if isinstance(node, ast.alias) and node.name == name and node.asname:
                raise NotRecognisedError
            if not is_it or module is None:
                continue
            if _is_super(module, node):
                continue
            call = module.parent(node)
            if not isinstance(call, ast.Call) or call.func is not node:
                raise NotRecognisedError
            found.append(_instance(module, call))
    if not any(use.is_trained_on for use in found):
        raise NotRecognisedError
    return found


def _is_super(module: Module, node: ast.AST) -> bool:
    """Tell whether a class is named in `super(Name, self)`."""
    parent = module.parent(node)
    return isinstance(parent, ast.Call) and code(parent.func) == "super"


def _instance(module: Module, call: ast.Call) -> Instance:
    parent = module.parent(call)
    values: list[ast.expr] = [call]
    if isinstance(parent, ast.Assign) and len(parent.targets) == 1:
        target = parent.targets[0]
        if not isinstance(target, ast.Name) or parent.value is not call:
            raise NotRecognisedError
        scope = module.around(parent, ast.FunctionDef) or module.tree
        names = [
            n for n in module.all(ast.Name, within=scope) if n.id == target.id and n is not target
        ]
        if any(not isinstance(n.ctx, ast.Load) for n in names) or not names:
            raise NotRecognisedError
        values = list(names)
    trained, orders = False, []
    for value in values:
        role, keeps = _role(module, value)
        trained = trained or role == "x"
        orders += [keeps] if role == "x" else []
    if len(set(orders)) > 1:
        raise NotRecognisedError
    return Instance(module, call, trained, bool(orders) and orders[0])


def _role(module: Module, value: ast.expr) -> tuple[str, bool]:
    """Return what a PyDataset is used for, and whether `fit` keeps the order of batches."""
    parent = module.parent(value)
    if isinstance(parent, ast.Call) and code(parent.func) == "len":
        return "len", False
    call, keyword = parent, ""
    if isinstance(parent, ast.keyword):
        keyword, call = parent.arg or "", module.parent(parent)
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
        raise NotRecognisedError
    named = {k.arg: k.value for k in call.keywords}
    is_first = bool(call.args) and call.args[0] is value
    if call.func.attr in ("evaluate", "predict") and (is_first or keyword == "x"):
        return "evaluated", False
    if call.func.attr != "fit" or None in named or "steps_per_epoch" in named:
        raise NotRecognisedError
    if keyword == "validation_data":
        return "evaluated", False
    if not (is_first or keyword == "x"):
        raise NotRecognisedError
    return "x", code(named["shuffle"]) == "False" if "shuffle" in named else False


def batch_order(made_at: list[Instance], plan: Plan, init: Def) -> str:
    """Return whether Keras shuffles whole batches: never, always or for some instances."""
    conditions = {condition for condition, _ in plan.shuffles}
    if conditions:
        for use in made_at:
            if use.is_trained_on and not use.keeps_order:
                _check_shuffled(use.call, init, conditions)
        return ""  # single pictures are shuffled, which does more
    trained = [use for use in made_at if use.is_trained_on and not use.keeps_order]
    if not trained:
        return ""
    return "always" if len(trained) == len(made_at) else "shuffle"


def _check_shuffled(call: ast.Call, init: Def, conditions: set[str]) -> None:
    """Make sure that the PyDataset trained on shuffles: else Keras shuffles its batches."""
    names = [a.arg for a in init.args.args][1:]
    defaults = dict(zip(reversed(names), reversed(init.args.defaults), strict=False))
    given = {**defaults, **dict(zip(names, call.args, strict=False))}
    given |= {k.arg: k.value for k in call.keywords if k.arg}
    for condition in conditions - {""}:
        name = re.sub(r"\s*(==|is) True$", "", condition)
        if name not in given or code(given[name]) != "True":
            raise NotRecognisedError


def function_name(program: Program, name: str) -> str:
    """Return a name for the function that takes the place of a class."""
    snake = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()
    texts = [program.find_module(file) for file in program.paths]
    taken = {n.id for s in texts if s for n in s.all(ast.Name)}
    taken |= {a.arg for s in texts if s for a in s.all(ast.arg)}
    taken |= {f.name for s in texts if s for f in s.all(ast.FunctionDef)}
    for candidate in (snake, f"{snake}_dataset"):
        if candidate not in taken:
            return candidate
    raise NotRecognisedError


def imports(program: Program, name: str, function: str) -> list[Edit]:
    """Return the edits of the imports of a class, in all files."""
    edits = []
    for file in program.paths:
        module = program.find_module(file)
        for node in module.all(ast.ImportFrom) if module else ():
            for alias in node.names:
                if alias.name == name and module is not None:
                    begin = (alias.lineno, alias.col_offset)
                    end = (alias.lineno, alias.col_offset + len(name))
                    edits.append(Edit(module.path, begin, end, function))
    return edits


_BASES = ("PyDataset", "Sequence")
# Bases that add nothing.
_EMPTY_BASES = ("ABC", "object")
_NUMBERS = r"((?:np|numpy)\.arange|list\(range)\(len\(([\w.]+)\)\)\)?"
_SIMPLE = (ast.Name, ast.Constant)


@dataclass
class Class:
    """The parts of a class, with `self.name` written as plain names.

    Args:
        methods: its methods, those it inherits among them.
        init: the `__init__` whose parameters it is made with.
        prelude: what `__init__` does that must be done by the function too.
        attributes: what attributes stand for, where that is a name or a number.
        numbers: attributes with the numbers of all items, and the list that these are of.
        chain: the class and those it inherits from.
    """

    methods: dict[str, Def]
    init: Def
    chain: list[ast.ClassDef]
    prelude: list[ast.stmt] = field(default_factory=list)
    attributes: dict[str, ast.expr] = field(default_factory=dict)
    numbers: dict[str, ast.expr] = field(default_factory=dict)

    def substituted(self, method: Def) -> list[ast.stmt]:
        """Return the statements of a method, behind its docstring, without `self`."""
        body: list[ast.stmt] = self.method(method).body
        return body[1:] if is_docstring(body[0]) else body

    def method(self, method: Def) -> Def:
        """Return a method with what attributes stand for."""
        changed = _Self(self.attributes, self.methods).visit(copy.deepcopy(method))
        return ast.fix_missing_locations(changed)  # type: ignore[no-any-return]


class _Self(ast.NodeTransformer):
    """Puts in the place of `self.name` what the class was given for it."""

    def __init__(self, attributes: dict[str, ast.expr], methods: dict[str, Def]) -> None:
        self.attributes = attributes
        self.methods = methods

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        if isinstance(node.value, ast.Name) and node.value.id == "self":
            if node.attr in self.methods:
                return node
            is_store = not isinstance(node.ctx, ast.Load)
            plain = ast.Name(node.attr, node.ctx)
            found = plain if is_store else self.attributes.get(node.attr, plain)
            return ast.copy_location(copy.deepcopy(found), node)
        return self.generic_visit(node)


class _Given(ast.NodeTransformer):
    """Puts in the place of parameters what they are given."""

    def __init__(self, values: dict[str, ast.expr]) -> None:
        self.values = values

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return copy.deepcopy(self.values.get(node.id, node))


def chain_of(module: Module, node: ast.ClassDef) -> list[ast.ClassDef]:
    """Return a class and those it inherits from; none where it is no PyDataset."""
    names = [code(b).rsplit(".", 1)[-1] for b in node.bases]
    names = [name for name in names if name not in _EMPTY_BASES]
    if len(names) != 1:
        return []
    own = [c for c in module.all(ast.ClassDef) if c.name == names[0] and c is not node]
    if not own:
        return [node] if names[0] in _BASES else []
    above = chain_of(module, own[0]) if len(own) == 1 and own[0].lineno < node.lineno else []
    return [node, *above] if above else []


def read(module: Module, node: ast.ClassDef) -> Class:
    """Return the parts of a class."""
    chain = chain_of(module, node)
    if not chain or any(c.decorator_list or c.keywords for c in chain):
        raise NotRecognisedError
    methods: dict[str, Def] = {}
    for one in reversed(chain):
        methods |= {f.name: f for f in one.body if isinstance(f, ast.FunctionDef)}
    if not {"__init__", "__len__", "__getitem__"} <= set(methods):
        raise NotRecognisedError
    if any(code(d) != "staticmethod" for f in methods.values() for d in f.decorator_list):
        raise NotRecognisedError
    found = Class(methods, methods["__init__"], chain)
    for name, method in methods.items():
        if name not in ("__init__", "on_epoch_end") and _stores(method):
            raise NotRecognisedError
    for one in reversed(chain):
        _of_body(one, found)
    inits = [f for c in chain for f in c.body if getattr(f, "name", "") == "__init__"]
    _of_init([f for f in inits if isinstance(f, ast.FunctionDef)], {}, found)
    return found


def _of_body(node: ast.ClassDef, found: Class) -> None:
    """Take the attributes that a class has by itself."""
    for statement in node.body:
        given = assignment(statement)
        if isinstance(statement, ast.FunctionDef | ast.Pass) or is_docstring(statement):
            continue
        if isinstance(statement, ast.AnnAssign) and statement.value is None:
            continue
        if given is None or not isinstance(given[0], ast.Name):
            raise NotRecognisedError
        found.prelude = [s for s in found.prelude if code(_target(s)) != given[0].id]
        found.attributes.pop(given[0].id, None)
        _attribute(given[0].id, given[1], statement, found)


def _target(statement: ast.stmt) -> ast.AST:
    given = assignment(statement)
    return given[0] if given is not None else statement


def _stores(method: Def) -> bool:
    nodes = [n for n in ast.walk(method) if isinstance(n, ast.Attribute)]
    return any(isinstance(n.ctx, ast.Store) and code(n.value) == "self" for n in nodes)


# -- what `__init__` does ----------------------------------------------------------------------


def _of_init(inits: list[Def], given: dict[str, ast.expr], found: Class) -> None:
    """Take the statements of `__init__`, and of those that it calls with `super()`."""
    init, *above = inits
    for statement in init.body:
        made = _Given(given).visit(copy.deepcopy(statement)) if given else statement
        call = made.value if isinstance(made, ast.Expr) else None
        if isinstance(call, ast.Call) and re.match(r"super\(.*?\)\.__init__$", code(call.func)):
            if above:
                _of_init(above, _arguments(above[0], call), found)
        elif not is_docstring(made):
            if loops.stored([statement]) & set(given):
                raise NotRecognisedError
            _of_statement(made, found)


def _arguments(function: Def, call: ast.Call) -> dict[str, ast.expr]:
    """Return what the parameters of a method are given; they must be names or written out."""
    given = function.args
    names = parameter_names(function)[1:]
    if given.vararg or len(call.args) > len(names):
        raise NotRecognisedError
    places = [a.arg for a in (*given.posonlyargs, *given.args)]
    found = dict(zip(reversed(places), reversed(given.defaults), strict=False))
    pairs = zip(given.kwonlyargs, given.kw_defaults, strict=True)
    found |= {a.arg: d for a, d in pairs if d is not None}
    found |= dict(zip(names, call.args, strict=False))
    found |= {k.arg: k.value for k in call.keywords if k.arg in names}
    if set(names) - set(found) or any(not isinstance(v, _SIMPLE) for v in found.values()):
        raise NotRecognisedError
    return {name: found[name] for name in names}


def _of_statement(statement: ast.stmt, found: Class) -> None:
    """Take a statement of `__init__`: an attribute, or one that stays as it is."""
    if _calls_epoch_end(statement):
        return
    given = assignment(statement)
    if given is not None and isinstance(given[0], ast.Attribute):
        _attribute(_attribute_name(given[0]), given[1], statement, found)
        return
    if given is not None and isinstance(given[0], ast.Tuple) and isinstance(given[1], ast.Tuple):
        targets, values = given[0].elts, given[1].elts
        if len(targets) != len(values) or not all(isinstance(v, _SIMPLE) for v in values):
            raise NotRecognisedError
        for one, value in zip(targets, values, strict=True):
            _attribute(_attribute_name(one), value, statement, found)
        return
    loops.check_kept(statement)
    names = loops.stored([statement])
    if names & {*parameter_names(found.init), *_attributes_of(found)}:
        raise NotRecognisedError  # a name that an attribute will have
    found.prelude.append(_plain(statement, found))


def _calls_epoch_end(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.If) and not statement.orelse and len(statement.body) == 1:
        return _calls_epoch_end(statement.body[0])
    return code(statement) == "self.on_epoch_end()"


def _attributes_of(found: Class) -> set[str]:
    """Return the names of all attributes that a class stores or asks itself for."""
    nodes = [n for f in found.methods.values() for n in ast.walk(f)]
    return {n.attr for n in nodes if isinstance(n, ast.Attribute) and code(n.value) == "self"}


def _attribute_name(target: ast.expr) -> str:
    if not isinstance(target, ast.Attribute) or code(target.value) != "self":
        raise NotRecognisedError
    return target.attr


def _plain(statement: ast.stmt, found: Class) -> ast.stmt:
    """Return a statement without `self`."""
    made: ast.stmt = _Self(found.attributes, {}).visit(copy.deepcopy(statement))
    if any(isinstance(n, ast.Name) and n.id == "self" for n in ast.walk(made)):
        raise NotRecognisedError
    calls = [n for n in ast.walk(statement) if isinstance(n, ast.Call)]
    if any(code(c.func).removeprefix("self.") in found.methods for c in calls):
        raise NotRecognisedError
    return ast.fix_missing_locations(ast.copy_location(made, statement))


def _attribute(name: str, given: ast.expr, statement: ast.stmt, found: Class) -> None:
    """Take `self.name = value`."""
    value = _Self(found.attributes, {}).visit(copy.deepcopy(given))
    calls = [code(n.func) for n in ast.walk(given) if isinstance(n, ast.Call)]
    if any(call.removeprefix("self.") in found.methods for call in calls):
        raise NotRecognisedError
    if any(isinstance(n, ast.Name) and n.id == "self" for n in ast.walk(value)):
        raise NotRecognisedError
    found.numbers.pop(name, None)
    if isinstance(value, _SIMPLE) or re.fullmatch(r"len\([\w.]+\)", code(value)):
        found.attributes[name] = value
        return
    numbered = re.fullmatch(_NUMBERS, code(value))
    if numbered:
        found.numbers[name] = parse_expression(numbered.group(2))
        return
    found.attributes.pop(name, None)
    if name in parameter_names(found.init):
        if any(code(v) == name for v in found.attributes.values()):
            raise NotRecognisedError
        found.attributes[name] = ast.Name(name, ast.Load())
    assign = ast.Assign([ast.Name(name, ast.Store())], value)
    found.prelude.append(ast.fix_missing_locations(ast.copy_location(assign, statement)))
