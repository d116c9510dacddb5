"""The number of steps is the number of samples, though the data comes in batches.

What goes wrong: `steps_per_epoch` and `validation_steps` count batches. Given `len(samples)`, an
epoch of data that never ends is as many passes as a batch has samples: with batches of 32 a
training of 10 epochs is one of 320, checkpoints and validations come 32 times too late. Data that
ends is over long before: Keras warns in every epoch that the input ran out of data, and the
progress bar and callbacks count on steps that never come; a generator that ends gives later epochs
nothing at all.

How it shows: the number is the length of the very list or array that the dataset, generator or
PyDataset is made of, and that is batched with more than one sample per batch.

Example:
    train = tf.data.Dataset.from_tensor_slices((images, labels)).repeat().batch(32)
    model.fit(train, steps_per_epoch=len(images), epochs=10)

Use instead:
    train = tf.data.Dataset.from_tensor_slices((images, labels)).repeat().batch(32)
    model.fit(train, steps_per_epoch=len(images) // 32, epochs=10)

Fix class: repairs. The number is divided by the size of a batch; where the data ends by itself
with every pass, it is taken away, because Keras then knows better.

When it is wrong: an epoch of many passes may be meant. Then a number says so more clearly than the
length of the data. Arrays without a `batch_size` are a hint: Keras makes batches of one sample of
them, and an epoch is one pass.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from quickfit.causes._cause import Cause
from quickfit.causes._shared.batches_in_text import (
    Batched,
    arrays,
    batched,
    counts_samples,
    is_length,
    is_several,
)
from quickfit.code import Module, Program
from quickfit.code.edits import remove_keywords
from quickfit.code.keras_models import Feed, feeds, fittings
from quickfit.code.values import Literal
from quickfit.findings import Change, Edit, Effect, FixClass, Span, Spotted, Symptom


def scan(module: Module, program: Program) -> Iterator[Spotted]:
    """Report numbers of steps that count samples."""
    for fitting in fittings(program, module):
        for feed in feeds(fitting):
            if feed.steps is not None and not isinstance(feed.steps, ast.Constant):
                yield from _spotted(program, feed, feed.steps)


def _spotted(program: Program, feed: Feed, steps: ast.expr) -> Iterator[Spotted]:
    data = batched(program, feed)
    if data is None:
        yield from _single(program, feed, steps)
    elif is_several(program, data.size) and counts_samples(program, feed, steps, data):
        module = feed.fitting.module
        yield Spotted(
            where=module.span(steps),
            summary=_summary(program, feed, steps, data),
            effect=Effect.WRONG,
            related=_related(data),
            change=_change(program, feed, steps, data),
        )


def _single(program: Program, feed: Feed, steps: ast.expr) -> Iterator[Spotted]:
    """Report arrays of which Keras makes as many batches as there are samples."""
    module = feed.fitting.module
    given = arrays(program, feed)
    if feed.batch_size is None and any(is_length(program, module, steps, g) for g in given):
        yield Spotted(
            where=module.span(steps),
            summary=(
                f"`{feed.steps_name}` is the number of samples and no `batch_size` is given: "
                "Keras makes batches of one sample"
            ),
            effect=Effect.SLOW,
            is_hint=True,
        )


def _summary(program: Program, feed: Feed, steps: ast.expr, data: Batched) -> str:
    code, size = feed.fitting.module.code(steps), program.literal(*data.size)
    known = isinstance(size, int)
    what = f"batches of {size}" if known else "batches"
    often = f"{size} times" if known else "as often as a batch has samples"
    turn = "epoch" if feed.is_training else "validation"
    happens = {
        "ever": f"every {turn} goes over the data {often}",
        "once": "the input runs out in the first epoch",
        "epoch": f"the input runs out in every {turn}",
    }
    return (
        f"`{feed.steps_name}={code}` counts samples, but the data comes in {what}: "
        f"{happens[data.lasts]}"
    )


def _related(data: Batched) -> tuple[tuple[Span, str], ...]:
    module, node = data.size
    return ((module.span(node), "the size of a batch"),) if hasattr(node, "lineno") else ()


def _change(program: Program, feed: Feed, steps: ast.expr, data: Batched) -> Change | None:
    if data.lasts == "epoch":
        return _without(feed)
    size = _size_code(program, feed, data) if data.lasts == "ever" else ""
    module = feed.fitting.module
    if not size or not isinstance(steps, ast.Call | ast.Name | ast.Subscript):
        return None
    return Change(
        title="Count batches, not samples",
        kind=FixClass.REPAIRS,
        edits=(_behind(module, steps, f" // {size}"),),
        note="Epochs become shorter by that factor: look at the number of epochs.",
    )


def _without(feed: Feed) -> Change | None:
    edits = remove_keywords(feed.fitting.module, feed.fitting.call, {feed.steps_name})
    if not edits:
        return None
    return Change(
        title=f"Let Keras count the batches: take `{feed.steps_name}` away",
        kind=FixClass.REPAIRS,
        edits=edits,
    )


def _behind(module: Module, node: ast.expr, code: str) -> Edit:
    at = module.end(node)
    return Edit(module.path, at, at, code)


def _size_code(program: Program, feed: Feed, data: Batched) -> str:
    """Return how the size of a batch is written where the steps are; empty where it cannot be."""
    module, node = data.size
    if module is feed.fitting.module and _is_known_there(program, feed, node):
        return module.code(node)
    only = program.only(module, node)
    return str(only.value) if isinstance(only, Literal) else ""


def _is_known_there(program: Program, feed: Feed, node: ast.expr) -> bool:
    """Tell whether a name means at the call what it means where the data is batched."""
    root = node
    while isinstance(root, ast.Attribute):
        root = root.value
    if not isinstance(root, ast.Name):
        return False
    bindings = program.files.bindings(feed.fitting.module)
    there = bindings.reaching(feed.fitting.call, root.id)
    return bool(there) and there == bindings.reaching(root, root.id)


CAUSE = Cause(title="Steps are counted in samples", symptom=Symptom.WRONG, scan=scan)
