"""`shuffle` is given AUTOTUNE, which is -1: there is no such size of a buffer.

What goes wrong: `tf.data.AUTOTUNE` is the number -1. `map` and `prefetch` know it as "choose for
me"; `shuffle` has no such choice, because its buffer decides how well is shuffled. It ends the
script with `buffer_size must be greater than zero`.

How it shows: the value given to `shuffle` is AUTOTUNE, often the default of an argument that goes
to `prefetch` as well.

Example:
    dataset = dataset.shuffle(tf.data.AUTOTUNE)

Use instead:
    dataset = dataset.shuffle(1000)

Fix class: repairs. A buffer of 1,000 elements is what most programs begin with; as many as there
are elements shuffles best, if they fit into memory.

When it is wrong: never, where the value is AUTOTUNE. Where another one may be given, nothing is
reported.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from quickfit.causes._cause import Cause
from quickfit.code import Module, Program
from quickfit.code.datasets import chains
from quickfit.code.syntax import argument
from quickfit.code.values import External
from quickfit.findings import Change, Effect, FixClass, Spotted, Symptom

AUTOTUNE = "tensorflow.data.AUTOTUNE"
# What most programs begin with; the page says what to think of.
BUFFER = "1000"


def scan(module: Module, program: Program) -> Iterator[Spotted]:
    """Report every `shuffle` whose buffer is AUTOTUNE."""
    for call in module.calls("shuffle"):
        size = argument(call, "buffer_size", 0)
        if size is None or not is_autotune(program, module, size):
            continue
        if not chains(program, module, call):
            continue  # a `shuffle` of something else
        is_other = isinstance(size, ast.Name) and size.id != "AUTOTUNE"
        named = f" (`{module.code(size)}` is AUTOTUNE)" if is_other else ""
        yield Spotted(
            where=module.span(call),
            summary=f"`shuffle(AUTOTUNE)` is `shuffle(-1)`: there is no such buffer{named}",
            effect=Effect.CRASHES,
            change=Change(
                title="Give the shuffle a buffer",
                kind=FixClass.REPAIRS,
                edits=(module.replace(size, BUFFER),),
                note="As many as there are elements shuffle best, if they fit into memory.",
            ),
        )


def is_autotune(program: Program, module: Module, node: ast.expr) -> bool:
    """Tell whether an expression is AUTOTUNE wherever it is known."""
    known = [v for v in program.values(module, node) if isinstance(v, External)]
    others = [v for v in program.values(module, node) if v not in known]
    is_default = all(type(v).__name__ == "Parameter" for v in others)
    return bool(known) and is_default and all(v.name == AUTOTUNE for v in known)


CAUSE = Cause(title="A shuffle is given AUTOTUNE", symptom=Symptom.CRASH, scan=scan)
