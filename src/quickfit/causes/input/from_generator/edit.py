"""Turns a generator over arrays, given to `from_generator`, into slices of these arrays."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from quickfit.causes._shared.image_pipeline import uses
from quickfit.causes._shared.image_pipeline.generators import (
    block,
    generators,
    head_line,
    is_plain_function,
    without_docstring,
)
from quickfit.causes._shared.image_pipeline.layout import with_comments
from quickfit.causes._shared.image_pipeline.values import (
    Line,
    Names,
    NotRecognisedError,
    code,
    number,
)
from quickfit.code.module import Module
from quickfit.code.program import Program
from quickfit.code.syntax import Def, parameter_names
from quickfit.findings import Change, FixClass

_OWN = {"ds", "window", "tf"}
# The length from which a call is written over several lines.
_WIDTH = 88


@dataclass
class _Loop:
    """The only loop of a generator: what its variables stand for, and what it gives."""

    prelude: list[ast.stmt]
    loop: ast.For
    given: ast.expr
    columns: dict[str, str]


@dataclass
class _Spec:
    dtype: str
    shape: ast.expr | None


def arrays_to_dataset(program: Program, file: str, line: int) -> Change | None:
    """Return the change of a generator whose elements are rows or windows of arrays."""
    module = program.find_module(file)
    if module is None:
        return None
    for function in generators(module, line):
        try:
            return _changed(program, module, function)
        except NotRecognisedError:
            continue
    return None


def _changed(program: Program, module: Module, function: Def) -> Change:
    is_plain_function(function)
    found = uses.uses(program, module, function)
    if found.fits or len(found.sources) != 1:
        raise NotRecognisedError
    source, user = found.sources[0], found.modules[0]
    names = Names(module)
    loop = _loop(module, function, names)
    signature = uses.signature(source, user)
    tf, imports = module.import_of("tensorflow", "tf")
    if loop.columns:
        rows = _slices(loop, signature, module, tf)
    else:
        rows = _windows(loop, signature, function, tf)
    body, head = without_docstring(function), head_line(module, function)
    kept = [Line(module.code(s), s.lineno) for s in loop.prelude]
    if any("\n" in line.text for line in kept):
        raise NotRecognisedError
    text = with_comments((*kept, *rows), module, head, module.end(body[-1])[0])
    edits = [block(module, body, head, text), *imports, *found.edits]
    if function.returns is not None:
        edits.append(module.replace(function.returns, f"{tf}.data.Dataset"))
    return Change(
        f"Slice the arrays of `{function.name}` in tf.data instead of Python",
        # Keras counts one step of the optimizer more per epoch while it does not know how many
        # batches there are, so that losses differ a little from the second epoch on.
        FixClass.EQUIVALENT,
        tuple(edits),
        "The same batches in the same order. Keras now knows their number and no longer counts"
        " one step too many per epoch. tf.data holds a copy of the arrays in memory.",
    )


def _loop(module: Module, function: Def, names: Names) -> _Loop:
    *before, loop = without_docstring(function)
    if not isinstance(loop, ast.For) or loop.orelse or len(loop.body) != 1:
        raise NotRecognisedError
    only = loop.body[0]
    call = only.value if isinstance(only, ast.Expr) else None
    given = call.value if isinstance(call, ast.Yield) else None
    if given is None or any(not isinstance(s, ast.Assign) for s in before):
        raise NotRecognisedError
    stored = {n.id for n in ast.walk(function) if isinstance(n, ast.Name) and _is_store(n)}
    if _OWN & (stored | set(parameter_names(function))):
        raise NotRecognisedError
    return _Loop(before, loop, given, _columns(module, loop, names))


def _is_store(node: ast.Name) -> bool:
    return isinstance(node.ctx, ast.Store)


def _columns(module: Module, loop: ast.For, names: Names) -> dict[str, str]:
    """Return the arrays that the variables of a loop over rows run through."""
    target, source = loop.target, loop.iter
    if isinstance(target, ast.Name) and _is_array(source):
        return {target.id: module.code(source)}
    if not isinstance(source, ast.Call):
        raise NotRecognisedError
    name = names.qualified(source.func)
    if name == "zip" and isinstance(target, ast.Tuple):
        if any(k.arg != "strict" for k in source.keywords):
            raise NotRecognisedError
        parts = target.elts
        if len(parts) != len(source.args) or not all(map(_is_array, source.args)):
            raise NotRecognisedError
        if not all(isinstance(part, ast.Name) for part in parts):
            raise NotRecognisedError
        return {code(p): module.code(a) for p, a in zip(parts, source.args, strict=True)}
    if name != "range" or source.keywords or not isinstance(target, ast.Name):
        raise NotRecognisedError
    return {}


def _is_array(node: ast.expr) -> bool:
    """Tell whether an expression names something, without a call."""
    parts = (ast.Name, ast.Attribute, ast.Subscript, ast.Constant, ast.expr_context)
    return all(isinstance(part, parts) for part in ast.walk(node))


# -- rows -----------------------------------------------------------------------------------


def _slices(loop: _Loop, signature: ast.expr, module: Module, tf: str) -> list[Line]:
    """Return the lines that slice arrays row by row."""
    if Names(module).imports.get("np") != "numpy":
        raise NotRecognisedError
    parts = _structure(loop.given, signature, loop.columns)
    call, line = f"return {tf}.data.Dataset.from_tensor_slices", loop.loop.lineno
    flat = f"{call}({' '.join(part.strip() for part in parts)})"
    flat = flat.replace("( ", "(").replace("{ ", "{").replace(", )", ")").replace(", }", "}")
    if len(flat) <= _WIDTH:
        return [Line(flat, line)]
    rows = [f"{call}(", *(f"    {part}" for part in parts), ")"]
    return [Line(row, line) for row in rows]


def _structure(given: ast.expr, signature: ast.expr, columns: dict[str, str]) -> list[str]:
    """Return the arrays of all elements, put together as one element is, as lines."""
    if isinstance(given, ast.Dict) and isinstance(signature, ast.Dict):
        keys = [_key(key) for key in given.keys]
        specs = {_key(k): v for k, v in zip(signature.keys, signature.values, strict=True)}
        if set(keys) != set(specs) or len(set(keys)) != len(given.values):
            raise NotRecognisedError
        parts = []
        for key, value in zip(keys, given.values, strict=True):
            first, *more = _structure(value, specs[key], columns)
            parts.append([f'"{key}": {first}', *more])
        return ["{", *_listed(parts), "}"]
    if isinstance(given, ast.Tuple) and isinstance(signature, ast.Tuple):
        if len(given.elts) != len(signature.elts):
            raise NotRecognisedError
        pairs = zip(given.elts, signature.elts, strict=True)
        return ["(", *_listed([_structure(value, spec, columns) for value, spec in pairs]), ")"]
    return [_column(given, _spec(signature), columns)]


def _listed(parts: list[list[str]]) -> list[str]:
    """Return parts one below the other, each with a comma behind it."""
    return [f"    {row}," if row is part[-1] else f"    {row}" for part in parts for row in part]


def _key(node: ast.expr | None) -> str:
    if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
        raise NotRecognisedError
    return node.value


def _spec(node: ast.expr) -> _Spec:
    if not isinstance(node, ast.Call) or not code(node.func).endswith("TensorSpec"):
        raise NotRecognisedError
    given: dict[str, ast.expr] = dict(zip(("shape", "dtype"), node.args, strict=False))
    given |= {k.arg: k.value for k in node.keywords if k.arg}
    return _Spec(uses.dtype_name(node), given.get("shape"))


def _column(given: ast.expr, spec: _Spec, columns: dict[str, str]) -> str:
    is_listed = isinstance(given, ast.List) and len(given.elts) == 1
    name = code(given.elts[0]) if is_listed and isinstance(given, ast.List) else code(given)
    if name not in columns:
        raise NotRecognisedError
    column = f'np.asarray({columns[name]}, "{spec.dtype}")'
    if not is_listed:
        return column
    if spec.shape is None or code(spec.shape) not in ("(1,)", "[1]", "1"):
        raise NotRecognisedError
    return f"{column}.reshape(-1, 1)"


# -- windows --------------------------------------------------------------------------------


def _windows(loop: _Loop, signature: ast.expr, function: Def, tf: str) -> list[Line]:
    """Return the lines that cut windows out of arrays."""
    start = code(loop.loop.target)
    given, specs = [loop.given], [signature]
    if isinstance(loop.given, ast.Tuple) and isinstance(signature, ast.Tuple):
        given, specs = loop.given.elts, signature.elts
    if len(given) != len(specs):
        raise NotRecognisedError
    tensors: dict[str, tuple[str, str]] = {}
    results = [
        _cut(value, _spec(spec), start, tensors, function)
        for value, spec in zip(given, specs, strict=True)
    ]
    line, last = loop.loop.lineno, loop.loop.body[0].lineno
    rows = [
        Line(f"{name} = {tf}.constant({array}, {tf}.{dtype})", line)
        for array, (name, dtype) in tensors.items()
    ]
    rows += [Line("", line), Line(f"def window({start}):", last)]
    parts = [
        text if shape is None else f"{tf}.ensure_shape({text}, {shape})" for text, shape in results
    ]
    rows.append(Line(f"    return {', '.join(parts)}", last))
    if not isinstance(loop.loop.iter, ast.Call):
        raise NotRecognisedError
    bounds = ", ".join(code(a) for a in loop.loop.iter.args)
    rows += [Line("", last), Line(f"ds = {tf}.data.Dataset.range({bounds})", line)]
    rows.append(Line(f"return ds.map(window, num_parallel_calls={tf}.data.AUTOTUNE)", line))
    return rows


def _cut(
    node: ast.expr,
    spec: _Spec,
    start: str,
    tensors: dict[str, tuple[str, str]],
    function: Def,
) -> tuple[str, str | None]:
    """Return the code of one row or of a slice of rows, and the shape it must be told."""
    if not isinstance(node, ast.Subscript) or not _is_array(node.value):
        raise NotRecognisedError
    array = code(node.value)
    name = array.rsplit(".", 1)[-1]
    if not name.isidentifier():
        raise NotRecognisedError
    tensor = name if "." in array else f"{name}_tensor"
    if tensors.setdefault(array, (tensor, spec.dtype)) != (tensor, spec.dtype):
        raise NotRecognisedError
    part = node.slice
    if isinstance(part, ast.Slice):
        if part.step is not None or part.lower is None or part.upper is None:
            raise NotRecognisedError
        _check_linear(part.lower, start)
        _check_linear(part.upper, start)
        return f"{tensor}[{code(part)}]", _shape(spec, function)
    _check_linear(part, start)
    return f"{tensor}[{code(part)}]", None


def _check_linear(node: ast.expr, start: str) -> None:
    """Make sure that an index is the loop's variable, with plain numbers added to it."""
    if code(node) == start:
        return
    is_sum = isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add)
    if not is_sum or not isinstance(node, ast.BinOp):
        raise NotRecognisedError
    _check_linear(node.left, start)
    if not isinstance(node.right, ast.Name | ast.Attribute) and number(node.right) is None:
        raise NotRecognisedError
    if start in {n.id for n in ast.walk(node.right) if isinstance(n, ast.Name)}:
        raise NotRecognisedError


def _shape(spec: _Spec, function: Def) -> str:
    """Return the shape of a window, where its names mean the same inside the generator."""
    if not isinstance(spec.shape, ast.Tuple | ast.List):
        raise NotRecognisedError
    names = {n.id for n in ast.walk(spec.shape) if isinstance(n, ast.Name)}
    is_method = parameter_names(function)[:1] == ["self"]
    if names - ({"self"} if is_method else set()):
        raise NotRecognisedError
    return code(spec.shape)
