"""Reads the values of steps after the loop, all at once, or shows every 50th."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence

from quickfit.causes._shared.train_loops.step_values import (
    counters,
    functions_reached,
    is_compiled,
    is_reading,
    leaves_function,
    step_tensors,
    waits_for,
)
from quickfit.code.compiled_functions import calls_of
from quickfit.code.graph_code import argument_for_parameter
from quickfit.code.loops import indent_unit, put_under_test
from quickfit.code.module import Module
from quickfit.code.scopes import (
    binders,
    dotted,
    import_path,
    is_read_after,
    nodes_in_scope,
    parameters,
    reads,
    scope_of,
    value_of,
    writes,
)
from quickfit.code.syntax import Def
from quickfit.findings import Change, Edit, FixClass

KEEP_TITLE = "Keep the tensors of the steps, and read their values after the loop"
KEEP_NOTE = "What is kept in the loop is one small tensor per step; the numbers are the same."
# A tensor that is taken as a whole is kept only where it is a single number.
_SINGLE = re.compile(r"loss|cost|acc|err|norm|reward|metric|elbo|kl|mse|mae")


def values_after_loop(module: Module, line: int, modules: Sequence[Module]) -> Change | None:
    """Move what collects the values of each step behind the loop around a line."""
    loops = [n for n in module.all(ast.For) if n.lineno <= line <= (n.end_lineno or 0)]
    if not loops or loops[-1].orelse or leaves_function(loops[-1]):
        return None
    loop = loops[-1]
    if module.around(loop, ast.Try, ast.AsyncFunctionDef) or not module.is_alone(loop):
        return None  # what stands behind the loop would not run after an error
    tensors = step_tensors(module, loop, modules)
    late = _late(module, loop, set(tensors), modules)
    if not late or not any(waits_for(s, tensors) for s in late):
        return None
    if _is_left_between(module, loop, late, tensors):
        return None
    kept = _kept(late, [*sorted(counters(loop)), *tensors])
    edits = _edits(module, loop, late, kept)
    return (
        Change(KEEP_TITLE, FixClass.SAME_RESULTS, edits, KEEP_NOTE) if edits is not None else None
    )


def _is_left_between(
    module: Module, loop: ast.For, late: Sequence[ast.stmt], tensors: Iterable[str]
) -> bool:
    """Tell whether a name that is read behind the loop may be newer than what is kept of it."""
    if not any(isinstance(n, ast.Break | ast.Continue) for n in nodes_in_scope(loop)):
        return False
    names = {*tensors, *counters(loop), *writes(*(s for s in late if isinstance(s, ast.Assign)))}
    return any(is_read_after(module, name, [loop]) for name in names)


def _late(
    module: Module, loop: ast.For, tensors: set[str], modules: Sequence[Module]
) -> list[ast.stmt]:
    """Return the statements of a turn that nothing in the loop needs the effect of."""
    known = tensors | counters(loop)
    late: list[ast.stmt] = []
    for statement in loop.body:
        bound = {name for one in late for name in writes(one) if isinstance(one, ast.Assign)}
        if _can_be_late(module, statement, known, bound):
            late.append(statement)
    while True:
        needed = [s for s in late if _is_needed(module, loop, s, late, modules)]
        rest = [s for s in late if s not in needed]
        bound = {name for s in rest if isinstance(s, ast.Assign) for name in writes(s)}
        fit = [s for s in rest if _can_be_late(module, s, known, bound)]
        if fit == late:
            break
        late = fit
    return late if any(not isinstance(s, ast.Assign) for s in late) else []


def _can_be_late(module: Module, statement: ast.stmt, tensors: set[str], bound: set[str]) -> bool:
    value, known = _value(statement), tensors | bound
    if (
        value is None
        or not is_reading(value, known)
        or not (waits_for(value, tensors) or reads(value) & bound)
    ):
        return False
    texts = [n for n in ast.walk(statement) if isinstance(n, ast.Constant)]
    is_long = any(isinstance(n.value, str) and n.lineno != n.end_lineno for n in texts)
    return module.is_alone(statement) and not is_long and _is_single(value)


def _value(statement: ast.stmt) -> ast.expr | None:
    """Return what a statement collects: what is appended, added or named."""
    if isinstance(statement, ast.AugAssign):
        is_plain = isinstance(statement.op, ast.Add) and bool(dotted(statement.target))
        return statement.value if is_plain else None
    if isinstance(statement, ast.Assign):
        is_name = len(statement.targets) == 1 and isinstance(statement.targets[0], ast.Name)
        return statement.value if is_name else None
    call = statement.value if isinstance(statement, ast.Expr) else None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
        return None
    is_append = call.func.attr == "append" and len(call.args) == 1 and not call.keywords
    return call.args[0] if is_append and _sink(statement) else None


def _sink(statement: ast.stmt) -> str:
    """Return the name or attribute that a statement changes; nothing where it is unclear."""
    node: ast.expr
    if isinstance(statement, ast.AugAssign):
        node = statement.target
    elif isinstance(statement, ast.Assign):
        node = statement.targets[0]
    else:
        call = statement.value  # type: ignore[attr-defined]
        node = call.func.value
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
            node = node.value
    name = dotted(node)
    is_own = name.count(".") == 0 or (name.startswith("self.") and name.count(".") == 1)
    return name if is_own else ""


def _is_needed(
    module: Module,
    loop: ast.For,
    statement: ast.stmt,
    late: Sequence[ast.stmt],
    modules: Sequence[Module],
) -> bool:
    """Tell whether something in the loop, or what it calls, may see what a statement changes."""
    name = _sink(statement).rpartition(".")[2]
    if not name:
        return True
    others = [s for s in loop.body if s not in late]
    seen = [loop.target, loop.iter, *others, *functions_reached([loop], modules)]
    inner = [n for s in modules for n in _generators(s) if n is not scope_of(module, loop)]
    key = _key(statement)
    if any(_mentions(node, name, key) for node in (*seen, *inner)):
        return True
    if isinstance(statement, ast.Assign):
        return len(binders(ast.Module([loop], []), name)) != 1
    is_list = isinstance(statement, ast.Expr)
    return is_list and (not _is_made_as_list(module, name) or _has_alias(module, loop, name))


def _generators(module: Module) -> list[Def]:
    functions = module.all(ast.FunctionDef)
    return [f for f in functions if any(isinstance(n, ast.Yield) for n in ast.walk(f))]


def _key(statement: ast.stmt) -> object:
    """Return the key of `history["loss"].append(...)`; None for other statements."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    holder = call.func.value if isinstance(call, ast.Call) else None  # type: ignore[attr-defined]
    is_item = isinstance(holder, ast.Subscript) and isinstance(holder.slice, ast.Constant)
    return holder.slice.value if is_item else None  # type: ignore[union-attr]


