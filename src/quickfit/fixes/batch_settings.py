"""Edits that take more examples per step, wherever the size of a batch comes from."""

from __future__ import annotations

import ast

from quickfit.findings import FixClass
from quickfit.fixes.batch_sizes import Size, has_fixed_size, larger_batch
from quickfit.fixes.change import Change, Edit
from quickfit.fixes.compile_settings import Made
from quickfit.fixes.lookup import argument, call_at, called, may_have_more, only_value
from quickfit.fixes.places import said
from quickfit.fixes.script import Project, Script
from quickfit.fixes.written import written

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


def with_batch(script: Script, line: int, size: Size, project: Project) -> Made:
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
            f"where the {size.examples} examples per step of {said(script, line)} come from is not"
            f" certain: write {size.after} there by hand"
        )
    fixed = _fixed_steps(script, change.edits[0], project)
    return fixed or Change(change.title, change.kind, change.edits, NOTE)


def _written(script: Script, line: int, size: Size, project: Project) -> Change | None:
    """Return the change of a number that is written, in the call or as a constant."""
    change = larger_batch(script, line, size, project)
    maker = call_at(script, line, *MAKERS)
    if change is not None or maker is None or may_have_more(maker):
        return change
    found = written(script, argument(maker, "batch_size"), project)
    is_it = found is not None and type(found.value) is int and found.value == size.examples
    return _change(size, found.edit(str(size.after))) if is_it and found is not None else None


def _unasked(script: Script, line: int, size: Size) -> Change | None:
    """Return the change of a call that leaves the number to Keras."""
    call = call_at(script, line, "fit", *MAKERS)
    if call is None or may_have_more(call) or argument(call, "batch_size") is not None:
        return None
    name = called(call)
    if name == "fit" and (size.method != "fit" or len(call.args) > 2):
        return None
    if MAKERS.get(name, FIT_BATCH) != size.examples:
        return None
    edit = script.with_keyword(call, "batch_size", str(size.after))
    return _change(size, edit) if edit is not None else None


def _change(size: Size, edit: Edit) -> Change:
    title = f"Take {size.after} examples per step"
    return Change(title, FixClass.MAY_CHANGE_RESULTS, (edit,), NOTE)


def _fixed_steps(script: Script, edit: Edit, project: Project) -> str:
    """Return why an epoch would become longer: its number of steps does not follow the size."""
    for file in project.files:
        other = project.script(file)
        for call in other.all(ast.Call) if other is not None else ():
            steps = argument(call, "steps_per_epoch")
            if other is None or steps is None or _is_none(steps):
                continue
            if not _follows(other, steps, edit, project):
                return (
                    f"`steps_per_epoch` at {said(other, call.lineno)} does not follow the size of"
                    " a batch, so that an epoch would have more examples"
                )
    return ""


def _is_none(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and value.value is None


def _follows(script: Script, steps: ast.expr, edit: Edit, project: Project) -> bool:
    """Tell whether a number of steps is worked out from the constant that is edited."""
    if isinstance(steps, ast.Name):
        steps = only_value(script, steps.id) or steps
    names = [n for n in ast.walk(steps) if isinstance(n, ast.Name | ast.Attribute | ast.Subscript)]
    found = [written(script, name, project) for name in names]
    return any(
        one is not None
        and one.script.file == edit.file
        and one.script.begin(one.node) == edit.begin
        for one in found
    )
