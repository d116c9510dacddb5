"""Edits that `tune` tries: XLA, steps in one call, batch size, precision, threads."""

from __future__ import annotations

import ast

from quickfit.code.batch_size import Size, has_fixed_size, larger_batch
from quickfit.code.compile_settings import MAX_COMPILE_ARGS, steps_in_one_call
from quickfit.code.constants import find_constant
from quickfit.code.imports import behind_import
from quickfit.code.module import Module
from quickfit.code.program import Program
from quickfit.code.scopes import call_at, only_value_in_file
from quickfit.code.syntax import Def, called_name, is_open, keyword_value, name_of
from quickfit.findings import Change, Edit, FixClass

# What was made, or why the text is left alone.
Made = Change | str

XLA_TITLE = "Compile the step with XLA"
XLA_NOTE = "The first step takes longer. Losses agree to rounding; dropout may draw other numbers."


def with_xla(script: Module, line: int, project: Program) -> Made:
    """Give `compile` the argument `jit_compile=True`, or set the one it has."""
    call = _call_of_compile(script, line, "jit_compile=True")
    if isinstance(call, str):
        return call
    edit = _with_value(script, call, "jit_compile", "True", project)
    return _xla(edit) if isinstance(edit, Edit) else edit


def _xla(edit: Edit) -> Change:
    return Change(XLA_TITLE, FixClass.MAY_CHANGE_RESULTS, (edit,), XLA_NOTE)


def with_steps(
    script: Module, line: int, steps: int, project: Program, *, works_on_batches: bool
) -> Made:
    """Give `compile` the argument `steps_per_execution`, or set the one it has."""
    code = f"steps_per_execution={steps}"
    call = _call_of_compile(script, line, code)
    if isinstance(call, str):
        return call
    if keyword_value(call, "steps_per_execution") is None:
        change = steps_in_one_call(script, line, steps, works_on_batches=works_on_batches)
        return change or _by_hand(script, line, code)
    edit = _with_value(script, call, "steps_per_execution", str(steps), project)
    if not isinstance(edit, Edit):
        return edit
    kind = FixClass.MAY_CHANGE_RESULTS if works_on_batches else FixClass.SAME_RESULTS
    note = f"Callbacks on batches then come every {steps} steps."
    return Change(f"Run {steps} steps in one call", kind, (edit,), note)


def _call_of_compile(script: Module, line: int, code: str) -> ast.Call | str:
    """Return the call of `compile` at a line, where its arguments can be seen and changed."""
    call = call_at(script, line, "compile")
    if call is None:
        return f"{script.place(line)} has no single call of `compile`; put `{code}` there by hand"
    if is_open(call):
        return f"`compile` at {script.place(line)} is given arguments by `*` or `**`: add `{code}`"
    if len(call.args) > MAX_COMPILE_ARGS or not (call.args or call.keywords):
        return _by_hand(script, line, code)
    return call


def _by_hand(script: Module, line: int, code: str) -> str:
    return f"`compile` at {script.place(line)} is not recognised; put `{code}` there by hand"


def _with_value(
    script: Module, call: ast.Call, name: str, code: str, project: Program
) -> Edit | str:
    """Return the edit of an argument: added, replaced, or set where its constant is written."""
    given = keyword_value(call, name)
    if given is None or isinstance(given, ast.Constant):
        edit = script.with_keyword(call, name, code)
        return edit or _by_hand(script, call.lineno, f"{name}={code}")
    found = find_constant(script, given, project)
    if found is None or found.reads != 1:
        shown = f"`{name}={script.code(given)}` at {script.place(given.lineno)}"
        return f"{shown} is worked out elsewhere: make it {code} by hand"
    return found.edit(code)


def with_xla_function(script: Module, line: int) -> Made:
    """Give the `tf.function` around the function at a line the argument `jit_compile=True`."""
    functions = [f for f in script.all(ast.FunctionDef) if _heads(script, f, line)]
    if len(functions) != 1:
        return f"{script.place(line)} is no function with a name"
    function = functions[0]
    marks = [d for d in function.decorator_list if name_of(_bare(d)) == "function"]
    calls = [c for c in script.all(ast.Call) if _compiles(c, function)]
    if len(marks) + len(calls) != 1:
        where = f"`{function.name}` at {script.place(line)}"
        return f"{where} is not compiled by one `tf.function` in the same file"
    edit = _decorated(script, marks[0]) if marks else _called(script, calls[0])
    return _xla(edit) if edit is not None else f"`tf.function` at {script.place(line)} has `**`"


def _heads(script: Module, function: Def, line: int) -> bool:
    """Tell whether a line is the first one of a function, or one of its decorators."""
    return script.begin(function)[0] <= line < max(function.body[0].lineno, function.lineno + 1)


