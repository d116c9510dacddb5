"""A persistent tape records its own gradients.

Why it is slow: what runs in the block of a `GradientTape` is recorded. `tape.gradient` on a
`persistent=True` tape inside its own block is recorded too, with the update of the weights behind
it: all of the backward pass is kept in memory, and work is done for derivatives of second order
that nothing asks for. TensorFlow itself warns of it.

How it shows: `tape.gradient` stands in the block of its own persistent tape, and no gradient is
taken of a gradient.

Example:
    with tf.GradientTape(persistent=True) as tape:
        loss = loss_fn(y, model(x, training=True))
        grads = tape.gradient(loss, model.trainable_variables)

Use instead:
    with tf.GradientTape(persistent=True) as tape:
        loss = loss_fn(y, model(x, training=True))
    grads = tape.gradient(loss, model.trainable_variables)

Fix class: show-only. Which of the lines behind it belong out of the block is for a person to say.

When it is wrong: a plain tape stops by itself when it is asked for a gradient, so that nothing is
lost and nothing reported. Nor is it where a gradient is taken of a gradient.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from quickfit.causes._cause import Cause
from quickfit.code import Module, Program
from quickfit.code.syntax import argument, keyword_value, name_of
from quickfit.findings import Effect, Spotted, Symptom

TAPE = "tensorflow.GradientTape"


def scan(module: Module, program: Program) -> Iterator[Spotted]:
    """Report gradients that are taken in the block of their own persistent tape."""
    for call in module.calls("gradient") if "persistent" in module.text else ():
        tape = call.func.value if isinstance(call.func, ast.Attribute) else None
        block = _own_block(program, module, call, tape) if tape is not None else None
        if block is None or _is_differentiated(module, block, call):
            continue
        yield Spotted(
            module.span(call),
            "this gradient is recorded by its own persistent tape: indent it less",
            Effect.SLOW,
            related=((module.span(block.items[0].context_expr), "recorded from here on"),),
        )


def _own_block(program: Program, module: Module, call: ast.Call, tape: ast.expr) -> ast.With | None:
    """Return the `with` of a persistent tape that a gradient stands in."""
    above = module.around(call, ast.With)
    while above is not None:
        for item in above.items:
            made = item.context_expr
            is_named = item.optional_vars is not None and name_of(item.optional_vars) == name_of(
                tape
            )
            if is_named and isinstance(made, ast.Call) and program.called(module, made) == TAPE:
                kept = keyword_value(made, "persistent")
                is_kept = program.literal(module, kept) is True
                return above if is_kept and isinstance(tape, ast.Name) else None
        above = module.around(above, ast.With)
    return None


def _is_differentiated(module: Module, block: ast.With, call: ast.Call) -> bool:
    """Tell whether another gradient is taken of what a block computes with this one."""
    statement = module.statement(call)
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    names = {n.id for t in targets for n in ast.walk(t) if isinstance(n, ast.Name)}
    for other in module.calls("gradient", "batch_jacobian", "jacobian"):
        target = argument(other, "target", 0)
        if other is call or target is None:
            continue
        if other.lineno > call.lineno and not module.is_in(other, block):
            return True  # of what, is not followed
        if any(isinstance(n, ast.Name) and n.id in names for n in ast.walk(target)):
            return True
    return not names


CAUSE = Cause(title="A tape records its own gradient", symptom=Symptom.SLOW, scan=scan)
