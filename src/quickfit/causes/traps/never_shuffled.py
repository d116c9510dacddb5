"""A dataset of arrays is trained on in the order of its rows, in every epoch.

What goes wrong: `fit` shuffles arrays, and leaves a `tf.data` dataset as it is. Without a `shuffle`
every epoch has the same batches in the same order; rows that are sorted by class or by time give
batches of one kind, and the model forgets one while it learns the next.

How it shows: the dataset of a `fit` of several epochs begins with `from_tensor_slices`, and no
stage of it shuffles.

Example:
    ds = tf.data.Dataset.from_tensor_slices((x, y)).batch(32)
    model.fit(ds, epochs=10)

Use instead:
    ds = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(len(x)).batch(32)
    model.fit(ds, epochs=10)

Fix class: show-only. How large the buffer may be is for a person to say.

When it is wrong: where the rows are in a random order already, one order for all epochs is a small
loss: it is a hint. Windows of a series are left alone.
"""

from __future__ import annotations

from collections.abc import Iterator

from quickfit.causes._cause import Cause
from quickfit.code import Module, Program
from quickfit.code.datasets import Chain, chains
from quickfit.code.keras_models import fittings
from quickfit.findings import Effect, Spotted, Symptom

_SOURCE = "tensorflow.data.Dataset.from_tensor_slices"
# None of these changes which elements stand beside each other.
_PLAIN = frozenset(("batch", "map", "prefetch", "cache", "repeat", "with_options", _SOURCE))


def scan(module: Module, program: Program) -> Iterator[Spotted]:
    """Report the datasets of a `fit` that nothing shuffles."""
    for fitting in fittings(program, module, "fit") if "tensor_slices" in module.text else ():
        data, epochs = fitting.given("x"), fitting.given("epochs")
        if data is None or epochs is None or program.literal(module, epochs) == 1:
            continue
        values = program.values(module, data)
        found = chains(program, module, data)
        if len(found) == len(values) and found and all(map(_is_plain, found)):
            yield Spotted(
                module.span(data),
                "nothing shuffles this dataset: every epoch has the same batches",
                Effect.WORSE,
                is_hint=True,
            )


def _is_plain(chain: Chain) -> bool:
    names = [stage.name for stage in chain.stages]
    return chain.is_whole and names[0] == _SOURCE and set(names) <= _PLAIN and "batch" in names


CAUSE = Cause(title="A dataset is never shuffled", symptom=Symptom.WRONG, scan=scan)