def _bare(decorator: ast.expr) -> ast.expr:
    return decorator.func if isinstance(decorator, ast.Call) else decorator


def _compiles(call: ast.Call, function: Def) -> bool:
    """Tell whether a call is `tf.function(step)`."""
    given = call.args[:1]
    return called_name(call) == "function" and bool(given) and name_of(given[0]) == function.name


def _decorated(script: Module, decorator: ast.expr) -> Edit | None:
    if isinstance(decorator, ast.Call):
        return _called(script, decorator)
    return script.replace(decorator, f"{script.code(decorator)}(jit_compile=True)")


def _called(script: Module, call: ast.Call) -> Edit | None:
    return script.with_keyword(call, "jit_compile", "True")


# Functions of Keras that make batches themselves, and how many examples they take unasked.
MAKERS = {
    "image_dataset_from_directory": 32,
    "text_dataset_from_directory": 32,
    "audio_dataset_from_directory": 32,
    "timeseries_dataset_from_array": 128,
}
# Unasked, `fit` takes so many rows of arrays.
FIT_BATCH = 32
NOTE = (
    "Fewer, larger updates: compare the loss, and raise the learning rate if it falls too slowly."
    " quickfit does not change the learning rate."
)


def with_batch(script: Module, line: int, size: Size, project: Program) -> Made:
    """Take more examples per step, where their number is written or Keras's own is in force.

    Args:
        script: the file of the call that makes batches.
        line: of the call.
        size: what was seen there, and what it becomes; method `fit` is for arrays only.
        project: all files, because the number may be written in another one.
    """
    if has_fixed_size(project):
        return "the model is made for batches of one size (`batch_shape`, `stateful`)"
    change = _written(script, line, size, project) or _unasked(script, line, size)
    if change is None:
        return (
            f"where the {size.examples} examples per step of {script.place(line)} come from is not"
            f" certain: write {size.after} there by hand"
        )
    fixed = _fixed_steps(script, change.edits[0], project)
    return fixed or Change(change.title, change.kind, change.edits, NOTE)


def _written(script: Module, line: int, size: Size, project: Program) -> Change | None:
    """Return the change of a number that is written, in the call or as a constant."""
    change = larger_batch(script, line, size, project)
    maker = call_at(script, line, *MAKERS)
    if change is not None or maker is None or is_open(maker):
        return change
    found = find_constant(script, keyword_value(maker, "batch_size"), project)
    is_it = found is not None and type(found.value) is int and found.value == size.examples
    return _change(size, found.edit(str(size.after))) if is_it and found is not None else None


def _unasked(script: Module, line: int, size: Size) -> Change | None:
    """Return the change of a call that leaves the number to Keras."""
    call = call_at(script, line, "fit", *MAKERS)
    if call is None or is_open(call) or keyword_value(call, "batch_size") is not None:
        return None
    name = called_name(call)
    if name == "fit" and (size.method != "fit" or len(call.args) > 2):
        return None
    if MAKERS.get(name, FIT_BATCH) != size.examples:
        return None
    edit = script.with_keyword(call, "batch_size", str(size.after))
    return _change(size, edit) if edit is not None else None


def _change(size: Size, edit: Edit) -> Change:
    title = f"Take {size.after} examples per step"
    return Change(title, FixClass.MAY_CHANGE_RESULTS, (edit,), NOTE)


def _fixed_steps(script: Module, edit: Edit, project: Program) -> str:
    """Return why an epoch would become longer: its number of steps does not follow the size."""
    for file in project.paths:
        other = project.find_module(file)
        for call in other.all(ast.Call) if other is not None else ():
            steps = keyword_value(call, "steps_per_epoch")
            if other is None or steps is None or _is_none(steps):
                continue
            if not _follows(other, steps, edit, project):
                return (
                    f"`steps_per_epoch` at {other.place(call.lineno)} does not follow the size of"
                    " a batch, so that an epoch would have more examples"
                )
    return ""


