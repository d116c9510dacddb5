"""Edits that let a model compute in 16 bits: the policy behind the import, the head in float32."""

from __future__ import annotations

import ast

from quickfit.findings import FixClass
from quickfit.fixes.change import Change, Edit
from quickfit.fixes.compile_settings import Made
from quickfit.fixes.imports import behind_import
from quickfit.fixes.lookup import argument, called, last_name, may_have_more
from quickfit.fixes.places import said
from quickfit.fixes.script import Project, Script

SETTERS = ("set_dtype_policy", "set_global_policy", "set_policy")
Head = tuple[Script, ast.Call]


def with_policy(script: Script, policy: str, project: Project) -> Made:
    """Set the policy for all layers, and float32 for the only last layer of the files.

    Args:
        script: the file that is run.
        policy: such as `mixed_bfloat16`.
        project: all files: the model may be made in another one.
    """
    scripts = [s for file in project.files if (s := project.script(file)) is not None]
    for other in scripts:
        for call in other.all(ast.Call):
            if called(call) in SETTERS:
                return f"{said(other, call.lineno)} sets a policy itself"
    head = _head(scripts)
    if head is None:
        return (
            "which layer is the last one is not certain: put `keras.config.set_dtype_policy"
            f'("{policy}")` behind the imports and `dtype="float32"` on the last layer by hand'
        )
    line = _policy_line(script, policy)
    dtype = _in_float32(*head)
    if isinstance(line, str) or dtype is None:
        return line if isinstance(line, str) else f"{said(head[0], head[1].lineno)} has a dtype"
    note = "Activations have 8 to 11 bits instead of 24: watch the loss."
    title = f"Compute in 16 bits ({policy})"
    return Change(title, FixClass.MAY_CHANGE_RESULTS, (*line, dtype), note)


def _policy_line(script: Script, policy: str) -> tuple[Edit, ...] | str:
    code = f'.config.set_dtype_policy("{policy}")'
    for node in script.tree.body:
        if isinstance(node, ast.ImportFrom) and node.module == "tensorflow":
            for alias in node.names:
                edit = script.insert_after(node, f"{alias.asname or alias.name}{code}")
                if alias.name == "keras" and edit is not None:
                    return (edit,)
    plain = any(
        isinstance(n, ast.Import) and any(a.name == "keras" for a in n.names)
        for n in script.tree.body
    )
    own = behind_import(script, "tensorflow", "tf", f"{{name}}.keras{code}")
    if plain or (isinstance(own, tuple) and "import" in own[0].text):
        return behind_import(script, "keras", "keras", f"{{name}}{code}")
    return own


def _in_float32(script: Script, layer: ast.Call) -> Edit | None:
    if argument(layer, "dtype") is not None or may_have_more(layer):
        return None
    return script.with_keyword(layer, "dtype", '"float32"')


def _head(scripts: list[Script]) -> Head | None:
    """Return the call that makes the last layer of the only model; None where that is unsure."""
    found: list[Head | None] = []
    for script in scripts:
        calls = script.all(ast.Call)
        found += [_last_of_list(script, c) for c in calls if called(c) == "Sequential"]
        found += [_last_output(script, c) for c in calls if called(c) in ("Model", "Functional")]
    return found[0] if len(found) == 1 else None


def _last_of_list(script: Script, call: ast.Call) -> Head | None:
    """Return the last layer of `Sequential([...])`, or the last that is added to it."""
    layers = call.args[0] if call.args else argument(call, "layers")
    if layers is None:
        parent = script.parent(call)
        name = ast.unparse(parent.targets[0]) if isinstance(parent, ast.Assign) else ""
        added = [c for c in script.all(ast.Call) if ast.unparse(c.func) == f"{name}.add"]
        given = added[-1].args if added and name else []
    else:
        given = layers.elts[-1:] if isinstance(layers, ast.List | ast.Tuple) else []
    last = given[0] if given else None
    return (script, last) if isinstance(last, ast.Call) else None


def _last_output(script: Script, call: ast.Call) -> Head | None:
    """Return the layer whose output is the only one of `Model(inputs, outputs)`."""
    given = call.args[1] if len(call.args) > 1 else argument(call, "outputs")
    if isinstance(given, ast.Name):
        same = [n for n in script.block(script.statement(call)) if _assigns(n, given.id)]
        before = [n for n in same if n.lineno < call.lineno]
        last = before[-1] if before else None
        given = last.value if isinstance(last, ast.Assign) else None
    if isinstance(given, ast.Call) and isinstance(given.func, ast.Call):
        return (script, given.func)
    return None


def _assigns(statement: ast.stmt, name: str) -> bool:
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return False
    target = statement.targets[0]
    return isinstance(target, ast.Name) and last_name(target) == name