def _mentions(node: ast.AST, name: str, key: object) -> bool:
    """Tell whether code mentions a name, or of a dict any but another item."""
    others = set()
    for item in ast.walk(node) if key is not None else ():
        is_item = isinstance(item, ast.Subscript) and isinstance(item.slice, ast.Constant)
        if is_item and item.slice.value != key:  # type: ignore[attr-defined]
            others.add(item.value)  # type: ignore[attr-defined]
    found = (n for n in ast.walk(node) if n not in others)
    return any(name in (getattr(n, "id", None), getattr(n, "attr", None)) for n in found)


def _is_made_as_list(module: Module, name: str) -> bool:
    """Tell whether the file binds a name or attribute to lists, or dicts of lists, alone."""
    values = []
    for node in ast.walk(module.tree):
        is_name = isinstance(node, ast.Name) and node.id == name
        is_attribute = isinstance(node, ast.Attribute) and node.attr == name
        if (is_name or is_attribute) and isinstance(node.ctx, ast.Store):  # type: ignore[attr-defined]
            values.append(value_of(module, node))
    return bool(values) and all(_is_list(value) for value in values)


def _is_list(value: ast.expr | None) -> bool:
    if isinstance(value, ast.Dict):
        return all(isinstance(one, ast.List) for one in value.values)
    if isinstance(value, ast.Call):
        first = value.args[0] if value.args else None
        is_lists = isinstance(first, ast.Name) and first.id == "list"
        return dotted(value.func).endswith("defaultdict") and is_lists
    return isinstance(value, ast.List)


