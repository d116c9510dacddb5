"""The eager step of a script as a compiled function, in the user's own names.

For a step that no edit can take out of its loop: the tape is at the top of the script, under a
condition, or beside code that cannot be traced, such as an environment's `step`.
"""

from __future__ import annotations

import ast
import textwrap
from dataclasses import dataclass

from quickfit.fixes.bindings import writes
from quickfit.fixes.lifetimes import first_reads
from quickfit.source.calls import parsed
from quickfit.source.tapes import innermost_function, python_only

_APPLIES = {"apply_gradients", "apply"}
# A longer step is better read in the script.
MAX_LINES = 25


@dataclass(frozen=True)
class OwnStep:
    """From the tape of a step to where its gradients are applied.

    Args:
        text: these statements.
        given: the names in them that are others in each turn of the loop.
        python: calls in them that cannot be traced.
        model, optimizer, loss: what the script calls these; the loss may be unknown.
    """

    text: str
    given: tuple[str, ...]
    python: tuple[str, ...]
    model: str
    optimizer: str
    loss: str


def own_step(text: str, line: int) -> OwnStep | None:
    """Return the step around the tape at a line; None where it is not plain to see."""
    tree = parsed(text)
    if tree is None:
        return None
    body = _from_tape_to_apply(tree, line)
    calls = [node for each in body for node in ast.walk(each) if isinstance(node, ast.Call)]
    applied = next((c for c in calls if _method(c) in _APPLIES), None)
    asked = next((c for c in calls if _method(c) == "gradient" and len(c.args) > 1), None)
    variables = asked.args[1] if asked is not None else None
    if asked is None or applied is None or not isinstance(variables, ast.Attribute):
        return None
    assert isinstance(applied.func, ast.Attribute)
    model, optimizer = ast.unparse(variables.value), ast.unparse(applied.func.value)
    owners = {model.split(".")[0], optimizer.split(".")[0]}
    given = [name for name in first_reads(body) if name in _changing(tree, line) - owners]
    lines = text.split("\n")[body[0].lineno - 1 : body[-1].end_lineno]
    return OwnStep(
        textwrap.dedent("\n".join(lines)),
        tuple(given),
        tuple(python_only(*body)),
        model,
        optimizer,
        asked.args[0].id if isinstance(asked.args[0], ast.Name) else "",
    )


def _from_tape_to_apply(tree: ast.Module, line: int) -> list[ast.stmt]:
    """Return the statements from the `with` at a line to the one that applies gradients."""
    for node in ast.walk(tree):
        for name in ("body", "orelse", "finalbody"):
            block = getattr(node, name, None)
            lines = [s.lineno for s in block] if isinstance(block, list) else []
            if isinstance(block, list) and line in lines:
                after = block[lines.index(line) :]
                applies = [n for n, each in enumerate(after) if _applies(each)]
                return after[: applies[0] + 1] if applies else []
    return []


def _applies(statement: ast.stmt) -> bool:
    return any(isinstance(n, ast.Call) and _method(n) in _APPLIES for n in ast.walk(statement))


def _method(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else ""


def _changing(tree: ast.Module, line: int) -> set[str]:
    """Return the names that are bound in the loops around a line, or by the function around it."""
    function = innermost_function(tree, line)
    around = [
        node
        for node in ast.walk(tree if function is None else function)
        if isinstance(node, ast.For | ast.While) and node.lineno <= line <= (node.end_lineno or 0)
    ]
    given = function.args if function is not None else None
    own = {a.arg for a in (*given.posonlyargs, *given.args, *given.kwonlyargs)} if given else set()
    return writes(*around) | own - {"self"}


def render_step(step: OwnStep, tf: str) -> str:
    """Return the step as a compiled function, and the call of it; empty if it is too long."""
    lines = step.text.split("\n")
    if step.python or len(lines) > MAX_LINES:
        return ""
    given, loss = ", ".join(step.given), step.loss
    call = f"train_step({given})"
    return "\n".join(
        [
            f"@{tf}.function",
            f"def {call}:",
            *(f"    {line}" if line else "" for line in lines),
            *([f"    return {loss}"] if loss else []),
            "",
            "# in the loop, in place of these lines",
            f"{loss} = {call}" if loss else call,
        ]
    )


def render_split(step: OwnStep, tf: str) -> str:
    """Return what to compile of a step that holds code which cannot be traced."""
    model, optimizer, loss = step.model, step.optimizer, step.loss or "loss"
    variables = f"{model}.trainable_variables"
    return "\n".join(
        [
            f"forward = {tf}.function({model})  # in the loop, without a tape",
            "",
            f"@{tf}.function(reduce_retracing=True)",
            "def train_step(inputs, targets):  # tensors that hold all turns of the loop",
            f"    with {tf}.GradientTape() as tape:",
            f"        outputs = {model}(inputs)",
            f"        {loss} = ...  # from `outputs` and `targets`, with operations only",
            f"    grads = tape.gradient({loss}, {variables})",
            f"    {optimizer}.apply_gradients(zip(grads, {variables}))",
            f"    return {loss}",
        ]
    )
