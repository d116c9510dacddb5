"""A PyDataset shuffles an index that its batches never read.

What goes wrong: `on_epoch_end` mixes `self.indexes`, as the usual example has it, but `__getitem__`
takes its rows without it. Every epoch has the same batches in the same order, and the class looks
as if it had not.

How it shows: the attribute that is shuffled is read nowhere else in the class.

Example:
    class Batches(keras.utils.PyDataset):
        def __init__(self, x):
            super().__init__()
            self.x, self.order = x, np.arange(len(x))

        def __getitem__(self, at):
            return self.x[at * 32 : at * 32 + 32]

        def on_epoch_end(self):
            np.random.shuffle(self.order)

Use instead:
    class Batches(keras.utils.PyDataset):
        def __init__(self, x):
            super().__init__()
            self.x, self.order = x, np.arange(len(x))

        def __getitem__(self, at):
            return self.x[self.order[at * 32 : at * 32 + 32]]

        def on_epoch_end(self):
            np.random.shuffle(self.order)

Fix class: show-only. How the rows are taken by an index is for a person to write.

When it is wrong: where another class reads the index. It is looked for in the file.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from quickfit.causes._cause import Cause
from quickfit.code import Module, Program
from quickfit.code.syntax import name_of
from quickfit.code.values import Class
from quickfit.findings import Effect, Spotted, Symptom

_BASE = "keras.utils.PyDataset"


def scan(module: Module, program: Program) -> Iterator[Spotted]:
    """Report the shuffles of what nothing reads."""
    for call in module.calls("shuffle") if "__getitem__" in module.text else ():
        given = call.args[0] if len(call.args) == 1 else None
        owner = module.around(call, ast.ClassDef)
        if owner is None or not isinstance(given, ast.Attribute) or name_of(given.value) != "self":
            continue
        if _BASE not in program.resolver.ancestors(Class(owner, module)):
            continue
        if "__getitem__" in {getattr(part, "name", "") for part in owner.body} and not _is_read(
            module, given
        ):
            yield Spotted(
                module.span(call),
                f"`self.{given.attr}` is shuffled, and no batch is taken by it",
                Effect.WORSE,
            )


def _is_read(module: Module, shuffled: ast.Attribute) -> bool:
    """Tell whether an attribute is read for more than its length, or to shuffle it."""
    for node in module.all(ast.Attribute):
        if node.attr != shuffled.attr or not isinstance(node.ctx, ast.Load):
            continue
        above = module.parent(node)
        is_passed = isinstance(above, ast.Call) and node in above.args
        if is_passed and isinstance(above, ast.Call) and name_of(above.func) in ("shuffle", "len"):
            continue
        return True
    return False


CAUSE = Cause(title="An index is shuffled that nothing reads", symptom=Symptom.WRONG, scan=scan)