def _has_alias(module: Module, loop: ast.For, name: str) -> bool:
    """Tell whether something else may hold the list when the loop begins."""
    for node in ast.walk(module.tree):
        if not isinstance(node, ast.Name | ast.Attribute) or not isinstance(node.ctx, ast.Load):
            continue
        if getattr(node, "id", None) != name and getattr(node, "attr", None) != name:
            continue
        if node.lineno > (loop.end_lineno or 0) and not module.around(node, ast.Lambda):
            continue
        parent = module.parent(node)
        is_used = isinstance(parent, ast.Subscript | ast.Attribute | ast.Compare)
        is_length = isinstance(parent, ast.Call) and dotted(parent.func) in ("len", "sum", "print")
        if not is_used and not is_length:
            return True
    return False


def _is_single(value: ast.expr) -> bool:
    """Tell whether what is collected is numbers, not tensors of any size."""
    for call in (n for n in ast.walk(value) if isinstance(n, ast.Call)):
        reader = call.func
        is_whole = isinstance(reader, ast.Attribute) and reader.attr == "numpy"
        if is_whole and not _SINGLE.search(ast.unparse(reader).lower()):
            return False
    return True


def _kept(late: Sequence[ast.stmt], known: Sequence[str]) -> list[str]:
    """Return the names whose values of each step the late statements need, in order."""
    return [name for name in known if name in reads(*late)]


def _edits(
    module: Module, loop: ast.For, late: Sequence[ast.stmt], kept: Sequence[str]
) -> tuple[Edit, ...] | None:
    """Return the edits: an empty list, one `append` per turn, and the statements at the end."""
    plural = f"{kept[-1]}es" if kept[-1].endswith("s") else f"{kept[-1]}s"
    name = _new_name(module, f"step_{plural}" if len(kept) == 1 else "step_values")
    made = module.insert_before(loop, f"{name} = []")
    value = kept[0] if len(kept) == 1 else f"({', '.join(kept)})"
    if made is None or not name or len(late) == len(loop.body):
        return None
    edits = [made]
    for number, statement in enumerate(late):
        is_last = number == len(late) - 1
        code = f"{name}.append({value})"
        edit = (
            module.replace_statements(statement, statement, code)
            if is_last
            else module.remove(statement)
        )
        if edit is None or len(_comments(module, statement)) > is_last:
            return None  # one behind the last statement can stay there
        edits.append(edit)
    body = "\n".join(_text(module, statement) for statement in late)
    head = f"for {', '.join(kept)} in {name}:"
    behind = module.insert_after(
        loop, f"{head}\n{textwrap.indent(body, indent_unit(module, late[0]))}"
    )
    return (*edits, behind) if behind is not None else None


def _comments(module: Module, statement: ast.stmt) -> list[str]:
    """Return the comments beside a statement and directly above it."""
    above = module.lines[module.begin(statement)[0] - 2].strip()
    return [*module.comments_in(statement), *([above] if above.startswith("#") else [])]


def _text(module: Module, statement: ast.stmt) -> str:
    """Return the code of a statement without indentation; a comment stays where it was."""
    first, last = module.begin(statement)[0], module.end(statement)[0]
    rows = [*module.lines[first - 1 : last - 1], module.lines[last - 1][: module.end(statement)[1]]]
    return textwrap.dedent("\n".join(rows))


def _new_name(module: Module, name: str) -> str:
    return next((n for n in (name, f"{name}_kept") if not re.search(rf"\b{n}\b", module.text)), "")


TAKE_AT_ONCE_TITLE = "Take all values out of the tensor at once"
_NUMBERS = {"float", "int"}
# Operations that give one tensor, whatever they are given.
_ONE_TENSOR = re.compile(
    r"\.(reduce_\w+|square|squeeze|abs|cast|sqrt|norm|stack|concat|exp|log|one_hot|gather|maximum"
    r"|minimum|argmax|reshape|equal|\w*cross_entropy\w*|softmax|sigmoid|relu|squared_difference)$"
)
Comprehension = ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp


