"""Where a generator is used, whether a dataset can take its place, and what is unused then."""

from __future__ import annotations

import ast
import os
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from quickfit.causes._shared.image_pipeline.values import NotRecognisedError, code, number
from quickfit.code import Module, Program
from quickfit.code.edits import apply_edits
from quickfit.code.syntax import Def, parse_code
from quickfit.findings import Edit

_MUTATORS = {"append", "extend", "sort", "reverse", "pop", "insert", "remove", "clear"}
_TAKERS = {"fit": ("x", "validation_data"), "evaluate": ("x",), "predict": ("x",)}


@dataclass
class Uses:
    """The uses of a generator.

    Args:
        fits: the calls of `fit` and the like that take it.
        sources: the calls of `from_generator` that take it.
        scripts: the file of each of these.
        edits: the edits that make these.
    """

    fits: list[ast.Call]
    sources: list[ast.Call]
    modules: list[Module]
    edits: list[Edit]


def uses(program: Program, module: Module, function: Def) -> Uses:
    """Return all uses of a generator.

    Raises:
        NotRecognisedError: where it is used in a way that a dataset cannot be.
    """
    found = Uses([], [], [], [])
    parent = module.around(function, ast.FunctionDef, ast.ClassDef)
    if isinstance(parent, ast.FunctionDef):  # known nowhere else
        for node in _names(module, parent, function.name):
            _use(found, module, node)
    else:
        for file in program.paths:
            other = program.find_module(file)
            for node in _references(other, module, function) if other is not None else ():
                _use(found, other or module, node)
    if not found.fits and not found.sources:
        raise NotRecognisedError
    return found


def _references(module: Module, home: Module, function: Def) -> Iterable[ast.expr]:
    """Return where a file names a function or method of another file or of its own."""
    is_method = isinstance(home.parent(function), ast.ClassDef)
    attributes = [n for n in module.all(ast.Attribute) if n.attr == function.name]
    if is_method:
        return attributes
    aliases = [a for a in module.all(ast.alias) if a.name == function.name]
    if any(alias.asname for alias in aliases):
        raise NotRecognisedError
    if module is home:
        return _names(module, module.tree, function.name)
    stem = os.path.splitext(os.path.basename(home.path))[0]
    if any(a.name.endswith(stem) and a.asname for a in module.all(ast.alias)):
        raise NotRecognisedError
    named = [n for n in attributes if code(n.value).rsplit(".", 1)[-1] == stem]
    return [*named, *(_names(module, module.tree, function.name) if aliases else [])]


def _names(module: Module, within: ast.AST, name: str) -> list[ast.expr]:
    found = [n for n in module.all(ast.Name, within=within) if n.id == name]
    if any(not isinstance(node.ctx, ast.Load) for node in found):
        raise NotRecognisedError
    return list(found)


def _use(found: Uses, module: Module, node: ast.expr) -> None:
    parent = module.parent(node)
    if isinstance(parent, ast.Call) and parent.func is node:
        _call(found, module, parent)
        return
    source = parent if isinstance(parent, ast.Call) else None
    if source is None and isinstance(parent, ast.keyword):
        above = module.parent(parent)
        source = above if isinstance(above, ast.Call) else None
    if source is None or not is_from_generator(source):
        raise NotRecognisedError
    _from_generator(found, module, source, node)


def is_from_generator(call: ast.Call) -> bool:
    """Tell whether a call is `Dataset.from_generator(...)`."""
    return isinstance(call.func, ast.Attribute) and call.func.attr == "from_generator"


def _from_generator(found: Uses, module: Module, call: ast.Call, node: ast.expr) -> None:
    given = call.args[0] if call.args else None
    named = {k.arg: k.value for k in call.keywords}
    given = named.pop("generator", given)
    if given is not node or None in named:
        raise NotRecognisedError
    if "args" in named or len(call.args) > 3:
        raise NotRecognisedError  # the generator is given values of tensors, of other types
    found.sources.append(call)
    found.modules.append(module)
    found.edits.append(module.replace(call, f"{code(node)}()"))


