"""Edits that compute in single precision: Keras's own setting, or the data of a dataset."""

from __future__ import annotations

import ast

from quickfit.findings import FixClass
from quickfit.fixes.array_types import Doubles
from quickfit.fixes.change import Change, Edit
from quickfit.fixes.lookup import argument, call_at, called, last_name
from quickfit.fixes.script import Project, Script

SETTERS = ("set_floatx", "set_dtype_policy", "set_global_policy")
# Calls that keep the precision of what they are given, where nothing else is said.
_TENSORS = ("Variable", "constant", "convert_to_tensor", "from_generator", "py_function")
NOTE = "Rounding differs from the seventh digit on; accuracy does not, in nearly all models."


def single_policy(script: Script, line: int, project: Project) -> Change | None:
    """Leave Keras's precision as it is: float32."""
    call = call_at(script, line, *SETTERS)
    if call is None or len(call.args) != 1 or call.keywords:
        return None
    value = call.args[0]
    if not isinstance(value, ast.Constant) or value.value != "float64":
        return None
    # A loop of one's own, or a tensor of a fixed type, would meet float32 unprepared.
    if len(_mentions(project)) != 1 or _has(project, "GradientTape", *_TENSORS):
        return None
    return _change((_without(script, call, value),))


def _change(edits: tuple[Edit, ...]) -> Change:
    return Change(
        title="Compute in float32",
        kind=FixClass.MAY_CHANGE_RESULTS,
        edits=edits,
        note=NOTE,
    )


def _without(script: Script, call: ast.Call, value: ast.Constant) -> Edit:
    """Return the edit that removes the call; where a comment belongs to it, its value changes."""
    statement = script.statement(call)
    line = script.begin(statement)[0]
    is_told = script.has_comment(statement, statement) or (
        line > 1 and script.lines[line - 2].strip().startswith("#")
    )
    is_whole = isinstance(statement, ast.Expr) and statement.value is call
    if is_told or not is_whole or len(script.block(statement)) == 1:
        quote = script.code(value)[0]
        return script.replace(value, f"{quote}float32{quote}")
    return script.remove(statement) or script.replace(value, '"float32"')


def _mentions(project: Project) -> list[ast.AST]:
    """Return every place of the code that names double precision."""
    nodes = [n for script in _scripts(project) for n in ast.walk(script.tree)]
    texts: list[ast.AST] = [n for n in nodes if isinstance(n, ast.Constant) and _is_double(n.value)]
    names = [n for n in nodes if isinstance(n, ast.Attribute) or _is_imported_type(n)]
    return [*texts, *(n for n in names if isinstance(n, ast.expr) and _is_double(last_name(n)))]


def _is_imported_type(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and node.id == "float64"


def _is_double(text: object) -> bool:
    return text in ("float64", "double", "complex128")


def _has(project: Project, *names: str) -> bool:
    """Tell whether one of some functions is called, without a type that it is given."""
    calls = [call for script in _scripts(project) for call in script.all(ast.Call)]
    return any(called(call) in names for call in calls)


def _scripts(project: Project) -> list[Script]:
    return [s for file in project.files if (s := project.script(file)) is not None]


def single_data(project: Project) -> Change | None:
    """Make the arrays of the datasets float32, where everything else follows their type."""
    if _mentions(project) or _has(project, *SETTERS) or not _all_follow(project):
        return None
    edits = [_cast(script, call) for script, call in Doubles(project).find()]
    return _change(tuple(dict.fromkeys(edits))) if edits else None


def _cast(script: Script, call: ast.Call) -> Edit:
    place = script.end(call)
    return Edit(script.file, place, place, '.astype("float32")')


def _all_follow(project: Project) -> bool:
    """Tell whether tensors that the script makes itself take their type from the data."""
    calls = [call for script in _scripts(project) for call in script.all(ast.Call)]
    return all(_follows(call) for call in calls if called(call) in _TENSORS)


def _follows(call: ast.Call) -> bool:
    given = argument(call, "dtype")
    if given is not None:
        return isinstance(given, ast.Attribute) and given.attr == "dtype"
    first = call.args[0] if call.args else None
    return isinstance(first, ast.Call) and _is_tensorflow(first)


def _is_tensorflow(call: ast.Call) -> bool:
    """Tell whether a call makes a tensor: of the data's type, or float32 by itself."""
    root: ast.expr = call.func
    while isinstance(root, ast.Attribute):
        root = root.value
    given = argument(call, "dtype")
    is_typed = given is None or (isinstance(given, ast.Attribute) and given.attr == "dtype")
    return is_typed and isinstance(root, ast.Name) and root.id in ("tf", "tensorflow")