def values_at_once(module: Module, line: int, modules: Sequence[Module]) -> Change | None:
    """Read a tensor as one array where the code at a line reads its elements one by one."""
    nodes: list[Comprehension] = [*module.all(ast.ListComp), *module.all(ast.GeneratorExp)]
    for node in nodes:
        if node.lineno <= line <= (node.end_lineno or 0):
            edits = _iterated(module, node, modules)
            if edits:
                return Change(TAKE_AT_ONCE_TITLE, FixClass.SAME_RESULTS, edits)
    loops = [n for n in module.all(ast.For) if n.lineno <= line <= (n.end_lineno or 0)]
    edits = _indexed(module, loops[-1], line, modules) if loops else ()
    return Change(TAKE_AT_ONCE_TITLE, FixClass.SAME_RESULTS, edits) if edits else None


# -- for value in tensor ----------------------------------------------------------------------


def _iterated(module: Module, node: Comprehension, modules: Sequence[Module]) -> tuple[Edit, ...]:
    """Return the edits for `[float(value) for value in tensor]`."""
    if len(node.generators) != 1 or node.generators[0].is_async:
        return ()
    made = node.generators[0]
    if not isinstance(made.iter, ast.Name) or not isinstance(made.target, ast.Name):
        return ()
    uses = _uses(node, made.target.id)
    if not uses or not all(_is_number(module, use) for use in uses):
        return ()
    if not is_tensor(module, made.iter, modules):
        return ()
    return (module.replace(made.iter, f"{made.iter.id}.numpy()"),)


def _uses(node: ast.AST, name: str) -> list[ast.Name]:
    names = (n for n in ast.walk(node) if isinstance(n, ast.Name) and n.id == name)
    return [n for n in names if isinstance(n.ctx, ast.Load)]


def _is_number(module: Module, use: ast.expr) -> bool:
    """Tell whether an expression is the argument of `float` or `int`, and no more."""
    call = module.parent(use)
    if not isinstance(call, ast.Call) or call.args != [use] or call.keywords:
        return False
    return dotted(call.func) in _NUMBERS


# -- tensor[number] ---------------------------------------------------------------------------


def _indexed(
    module: Module, loop: ast.For, line: int, modules: Sequence[Module]
) -> tuple[Edit, ...]:
    """Return the edits for `float(tensor[number])` in each turn of a loop."""
    taken = [n for n in module.all(ast.Subscript, within=loop) if _is_element(module, loop, n)]
    names = {n.value.id for n in taken if isinstance(n.value, ast.Name)}
    here = [n for n in taken if n.lineno <= line <= (n.end_lineno or 0)]
    if len(names) != 1 or not here or not isinstance(here[0].value, ast.Name):
        return ()
    tensor = here[0].value
    if tensor.id in writes(loop) or len(_uses(loop, tensor.id)) != len(taken):
        return ()
    array = f"{tensor.id}_values"
    if re.search(rf"\b{array}\b", module.text) or not is_tensor(module, tensor, modules):
        return ()
    made = module.insert_before(loop, f"{array} = {tensor.id}.numpy()")
    if made is None:
        return ()
    return (made, *(module.replace(n.value, array) for n in taken))


def _is_element(module: Module, loop: ast.For, node: ast.Subscript) -> bool:
    index = node.slice
    is_own = isinstance(index, ast.Name) and index.id in writes(loop.target)
    return isinstance(node.value, ast.Name) and is_own and _is_number(module, node)


# -- tensors ----------------------------------------------------------------------------------


def is_tensor(module: Module, name: ast.Name, modules: Sequence[Module]) -> bool:
    """Tell whether a name is certainly one tensor that a compiled function returned."""
    scope = scope_of(module, name)
    if isinstance(scope, Def) and name.id in parameters(scope):
        given = list(_given(scope, name.id, modules))
        return not binders(scope, name.id) and bool(given) and all(given)
    stores = binders(scope, name.id)
    statement = module.parent(stores[0]) if len(stores) == 1 else None
    place = None
    if isinstance(statement, ast.Tuple):
        place = statement.elts.index(stores[0])  # type: ignore[arg-type]
        statement = module.parent(statement)
    if not isinstance(statement, ast.Assign) or not isinstance(statement.value, ast.Call):
        return False
    return is_tensor_of(module, statement.value, place, modules)