def _call(found: Uses, module: Module, call: ast.Call) -> None:
    parent = module.parent(call)
    if isinstance(parent, ast.Lambda) and not parent.args.args and parent.body is call:
        above = module.parent(parent)
        holder = module.parent(above) if isinstance(above, ast.keyword) else above
        if isinstance(holder, ast.Call) and is_from_generator(holder):
            first = holder.args[0] if holder.args else None
            named = {k.arg: k.value for k in holder.keywords}
            if named.get("generator", first) is parent and "args" not in named:
                found.sources.append(holder)
                found.modules.append(module)
                found.edits.append(module.replace(holder, module.code(call)))
                return
        raise NotRecognisedError
    if isinstance(parent, ast.Assign) and len(parent.targets) == 1:
        target = parent.targets[0]
        if isinstance(target, ast.Name) and parent.value is call:
            _through_name(found, module, target, parent)
            return
    _taken(found, module, call)


def _taken(found: Uses, module: Module, value: ast.expr) -> None:
    """Take a use as an argument of `fit` and the like."""
    parent = module.parent(value)
    call = parent if isinstance(parent, ast.Call) else None
    keyword = parent.arg if isinstance(parent, ast.keyword) else ""
    if isinstance(parent, ast.keyword):
        above = module.parent(parent)
        call = above if isinstance(above, ast.Call) else None
    if call is None or not isinstance(call.func, ast.Attribute):
        raise NotRecognisedError
    takes = _TAKERS.get(call.func.attr, ())
    is_first = bool(call.args) and call.args[0] is value
    if not takes or not (is_first or keyword in takes):
        raise NotRecognisedError
    found.fits.append(call)


def _through_name(found: Uses, module: Module, target: ast.Name, made: ast.Assign) -> None:
    """Take the uses of the name that a generator is given."""
    scope = module.around(made, ast.FunctionDef) or module.tree
    if scope is module.tree and module.around(made, ast.For, ast.While):
        raise NotRecognisedError
    nodes = [n for n in module.all(ast.Name, within=scope) if n.id == target.id and n is not target]
    if any(not isinstance(n.ctx, ast.Load) for n in nodes):
        raise NotRecognisedError
    trained = [n for n in nodes if _is_trained_on(module, n)]
    for node in nodes:
        _taken(found, module, node)
        # A generator goes on where it was; a dataset begins again with each call.
        if module.around(node, ast.For, ast.While) is not module.around(made, ast.For, ast.While):
            raise NotRecognisedError
    if not nodes or len(nodes) > 1 or len(trained) > 1:
        raise NotRecognisedError
    _check_unchanged(module, scope, made)


def _is_trained_on(module: Module, node: ast.expr) -> bool:
    parent = module.parent(node)
    return isinstance(parent, ast.Call) and code(parent.func).endswith(".fit")


def _check_unchanged(module: Module, scope: ast.AST, made: ast.Assign) -> None:
    """Make sure that what a generator is given stays the same until it is used."""
    given = {n.id for n in ast.walk(made.value) if isinstance(n, ast.Name)}
    for call in module.all(ast.Call, within=scope):
        if call.lineno <= made.lineno:
            continue
        name = call.func.attr if isinstance(call.func, ast.Attribute) else code(call.func)
        base = code(call.func.value) if isinstance(call.func, ast.Attribute) else ""
        arguments = {code(a) for a in call.args}
        if (name in _MUTATORS and base in given) or (name == "shuffle" and arguments & given):
            raise NotRecognisedError


def check_rounds(found: Uses, *, is_endless: bool) -> None:
    """Make sure that a generator that ends is used for one round only: a dataset begins again."""
    if is_endless or not found.fits:
        return
    if len(found.fits) != 1:
        raise NotRecognisedError
    named = {k.arg: k.value for k in found.fits[0].keywords}
    if None in named or "steps_per_epoch" in named or "validation_data" in named:
        raise NotRecognisedError
    if "epochs" in named and number(named["epochs"]) != 1:
        raise NotRecognisedError


