"""Edits of `predict` in a loop over rows: one call for all rows, or a call of the model itself."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, replace

from quickfit.code import Module, Program
from quickfit.code.arrays import bindings_near, changes_in_place, is_array, is_new_axis
from quickfit.code.batch_size import has_fixed_size
from quickfit.code.edits import is_in_conflict
from quickfit.code.scopes import binders_in_file, call_at
from quickfit.code.syntax import Def, called_name, is_open, name_of, names_in
from quickfit.findings import Change, Edit, FixClass

Loop = ast.For | ast.While
# What a call of `predict` may say and a direct call need not.
_DROPPED = ("verbose", "batch_size")


def predictions(module: Module, line: int, program: Program) -> list[Change]:
    """Return the ways to predict without a call of `predict` for each few rows, the best first.

    The other calls in the same loop are edited with it: one that stays would cost as much.
    """
    here = [c for c in module.calls("predict") if c.func.end_lineno == line]
    is_one = len({module.code(c.func) for c in here}) == 1
    call = here[0] if is_one else call_at(module, line, "predict")
    if call is None or not _is_plain(call) or not has_one_output(program):
        return []
    others = _others(module, call)
    at_once = _at_once(module, call, program)
    direct = _direct(module, [call, *others], program)
    compiled = _compiled(module, [call, *others], program)
    if at_once is not None and others:
        rest = _compiled(module, others, program) or _direct(module, others, program)
        more = rest.edits if rest is not None else ()
        at_once = replace(at_once, edits=(*at_once.edits, *more))
        if is_in_conflict(more, at_once.edits[: -len(more)] if more else ()):
            at_once = None
    return [change for change in (at_once, compiled, direct) if change is not None]


def call_itself(module: Module, call: ast.Call, program: Program) -> Change | None:
    """Return the edit that calls the model in the place of one `predict`; None in any doubt."""
    if not _is_plain(call) or not has_one_output(program):
        return None
    return _direct(module, [call], program)


def _others(module: Module, call: ast.Call) -> list[ast.Call]:
    """Return the other calls of `predict` in the outermost loop around one."""
    loop = _outermost(module, call)
    if loop is None:
        return []
    calls = [c for c in module.all(ast.Call, within=loop) if called_name(c) == "predict"]
    own = module.function(call)
    calls = [c for c in calls if c is not call and _is_plain(c) and module.function(c) is own]
    return [c for c in calls if binders_in_file(module, _root(c.func))]


def _is_plain(call: ast.Call) -> bool:
    """Tell whether a call gives one input, and nothing that a direct call could not."""
    if not isinstance(call.func, ast.Attribute) or is_open(call):
        return False
    is_known = all(keyword.arg in (*_DROPPED, "x") for keyword in call.keywords)
    is_model = isinstance(call.func.value, ast.Name | ast.Attribute)
    return is_known and is_model and len(call.args) <= 3 and _input(call) is not None


def _input(call: ast.Call) -> ast.expr | None:
    given = [*call.args[:1], *(k.value for k in call.keywords if k.arg == "x")]
    return given[0] if len(given) == 1 else None


# -- the model itself -----------------------------------------------------------------------


def _direct(module: Module, calls: Sequence[ast.Call], program: Program) -> Change | None:
    """Call the model as a function, which builds no dataset; None where the first cannot be."""
    edits = []
    for call in calls:
        if is_array(module, _input(call), program) and isinstance(call.func, ast.Attribute):
            code = _called_directly(module, call, module.code(call.func.value))
            edits.append(module.replace(call, code))
        elif call is calls[0]:
            return None
    return Change(
        title="Call the model itself",
        kind=FixClass.EQUIVALENT,
        edits=tuple(edits),
        note="The same numbers to rounding; all rows of a call are taken at once.",
    )


def _called_directly(module: Module, call: ast.Call, model: str) -> str:
    given = _input(call)
    assert given is not None
    return f"{model}({module.code(given)}, training=False).numpy()"


def _compiled(module: Module, calls: Sequence[ast.Call], program: Program) -> Change | None:
    """Compile each model once, in front of the outermost loop, and call that."""
    loop = _outermost(module, calls[0])
    if loop is None or not _runs_once(module, loop):
        return None
    names: dict[str, str] = {}
    edits: list[Edit] = []
    for call in calls:
        model = call.func.value if isinstance(call.func, ast.Attribute) else None
        is_kept = isinstance(model, ast.Name) and not _is_set_in(loop, model.id)
        if not (is_kept and is_array(module, _input(call), program)):
            if call is calls[0]:
                return None
            continue
        assert isinstance(model, ast.Name)
        if model.id not in names:
            candidates = ("forward", "forward_pass", f"forward_{model.id}")
            free = [n for n in candidates if n not in names.values() and _free(module, n)]
            if not free:
                return None
            names[model.id] = free[0]
        edits.append(module.replace(call, _called_directly(module, call, names[model.id])))
    tf, imports = module.import_of("tensorflow", "tf")
    lines = [f"{name} = {tf}.function({model})" for model, name in names.items()]
    made = module.insert_before(loop, "\n".join(lines))
    if made is None:
        return None
    return Change(
        title="Call the model itself, compiled once",
        kind=FixClass.EQUIVALENT,
        edits=(*imports, made, *edits),
        note="The same numbers to rounding; rows of another shape are compiled for again.",
    )


def _outermost(module: Module, node: ast.AST) -> Loop | None:
    """Return the outermost loop around a node within its function."""
    found, around = None, module.parent(node)
    while around is not None and not isinstance(around, Def | ast.Lambda | ast.ClassDef):
        found = around if isinstance(around, Loop) else found
        around = module.parent(around)
    return found


def _runs_once(module: Module, loop: Loop) -> bool:
    """Tell whether a loop is at the top of a file, or in a function that is called once there."""
    function = module.around(loop, ast.FunctionDef)
    if function is None:
        return True
    if isinstance(module.parent(function), ast.ClassDef):
        return False
    calls = [c for c in module.all(ast.Call) if called_name(c) == function.name]
    if len(calls) != 1 or _outermost(module, calls[0]) is not None:
        return False
    return module.around(calls[0], ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda) is None


def _is_set_in(node: ast.AST, name: str) -> bool:
    names = (n for n in ast.walk(node) if isinstance(n, ast.Name) and n.id == name)
    return any(not isinstance(n.ctx, ast.Load) for n in names)


def _free(module: Module, *names: str) -> str:
    """Return the first of some names that the file does not use."""
    used = {node.id for node in module.all(ast.Name)} | {node.arg for node in module.all(ast.arg)}
    used |= {node.name for node in module.all(ast.FunctionDef)}
    used |= {node.asname or node.name for node in module.all(ast.alias)}
    return next((name for name in names if name not in used), "")


# -- all rows at once -----------------------------------------------------------------------


def _at_once(module: Module, call: ast.Call, program: Program) -> Change | None:
    """Predict all rows in front of the loop, and take them one by one inside it."""
    rows = rows_of(module, call, _input(call), program)
    if rows is None or _may_draw(program) or has_fixed_size(program):
        return None
    name = _free(module, "predictions", "predicted", "all_predictions")
    if not name:
        return None
    statement = module.statement(rows.loop)
    before = f"{name} = {_for_all(module, call, rows)}"
    made = module.insert_before(statement, before)
    if made is None:
        return None
    return Change(
        title="Predict all rows in one call",
        kind=FixClass.EQUIVALENT,
        edits=(*rows.edits, made, _taken(module, call, rows, name)),
        note="The same numbers to rounding.",
    )


def _for_all(module: Module, call: ast.Call, rows: Rows) -> str:
    """Return the call of `predict` with all rows; a batch size for a few rows goes."""
    assert isinstance(call.func, ast.Attribute)
    verbose = [k for k in call.keywords if k.arg == "verbose"]
    more = "".join(f", {module.code(k)}" for k in verbose)
    return f"{module.code(call.func)}({rows.all_rows}{more})"


def _taken(module: Module, call: ast.Call, rows: Rows, name: str) -> Edit:
    """Return the edit that takes the rows of one turn from those of all."""
    parent = module.parent(call)
    is_first = isinstance(parent, ast.Subscript) and parent.value is call and rows.row
    if is_first and isinstance(parent, ast.Subscript) and ast.unparse(parent.slice) == "0":
        return module.replace(parent, f"{name}[{rows.row}]")
    return module.replace(call, f"{name}[{rows.slice}]")


def _may_draw(program: Program) -> bool:
    """Tell whether a model may give other numbers for the same row: state, or random layers."""
    modules = program.modules()
    keywords = [k for s in modules for k in s.all(ast.keyword) if k.arg in ("training", "stateful")]
    return any(isinstance(k.value, ast.Constant) and k.value.value is True for k in keywords)


# Functions that change neither a model nor an array they are given.
_HARMLESS = {"print", "len", "int", "float", "str", "range", "round", "enumerate", "zip", "list"}
_HARMLESS |= {"max", "min", "sum", "abs", "bool", "tuple", "sorted", "format", "argmax", "argmin"}
_HARMLESS |= {"append", "mean", "item", "tolist", "astype", "sqrt", "square", "extend", "predict"}
_HARMLESS |= {"expand_dims", "reshape", "flatten", "ravel", "squeeze", "array", "asarray", "join"}
_HARMLESS |= {"time", "perf_counter", "write", "strip", "isclose", "exp", "log", "equal", "items"}


@dataclass(frozen=True)
class Rows:
    """The rows that a loop predicts.

    Args:
        loop: the loop, or the comprehension.
        all_rows: the code of all rows.
        slice: the code of the slice that one turn takes.
        row: the code of the index, where a turn takes a single row; else empty.
        edits: what the head of the loop needs so that there is an index.
    """

    loop: ast.AST
    all_rows: str
    slice: str
    row: str
    edits: tuple[Edit, ...] = ()


def rows_of(
    module: Module, call: ast.Call, given: ast.expr | None, program: Program
) -> Rows | None:
    """Return the rows that the loop around a call predicts; None where it may not be moved."""
    loop = module.around(call, ast.For, ast.While, ast.comprehension, ast.FunctionDef)
    holder = module.around(call, ast.ListComp)
    if isinstance(holder, ast.ListComp):
        return _in_comprehension(module, holder, call, given, program)
    if not isinstance(loop, ast.For) or loop.orelse or module.statement(call) not in loop.body:
        return None
    if given is None:
        return None
    found = _counted(module, loop, given, program) or _over_rows(module, loop, given, program)
    model = call.func.value if isinstance(call.func, ast.Attribute) else None
    if found is None or model is None or not _is_untouched(module, loop, call, model):
        return None
    is_counted = isinstance(loop.iter, ast.Call) and called_name(loop.iter) == "range"
    rows = {found.all_rows.partition("[")[0], *(() if is_counted else names_in(loop.target))}
    return None if changes_in_place(module, loop, rows) else found


def _counted(module: Module, loop: ast.For, given: ast.expr, program: Program) -> Rows | None:
    if not isinstance(loop.target, ast.Name):
        return None
    found = _indexed(loop, loop.target.id, loop.iter, given)
    return found if found and is_array(module, _root_name(given), program) else None


def _over_rows(module: Module, loop: ast.For, given: ast.expr, program: Program) -> Rows | None:
    """Return the rows of `for row in x`, or with `enumerate`, where a turn predicts its row."""
    row, rows, index = loop.target, loop.iter, ""
    edits: tuple[Edit, ...] = ()
    if (
        isinstance(rows, ast.Call)
        and called_name(rows) == "enumerate"
        and isinstance(row, ast.Tuple)
    ):
        if len(rows.args) != 1 or rows.keywords or len(row.elts) != 2:
            return None
        index, row, rows = name_of(row.elts[0]), row.elts[1], rows.args[0]
    elif isinstance(row, ast.Name):
        index = next((n for n in ("index", "row_index") if n not in names_in(module.tree)), "")
        code = f"{index}, {row.id} in enumerate({module.code(rows)})"
        edits = (Edit(module.path, module.begin(row), module.end(rows), code),)
    taken = _as_batch(given)
    is_row = isinstance(taken, ast.Name) and isinstance(row, ast.Name) and taken.id == row.id
    if not index.strip("_") or not is_row or not isinstance(rows, ast.Name):
        return None
    if not is_array(module, rows, program):
        return None
    return Rows(loop, rows.id, f"{index} : {index} + 1", index, edits)


def _in_comprehension(
    module: Module, holder: ast.ListComp, call: ast.Call, given: ast.expr | None, program: Program
) -> Rows | None:
    """Return the rows of `[model.predict(x[i:i + 1])[0] for i in range(len(x))]`."""
    part = holder.generators[0]
    statement = module.statement(holder)
    is_plain = len(holder.generators) == 1 and not part.ifs and not part.is_async
    if not is_plain or not isinstance(part.target, ast.Name) or given is None:
        return None
    if not isinstance(statement, ast.Assign | ast.Expr) or module.around(holder, ast.Lambda):
        return None
    calls = [c for c in ast.walk(statement) if isinstance(c, ast.Call) and c is not call]
    if any(called_name(c) not in _HARMLESS for c in calls):
        return None
    found = _indexed(statement, part.target.id, part.iter, given)
    return found if found and is_array(module, _root_name(given), program) else None


def _root_name(given: ast.expr) -> ast.Name | None:
    """Return the name of the array that a turn takes its rows from."""
    node = (
        given if isinstance(given, ast.Subscript) and isinstance(given.slice, ast.Slice) else None
    )
    inner = node if node is not None else _as_batch(given)
    value = inner.value if isinstance(inner, ast.Subscript) else None
    return value if isinstance(value, ast.Name) else None


def _indexed(loop: ast.AST, index: str, iterated: ast.expr, given: ast.expr) -> Rows | None:
    """Return the rows where a loop counts and `predict` gets `x[i:i + 1]`, or the like."""
    if not isinstance(iterated, ast.Call) or called_name(iterated) != "range" or iterated.keywords:
        return None
    taken = _taken_rows(given, index)
    if taken is None:
        return None
    rows, sliced = taken
    step = _step(iterated)
    stop = iterated.args[1] if len(iterated.args) == 3 else iterated.args[0]
    is_whole = isinstance(stop, ast.Call) and called_name(stop) == "len" and bool(stop.args)
    is_whole = is_whole and ast.unparse(stop.args[0]) == ast.unparse(rows)  # type: ignore[attr-defined]
    is_whole = is_whole or ast.unparse(stop) == f"{ast.unparse(rows)}.shape[0]"
    if step is None or (not is_whole and (len(iterated.args) == 3 or not _is_plain_row(stop))):
        return None
    if sliced is None and step != "1":
        return None
    if sliced is not None and sliced.replace(" ", "") != f"{index}:{index}+{step}":
        return None
    code = ast.unparse(rows)
    all_rows = code if is_whole else f"{code}[:{ast.unparse(stop)}]"
    row = index if step == "1" else ""
    return Rows(loop, all_rows, f"{index} : {index} + {step}", row)


def _step(call: ast.Call) -> str | None:
    """Return the step of `range(n)` or `range(0, n, step)`."""
    if len(call.args) == 1:
        return "1"
    is_from_zero = isinstance(call.args[0], ast.Constant) and call.args[0].value == 0
    if len(call.args) != 3 or not is_from_zero or not _is_plain_row(call.args[2]):
        return None
    return ast.unparse(call.args[2])


def _is_plain_row(node: ast.expr) -> bool:
    is_number = isinstance(node, ast.Constant) and type(node.value) is int
    return is_number or isinstance(node, ast.Name)


def _taken_rows(given: ast.expr, index: str) -> tuple[ast.expr, str | None] | None:
    """Return the array that a turn takes from, and its slice; None for one row as a batch."""
    if isinstance(given, ast.Subscript) and isinstance(given.slice, ast.Slice):
        return (
            (given.value, ast.unparse(given.slice)) if isinstance(given.value, ast.Name) else None
        )
    inner = _as_batch(given)
    is_row = isinstance(inner, ast.Subscript) and isinstance(inner.value, ast.Name)
    if is_row and isinstance(inner, ast.Subscript) and ast.unparse(inner.slice) == index:
        return inner.value, None
    return None


def _as_batch(given: ast.expr) -> ast.expr | None:
    """Return the row of `row[None]`, `np.expand_dims(row, 0)` or `np.array([row])`."""
    if isinstance(given, ast.Subscript):
        parts = given.slice.elts if isinstance(given.slice, ast.Tuple) else [given.slice]
        rest = all(ast.unparse(part) in ("...", ":") for part in parts[1:])
        return given.value if is_new_axis(parts[0]) and rest else None
    if not isinstance(given, ast.Call) or not given.args:
        return None
    axis = [*given.args[1:], *(k.value for k in given.keywords if k.arg == "axis")]
    if called_name(given) == "expand_dims":
        return given.args[0] if len(axis) == 1 and ast.unparse(axis[0]) == "0" else None
    first = given.args[0]
    is_list = isinstance(first, ast.List) and len(first.elts) == 1 and not given.keywords
    if called_name(given) in ("array", "asarray", "stack") and is_list and len(given.args) == 1:
        return first.elts[0] if isinstance(first, ast.List) else None
    return None


def _is_untouched(module: Module, loop: ast.For, call: ast.Call, model: ast.expr) -> bool:
    """Tell whether nothing in a loop may change its model or its rows."""
    code = ast.unparse(model)
    for node in ast.walk(loop):
        if isinstance(node, ast.Call) and node is not call and called_name(node) not in _HARMLESS:
            return False
        if isinstance(node, ast.Call) and any(ast.unparse(a) == code for a in node.args):
            return False
        if isinstance(node, ast.Try | ast.With | ast.FunctionDef | ast.Delete | ast.Await):
            return False
    kept = {_root(model), *names_in(call), *names_in(loop.target)}
    return not any(_root(node) in kept for node in _stores(loop))


def _stores(loop: ast.For) -> list[ast.expr]:
    """Return what the body of a loop sets."""
    nodes = [n for statement in loop.body for n in ast.walk(statement)]
    parts = [n for n in nodes if isinstance(n, ast.Name | ast.Attribute | ast.Subscript)]
    return [n for n in parts if not isinstance(n.ctx, ast.Load)]


def _root(node: ast.expr) -> str:
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return name_of(node)


# Models whose outputs the text does not show.
_UNSEEN = ("load_model", "model_from_json", "from_config", "TFSMLayer")


def has_one_output(program: Program) -> bool:
    """Tell whether all models that the files make or define have one output each."""
    modules = program.modules()
    calls = [(s, call) for s in modules for call in s.all(ast.Call)]
    made = [(s, call) for s, call in calls if called_name(call) in ("Sequential", "Model")]
    classes = [(s, o) for s in modules for o in s.all(ast.ClassDef) if _is_model(o)]
    if any(called_name(call) in _UNSEEN for _, call in calls) or not (made or classes):
        return False
    if any(keyword.arg == "return_state" for s in modules for keyword in s.all(ast.keyword)):
        return False
    is_made_plain = all(called_name(c) == "Sequential" or _is_one(s, _outputs(c)) for s, c in made)
    return is_made_plain and all(_returns_one(module, owner) for module, owner in classes)


def _is_model(owner: ast.ClassDef) -> bool:
    return any(name_of(base) in ("Model", "Sequential") for base in owner.bases)


def _outputs(call: ast.Call) -> ast.expr | None:
    named = [k.value for k in call.keywords if k.arg == "outputs"]
    if named:
        return named[0]
    return call.args[1] if len(call.args) > 1 else None


def _is_one(module: Module, outputs: ast.expr | None) -> bool:
    """Tell whether an expression is one tensor: what a layer gave, under whatever name."""
    if isinstance(outputs, ast.Name):
        parents = [module.parent(node) for node in bindings_near(module, outputs)]
        values = [p.value for p in parents if isinstance(p, ast.Assign) and len(p.targets) == 1]
        made = [v for v in values if not isinstance(v, ast.Name)]
        return bool(made) and len(values) == len(parents) and all(map(_is_layer_call, made))
    return outputs is not None and _is_layer_call(outputs)


def _is_layer_call(value: ast.expr) -> bool:
    """Tell whether a value is `Layer(...)(...)`, an input, or arithmetic with such."""
    if isinstance(value, ast.BinOp):
        return True
    if not isinstance(value, ast.Call):
        return False
    return isinstance(value.func, ast.Call) or called_name(value) == "Input"


def _returns_one(module: Module, owner: ast.ClassDef) -> bool:
    """Tell whether a model's `call` returns what one layer, or arithmetic, gives."""
    calls = [f for f in owner.body if isinstance(f, ast.FunctionDef) and f.name == "call"]
    returns = [n.value for f in calls for n in ast.walk(f) if isinstance(n, ast.Return)]
    return bool(returns) and all(_is_returned_plain(module, value) for value in returns)


def _is_returned_plain(module: Module, value: ast.expr | None) -> bool:
    if isinstance(value, ast.Name):
        parents = [module.parent(node) for node in bindings_near(module, value)]
        values = [p.value for p in parents if isinstance(p, ast.Assign) and len(p.targets) == 1]
        rest = [p for p in parents if isinstance(p, ast.arguments)]
        is_known = len(values) + len(rest) == len(parents)
        return (
            bool(values) and is_known and all(isinstance(v, ast.Call | ast.BinOp) for v in values)
        )
    return isinstance(value, ast.Call | ast.BinOp)
