"""A `Normalization` layer is used that has never seen the data.

What goes wrong: `keras.layers.Normalization()` learns mean and variance by `adapt`. Without it they
are 0 and 1: the layer passes its input on as it is, without an error, and the model trains on
numbers that are not normalised.

How it shows: the layer is made without `mean` and `variance`, and nothing in the files that run
together calls `adapt` or loads weights.

Example:
    norm = keras.layers.Normalization()
    model = keras.Sequential([norm, keras.layers.Dense(1)])
    model.fit(x, y)

Use instead:
    norm = keras.layers.Normalization()
    norm.adapt(x)
    model = keras.Sequential([norm, keras.layers.Dense(1)])
    model.fit(x, y)

Fix class: show-only. Which data it is to learn from is for a person to say.

When it is wrong: where weights are set in a way that the text does not show.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from quickfit.causes._cause import Cause
from quickfit.code import Module, Program
from quickfit.code.imports import files_run_together
from quickfit.code.keras_models import fittings
from quickfit.code.syntax import is_open, keyword_value
from quickfit.errors import SourceError
from quickfit.findings import Effect, Spotted, Symptom

_LAYERS = ("keras.layers.Normalization", "keras.layers.experimental.preprocessing.Normalization")
_LEARNT = re.compile(r"\badapt\b|set_weights|load_weights|load_model|from_config")


def scan(module: Module, program: Program) -> Iterator[Spotted]:
    """Report the layers that are trained behind without having seen data."""
    for call in module.calls("Normalization"):
        if program.called(module, call) not in _LAYERS or is_open(call) or len(call.args) > 1:
            continue
        if keyword_value(call, "mean") is not None or keyword_value(call, "variance") is not None:
            continue
        if fittings(program, module, "fit") and not _is_learnt(program, module):
            yield Spotted(
                module.span(call),
                "this `Normalization` is never adapted: it passes its input on as it is",
                Effect.WRONG,
            )


def _is_learnt(program: Program, module: Module) -> bool:
    for path in files_run_together(program, module.path):
        try:
            if _LEARNT.search(program.files.text(path)):
                return True
        except SourceError:
            continue
    return False


CAUSE = Cause(title="A Normalization has seen no data", symptom=Symptom.WRONG, scan=scan)