def _is_none(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and value.value is None


def _follows(script: Module, steps: ast.expr, edit: Edit, project: Program) -> bool:
    """Tell whether a number of steps is worked out from the constant that is edited."""
    if isinstance(steps, ast.Name):
        steps = only_value_in_file(script, steps.id) or steps
    names = [n for n in ast.walk(steps) if isinstance(n, ast.Name | ast.Attribute | ast.Subscript)]
    found = [find_constant(script, name, project) for name in names]
    return any(
        one is not None
        and one.module.path == edit.file
        and one.module.begin(one.node) == edit.begin
        for one in found
    )


POLICY_SETTERS = ("set_dtype_policy", "set_global_policy", "set_policy")
Head = tuple[Module, ast.Call]


def with_policy(script: Module, policy: str, project: Program) -> Made:
    """Set the policy for all layers, and float32 for the only last layer of the files.

    Args:
        script: the file that is run.
        policy: such as `mixed_bfloat16`.
        project: all files: the model may be made in another one.
    """
    scripts = [s for file in project.paths if (s := project.find_module(file)) is not None]
    for other in scripts:
        for call in other.all(ast.Call):
            if called_name(call) in POLICY_SETTERS:
                return f"{other.place(call.lineno)} sets a policy itself"
    head = _head(scripts)
    if head is None:
        return (
            "which layer is the last one is not certain: put `keras.config.set_dtype_policy"
            f'("{policy}")` behind the imports and `dtype="float32"` on the last layer by hand'
        )
    line = _policy_line(script, policy)
    dtype = _in_float32(*head)
    if isinstance(line, str) or dtype is None:
        return line if isinstance(line, str) else f"{head[0].place(head[1].lineno)} has a dtype"
    note = "Activations have 8 to 11 bits instead of 24: watch the loss."
    title = f"Compute in 16 bits ({policy})"
    return Change(title, FixClass.MAY_CHANGE_RESULTS, (*line, dtype), note)


def _policy_line(script: Module, policy: str) -> tuple[Edit, ...] | str:
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


def _in_float32(script: Module, layer: ast.Call) -> Edit | None:
    if keyword_value(layer, "dtype") is not None or is_open(layer):
        return None
    return script.with_keyword(layer, "dtype", '"float32"')


def _head(scripts: list[Module]) -> Head | None:
    """Return the call that makes the last layer of the only model; None where that is unsure."""
    found: list[Head | None] = []
    for script in scripts:
        calls = script.all(ast.Call)
        found += [_last_of_list(script, c) for c in calls if called_name(c) == "Sequential"]
        found += [
            _last_output(script, c) for c in calls if called_name(c) in ("Model", "Functional")
        ]
    return found[0] if len(found) == 1 else None


def _last_of_list(script: Module, call: ast.Call) -> Head | None:
    """Return the last layer of `Sequential([...])`, or the last that is added to it."""
    layers = call.args[0] if call.args else keyword_value(call, "layers")
    if layers is None:
        parent = script.parent(call)
        name = ast.unparse(parent.targets[0]) if isinstance(parent, ast.Assign) else ""
        added = [c for c in script.all(ast.Call) if ast.unparse(c.func) == f"{name}.add"]
        given = added[-1].args if added and name else []
    else:
        given = layers.elts[-1:] if isinstance(layers, ast.List | ast.Tuple) else []
    last = given[0] if given else None
    return (script, last) if isinstance(last, ast.Call) else None


def _last_output(script: Module, call: ast.Call) -> Head | None:
    """Return the layer whose output is the only one of `Model(inputs, outputs)`."""
    given = call.args[1] if len(call.args) > 1 else keyword_value(call, "outputs")
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
    return isinstance(target, ast.Name) and name_of(target) == name


THREAD_SETTERS = {
    "inter": "set_inter_op_parallelism_threads",
    "intra": "set_intra_op_parallelism_threads",
}
THREAD_TITLES = {
    "inter": "Let TensorFlow run {} at a time",
    "intra": "Give an operation {}",
}


def with_threads(script: Module, pool: str, threads: int, project: Program) -> Made:
    """Set the size of a pool of threads right behind the first import of TensorFlow.

    Args:
        script: the file that is run.
        pool: `inter` for operations at the same time, `intra` for threads inside one.
        threads: how many.
        project: all files: where one sets threads itself, that is left alone.
    """
    setting = _set_already(project)
    if setting:
        return f"{setting} sets the number of threads itself"
    code = "{name}.config.threading." + f"{THREAD_SETTERS[pool]}({threads})"
    edits = behind_import(script, "tensorflow", "tf", code)
    if isinstance(edits, str):
        return edits
    what = ("operation" if pool == "inter" else "thread") + ("" if threads == 1 else "s")
    return Change(
        title=THREAD_TITLES[pool].format(f"{threads} {what}"),
        kind=FixClass.MAY_CHANGE_RESULTS,
        edits=edits,
        note="Right for this machine; measure again on another. Losses agree to rounding.",
    )


def _set_already(project: Program) -> str:
    """Return the place of a call that sets a number of threads, or nothing."""
    for file in project.paths:
        script = project.find_module(file)
        for call in script.all(ast.Call) if script is not None else ():
            if called_name(call) in THREAD_SETTERS.values() and script is not None:
                return script.place(call.lineno)
    return ""
