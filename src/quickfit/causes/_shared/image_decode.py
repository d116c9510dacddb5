"""Makes images small early: in the decoder, or before costly random changes."""

from __future__ import annotations

import ast
import textwrap

from quickfit.code.module import Module
from quickfit.code.scopes import reads_of_assignment, target_of, value_of_statement
from quickfit.code.syntax import name_of
from quickfit.findings import Change, Edit, FixClass

Function = ast.FunctionDef | ast.AsyncFunctionDef
_RESIZES = ("resize", "resize_with_pad", "smart_resize")
# They do to each pixel the same, so they may as well come before a resize.
_PIXELWISE = (
    "cast",
    "convert_image_dtype",
    "random_flip_left_right",
    "random_flip_up_down",
    "flip_left_right",
    "flip_up_down",
)
_COLOURS = (
    "random_hue",
    "random_saturation",
    "random_contrast",
    "random_brightness",
    "adjust_hue",
    "adjust_saturation",
    "adjust_contrast",
    "adjust_brightness",
    "clip_by_value",
)
MAX_DEPTH = 8


# -- in the decoder ----------------------------------------------------------------------------


def smaller_decode(module: Module, line: int, *, ratio: int) -> Change | None:
    """Return the change that lets the JPEG decoder at a line shrink by a ratio.

    Only where all that becomes of the image is a resize: whoever asks for its size, cuts a part
    out or hands it on needs it as it is.
    """
    names = _decoders(module)
    here = [
        call
        for call in module.all(ast.Call)
        if name_of(call.func) in names and call.lineno <= line <= (call.end_lineno or 0)
    ]
    if len(here) != 1 or not _is_only_resized(module, here[0], 0):
        return None
    call = here[0]
    if any(isinstance(arg, ast.Starred) for arg in call.args):
        return None
    by_place = module.replace(call.args[2], str(ratio)) if len(call.args) > 2 else None
    edit = by_place or module.with_keyword(call, "ratio", str(ratio))
    if edit is None:
        return None
    return Change(
        "Let the decoder make the images smaller",
        FixClass.MAY_CHANGE_RESULTS,
        (edit,),
        "Pixels differ a little: the decoder averages. Images that are smaller than"
        f" {ratio} times the target must not be among them.",
    )


def _decoders(module: Module) -> set[str]:
    """Return the names that `decode_jpeg` has in a file."""
    aliases = [alias for node in module.all(ast.ImportFrom) for alias in node.names]
    return {"decode_jpeg"} | {a.asname for a in aliases if a.name == "decode_jpeg" and a.asname}


def _is_only_resized(module: Module, value: ast.expr, depth: int) -> bool:
    """Tell whether a resize is all that an image goes to."""
    parent = module.parent(value)
    if depth > MAX_DEPTH:
        return False
    if isinstance(parent, ast.Call) and parent.args and parent.args[0] is value:
        name = name_of(parent.func)
        if name in _RESIZES and isinstance(parent.func, ast.Attribute):
            return True
        return name in _PIXELWISE and _is_only_resized(module, parent, depth + 1)
    if isinstance(parent, ast.BinOp) and isinstance(parent.right, ast.Constant):
        return parent.left is value and _is_only_resized(module, parent, depth + 1)
    if isinstance(parent, ast.Assign | ast.AnnAssign) and target_of(parent) is not None:
        readers = reads_of_assignment(module, parent)
        return bool(readers) and all(
            _is_only_resized(module, reader, depth + 1) for reader in readers or ()
        )
    return isinstance(parent, ast.Return) and _callers_resize(module, parent, depth)