def _given(function: Def, name: str, modules: Sequence[Module]) -> Iterator[bool]:
    """Yield for each call whether it gives a tensor of a step for a parameter."""
    if len([f for s in modules for f in s.all(ast.FunctionDef) if f.name == function.name]) != 1:
        yield False
    names = [n for n in parameters(function) if n not in ("self", "cls")]
    for module in modules:
        for call in calls_of(module, function.name):
            value = argument_for_parameter(call, function, name)
            starred = call.args[0] if len(call.args) == 1 and not call.keywords else None
            if isinstance(starred, ast.Starred) and isinstance(starred.value, ast.Call):
                yield is_tensor_of(module, starred.value, names.index(name), modules)
            else:
                yield isinstance(value, ast.Name) and is_tensor(module, value, modules)


def is_tensor_of(
    module: Module, call: ast.Call, place: int | None, modules: Sequence[Module]
) -> bool:
    """Tell whether what a compiled function returns, all or at a place, is one tensor."""
    if not is_compiled(module, call, modules):
        return False
    name = dotted(call.func).rpartition(".")[2]
    made = [(s, f) for s in modules for f in s.all(ast.FunctionDef) if f.name == name]
    if len(made) != 1:
        return False
    where, function = made[0]
    values = [n.value for n in nodes_in_scope(*function.body) if isinstance(n, ast.Return)]
    for value in values:
        if place is not None:
            is_long = isinstance(value, ast.Tuple) and place < len(value.elts)
            value = value.elts[place] if is_long else None  # type: ignore[union-attr]
        if not _is_computed(where, function, value):
            return False
    return bool(values)


def _is_computed(module: Module, function: ast.FunctionDef, value: ast.expr | None) -> bool:
    """Tell whether an expression is one tensor: no list of them, nor a dict."""
    if isinstance(value, ast.Name):
        found = binders(function, value.id)
        made = [value_of(module, node) for node in found]
        is_own = bool(made) and value.id not in parameters(function)
        return (
            is_own
            and all(not isinstance(v, ast.Name) for v in made)
            and all(_is_computed(module, function, v) for v in made)
        )
    if isinstance(value, ast.BinOp):
        sides = (value.left, value.right)
        return any(_is_computed(module, function, side) for side in sides)
    if isinstance(value, ast.Subscript):
        return isinstance(value.slice, ast.Tuple)
    path = import_path(module, dotted(value.func)) if isinstance(value, ast.Call) else ""
    return path.startswith("tensorflow.") and bool(_ONE_TENSOR.search(path))


EVERY = 50
SHOW_SELDOM_TITLE = f"Show the values of every {EVERY}th step only"
SHOW_SELDOM_NOTE = (
    "The training is the same; fewer lines, or updates of the progress bar, are shown."
)
_BARS = {"set_postfix", "set_postfix_str", "set_description", "set_description_str"}
_LOGS = {"info", "debug"}
_METHODS = {"numpy", "item", "result", "format", "time", "perf_counter"}
_READERS = {"float", "int", "str", "round", "len"}
_COUNTERS = ("step", "step_number", "batch_number")


def seldom_shown(module: Module, line: int, modules: Sequence[Module]) -> Change | None:
    """Put what shows values in the loop around a line under an `if`."""
    loops = [n for n in module.all(ast.For) if n.lineno <= line <= (n.end_lineno or 0)]
    if not loops or loops[-1].orelse:
        return None
    loop = loops[-1]
    tensors = set(step_tensors(module, loop, modules))
    groups = _groups(module, loop, tensors)
    counted = _counted(module, loop) if len(groups) == 1 else None
    if counted is None:
        return None
    test, edits = counted
    guarded = put_under_test(module, groups[0], test)
    if guarded is None:
        return None
    return Change(SHOW_SELDOM_TITLE, FixClass.EQUIVALENT, (*edits, guarded), SHOW_SELDOM_NOTE)