def signature(call: ast.Call, module: Module) -> ast.expr:
    """Return the signature, or the types, that a call of `from_generator` is given.

    Raises:
        NotRecognisedError: where it is not written out.
    """
    named = {k.arg: k.value for k in call.keywords}
    given = named.get("output_signature", named.get("output_types"))
    if given is None and len(call.args) > 1:
        given = call.args[1]
    if isinstance(given, ast.Name):
        name = given.id
        assigns = [s for s in module.all(ast.Assign) if [code(t) for t in s.targets] == [name]]
        given = assigns[0].value if len(assigns) == 1 else None
    if given is None:
        raise NotRecognisedError
    return given


def signature_dtypes(call: ast.Call, module: Module) -> tuple[str, ...]:
    """Return the types that a call of `from_generator` names, one per part of an element."""
    given = signature(call, module)
    parts = given.elts if isinstance(given, ast.Tuple | ast.List) else [given]
    return tuple(dtype_name(part) for part in parts)


def dtype_name(node: ast.expr) -> str:
    """Return the name of the type that an expression such as `tf.float32` or a spec stands for."""
    if isinstance(node, ast.Call) and code(node.func).endswith("TensorSpec"):
        named = {k.arg: k.value for k in node.keywords}
        found = named.get("dtype", node.args[1] if len(node.args) > 1 else None)
        if found is None:
            return "float32"
        node = found
    text = str(node.value) if isinstance(node, ast.Constant) else code(node).rsplit(".", 1)[-1]
    if text not in ("float32", "float64", "uint8", "int32", "int64", "int8", "bool", "float16"):
        raise NotRecognisedError
    return text


_Definition = ast.FunctionDef | ast.ClassDef


def removals(program: Program, module: Module, edits: Iterable[Edit]) -> list[Edit]:
    """Return the edits that remove what nothing names any more, and something named before.

    What carries a comment stays: comments are not lost.
    """
    own = [edit for edit in edits if edit.file == module.path]
    before = _named(module.tree)
    found: list[Edit] = []
    while True:
        tree = parse_code(apply_edits(module.text, [*own, *found]))
        left = _named(tree)
        more = [
            edit
            for node in module.tree.body
            if isinstance(node, _Definition) and before[node.name] > 0 and left[node.name] <= 0
            if _is_defined(tree, node.name) and not _is_named_elsewhere(program, module, node.name)
            if (edit := _removed(module, node)) is not None
        ]
        if not more:
            return found
        found += more


def _named(tree: ast.AST) -> Counter[str]:
    """Return how often names are named, as names, attributes or texts, but not in themselves."""
    counts: Counter[str] = Counter()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            counts[node.id] += 1
        elif isinstance(node, ast.Attribute):
            counts[node.attr] += 1
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            counts[node.value] += 1
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, _Definition):
            inside = [n.id for n in ast.walk(node) if isinstance(n, ast.Name)]
            counts[node.name] -= inside.count(node.name)
    for node in (n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)):
        own = {s.name for s in node.body if isinstance(s, ast.FunctionDef)}
        inside = [n.id for n in ast.walk(node) if isinstance(n, ast.Name)]
        counts.subtract(name for name in inside if name in own)  # they mean the inner one
    return counts


def _is_defined(tree: ast.Module, name: str) -> bool:
    return any(isinstance(node, _Definition) and node.name == name for node in tree.body)


def _is_named_elsewhere(program: Program, module: Module, name: str) -> bool:
    others = program.modules()
    return any(name in other.text for other in others if other is not module)


def _removed(module: Module, node: _Definition) -> Edit | None:
    """Return the edit that removes a definition and the empty lines behind it."""
    first, last = module.begin(node)[0], module.end(node)[0]
    above = module.lines[first - 2].lstrip() if first > 1 else ""
    if node.decorator_list or above.startswith("#") or not module.is_alone(node):
        return None
    if module.has_comment(node, node):
        return None
    line = last + 1
    while line < len(module.lines) and not module.lines[line - 1].strip():
        line += 1
    return Edit(module.path, (first, 0), (line, 0), "")