def _callers_resize(module: Module, returned: ast.Return, depth: int) -> bool:
    """Tell whether a function is only called, and every caller resizes what it returns."""
    function = module.around(returned, ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
    if not isinstance(function, Function) or function.decorator_list:
        return False
    nodes: list[ast.Name | ast.Attribute] = [*module.all(ast.Name), *module.all(ast.Attribute)]
    named = [
        node for node in nodes if name_of(node) == function.name and isinstance(node.ctx, ast.Load)
    ]
    calls = [module.parent(node) for node in named]
    return bool(named) and all(
        isinstance(call, ast.Call)
        and call.func is node
        and _is_only_resized(module, call, depth + 1)
        for node, call in zip(named, calls, strict=True)
    )


# -- before random changes ---------------------------------------------------------------------


def resize_first(module: Module, function_line: int) -> Change | None:
    """Return the change that makes images small before they are recoloured.

    The function that begins at a line must do both to one name, statement by statement, and the
    image must be of floats before: on whole numbers these operations work otherwise.
    """
    functions: list[Function] = [*module.all(ast.FunctionDef), *module.all(ast.AsyncFunctionDef)]
    found = [f for f in functions if function_line in (f.lineno, module.begin(f)[0])]
    resizes = [
        c for f in found for c in module.all(ast.Call, within=f) if name_of(c.func) == "resize"
    ]
    if len(found) != 1 or len(resizes) != 1 or not isinstance(resizes[0].func, ast.Attribute):
        return None
    resize = resizes[0]
    statement, image = module.statement(resize), resize.args[0] if resize.args else None
    if statement not in found[0].body or not isinstance(image, ast.Name):
        return None
    body, last = found[0].body, found[0].body.index(statement)
    first = last
    while first and _is_pixelwise(body[first - 1], image.id):
        first -= 1
    if not any(_is_on_itself(s, _COLOURS) for s in body[first:last]):
        return None
    if not _is_float(body[:first], image.id) or not _has_plain_size(module, resize):
        return None
    edits = _moved(module, resize, image.id, body[first])
    return _recoloured_later(edits) if edits is not None else None


def _recoloured_later(edits: tuple[Edit, ...]) -> Change:
    return Change(
        "Make the images small before they are recoloured",
        FixClass.MAY_CHANGE_RESULTS,
        edits,
        "A recoloured small image differs a little from a recoloured large one that is made small.",
    )


def _moved(
    module: Module, resize: ast.Call, image: str, before: ast.stmt
) -> tuple[Edit, ...] | None:
    """Return the edits that move a resize, alone in its statement or part of what is returned."""
    statement = module.statement(resize)
    if value_of_statement(statement) is resize and target_of(statement) == image:
        first, last = module.begin(statement)[0], module.end(statement)[0]
        while module.lines[first - 2].startswith(module.indent(statement) + "#"):
            first -= 1
        code = textwrap.dedent("\n".join(module.lines[first - 1 : last]))
        gone = module.remove(statement)
    else:
        names = [n for n in module.all(ast.Name, within=statement) if n.id == image]
        if not isinstance(statement, ast.Return) or len(names) != 1:
            return None
        code, gone = f"{image} = {module.code(resize)}", module.replace(resize, image)
    added = module.insert_before(before, code) if "\n" not in module.code(resize) else None
    return (added, gone) if added is not None and gone is not None else None


def _is_on_itself(statement: ast.stmt, names: tuple[str, ...]) -> bool:
    """Tell whether a statement is `x = module.name(x, ...)` with one of some names."""
    call, name = value_of_statement(statement), target_of(statement)
    return (
        isinstance(call, ast.Call)
        and isinstance(call.func, ast.Attribute)
        and call.func.attr in names
        and bool(call.args)
        and isinstance(call.args[0], ast.Name)
        and call.args[0].id == name
    )


def _is_pixelwise(statement: ast.stmt, name: str | None) -> bool:
    is_known = _is_on_itself(statement, _COLOURS + _PIXELWISE[2:])
    value = value_of_statement(statement)
    names = [n.id for n in ast.walk(value) if isinstance(n, ast.Name)] if value else []
    return is_known and target_of(statement) == name and names.count(name or "") == 1


def _is_float(statements: list[ast.stmt], name: str | None) -> bool:
    """Tell whether the last statement that makes an image makes it one of floats."""
    for statement in reversed(statements):
        value = value_of_statement(statement)
        if target_of(statement) != name or value is None:
            continue
        while isinstance(value, ast.BinOp):
            value = value.left
        named = name_of(value.func) if isinstance(value, ast.Call) else ""
        return named in ("cast", "convert_image_dtype") and "float" in ast.unparse(value)
    return False


def _has_plain_size(module: Module, resize: ast.Call) -> bool:
    """Tell whether a size is known before the function begins."""
    given = [*resize.args[1:], *(keyword.value for keyword in resize.keywords)]
    names = {n.id for value in given for n in ast.walk(value) if isinstance(n, ast.Name)}
    calls = [n for value in given for n in ast.walk(value) if isinstance(n, ast.Call)]
    block = module.block(module.statement(resize))
    return not calls and not names & {target_of(statement) for statement in block}
