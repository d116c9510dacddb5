"""Samples that cannot be read are left out, and nobody is told.

What goes wrong: `except Exception: continue` in a generator, a PyDataset or a mapped function
leaves out every sample that fails, for whatever reason: a wrong path, a typing error in the
function itself, a full disk. The model then trains on fewer samples than there are, classes may be
missing, and all looks well. With `pass`, what was read before may be given once more in the place
of what failed.

How it shows: the clause catches everything (or every `OSError`), does nothing but `continue` or
`pass`, and stands where samples are made.

Example:
    def batches(paths, labels):
        for path, label in zip(paths, labels):
            try:
                image = load_image(path)
            except Exception:
                continue
            yield image, label

Use instead:
    def batches(paths, labels):
        for path, label in zip(paths, labels):
            try:
                image = load_image(path)
            except UnidentifiedImageError as error:
                logging.warning("left out: %s (%s)", path, error)
                continue
            yield image, label

Fix class: shown only. Which errors may be passed over, and who is to hear of it, is for you to
decide.

When it is wrong: where a few broken files are known and meant to be left out. A clause that names
what it expects (`FileNotFoundError`, `UnidentifiedImageError`) is a hint; one that prints or logs
what it leaves out is silent. If skipping everything makes the input go round for ever,
`generator-never-yields` reports the clause.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from quickfit.causes._cause import Cause
from quickfit.findings import Effect, Spotted, Symptom
from quickfit.patterns.feeding import gives_samples, loses
from quickfit.patterns.skipping import skips
from quickfit.patterns.swallowing import (
    clauses,
    head,
    is_bare,
    is_broad,
    is_narrow,
    waits,
    written,
)
from quickfit.program import Module, Program

_FATES = {
    "left-out": "leaves out every sample that fails, without a word",
    "stale": "gives the sample before it once more for every one that fails, without a word",
}


def scan(module: Module, program: Program) -> Iterator[Spotted]:
    """Report clauses that make samples vanish."""
    found = [(t, h) for t, h in clauses(module) if is_bare(h) and not waits(t, h)]
    told = {skip.handler for skip in skips(program, module)} if found else set()
    for tried, handler in found:
        fate = loses(module, tried, handler) if handler not in told else ""
        broad = is_broad(program, module, handler)
        if not fate or not (broad or is_narrow(program, module, handler)):
            continue
        if gives_samples(program, module, module.function(handler)):
            yield Spotted(
                where=head(module, handler),
                summary=f"`{_clause(module, handler)}` {_FATES[fate]}",
                effect=Effect.WRONG,
                is_hint=not broad,
            )


def _clause(module: Module, handler: ast.ExceptHandler) -> str:
    does = "continue" if isinstance(handler.body[-1], ast.Continue) else "pass"
    return f"{written(module, handler)}: {does}"


CAUSE = Cause(title="Errors are passed over in silence", symptom=Symptom.WRONG, scan=scan)