def _groups(module: Module, loop: ast.For, tensors: set[str]) -> list[list[ast.stmt]]:
    """Return the statements of a turn that only show values, those side by side together."""
    groups: list[list[ast.stmt]] = []
    for number, statement in enumerate(loop.body):
        names = _shown_names(module, loop, number, tensors)
        if not is_showing(module, statement) or names is None:
            continue
        group = [*loop.body[number - len(names) : number], statement]
        if groups and loop.body.index(groups[-1][-1]) + 1 == number - len(names):
            groups[-1] += group
        else:
            groups.append(group)
    return groups


def _shown_names(module: Module, loop: ast.For, number: int, tensors: set[str]) -> list[str] | None:
    """Return the names made right before a statement for it alone; None where it never waits."""
    names: list[str] = []
    shown = loop.body[number]
    for statement in reversed(loop.body[:number]):
        name = _only_reads(statement, tensors)
        inside = [*loop.body[number - len(names) - 1 : number + 1]]
        if not name or name not in reads(*inside[1:]) or is_read_after(module, name, inside):
            break
        names.append(name)
    made = loop.body[number - len(names) : number]
    return names if any(_waits(one, tensors) for one in (*made, shown)) else None


def _only_reads(statement: ast.stmt, tensors: set[str]) -> str:
    """Return the name of `name = float(loss)`, which nothing but reading stands in."""
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return ""
    target = statement.targets[0]
    is_plain = _has_plain_calls(statement.value) and _waits(statement, tensors)
    return target.id if isinstance(target, ast.Name) and is_plain else ""


def _has_plain_calls(value: ast.AST) -> bool:
    """Tell whether code calls nothing that changes anything."""
    for node in ast.walk(value):
        if isinstance(node, ast.NamedExpr | ast.Await | ast.Yield | ast.Lambda):
            return False
        if isinstance(node, ast.Call):
            method = node.func.attr if isinstance(node.func, ast.Attribute) else ""
            if method not in _METHODS and dotted(node.func) not in _READERS:
                return False
    return True


def _waits(statement: ast.AST, tensors: set[str]) -> bool:
    """Tell whether code takes a number out of a tensor or of a metric."""
    attributes = [n for n in ast.walk(statement) if isinstance(n, ast.Call)]
    is_result = any(
        isinstance(c.func, ast.Attribute) and c.func.attr == "result" and not c.args
        for c in attributes
    )
    return is_result or waits_for(statement, tensors)


def is_showing(module: Module, statement: ast.stmt) -> bool:
    """Tell whether a statement prints, or sets the text of a progress bar, and no more."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    if not isinstance(call, ast.Call):
        return False
    given = [*call.args, *(k.value for k in call.keywords)]
    if not all(_has_plain_calls(value) for value in given):
        return False
    name = dotted(call.func)
    owner, _, last = name.rpartition(".")
    if name == "print":
        return not any(k.arg == "file" for k in call.keywords)
    is_log = last in _LOGS and (import_path(module, owner) == "logging" or "log" in owner.lower())
    return bool(owner) and (last in _BARS or is_log)


def _counted(module: Module, loop: ast.For) -> tuple[str, tuple[Edit, ...]] | None:
    """Return the test for every 50th turn, and the edits that count the turns where none do."""
    known = [name for name in counters(loop) if name.strip("_")]
    if known:
        return f"{known[0]} % {EVERY} == 0", ()
    call, target = loop.iter, loop.target
    if isinstance(call, ast.Call) and dotted(call.func) in ("enumerate", "range"):
        return None  # it counts under a name that means nothing, or changes
    name = next((n for n in _COUNTERS if n not in _all(module)), "")
    code = module.code(target)
    if isinstance(target, ast.Tuple) and not code.startswith("("):
        code = f"({code})"
    counted = f"enumerate({module.code(call)})"
    edits = (module.replace(target, f"{name}, {code}"), module.replace(call, counted))
    return (f"{name} % {EVERY} == 0", edits) if name else None


def _all(module: Module) -> set[str]:
    return {n.id for n in module.all(ast.Name)} | {n.arg for n in module.all(ast.arg)}
