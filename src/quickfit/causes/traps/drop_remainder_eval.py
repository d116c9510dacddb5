"""`drop_remainder=True` leaves out the last examples of data that is evaluated with.

What goes wrong: the last batch is dropped where it is not full. In training that matters little:
another shuffle drops others. In `evaluate`, `validation_data` or `predict` the same examples are
left out each time: the metrics are of a part of the data, and predictions are missing at the end.
With fewer examples than one batch nothing is left at all.

How it shows: a dataset batched with `drop_remainder=True` is given to `evaluate`, to `predict` or
as `validation_data`.

Example:
    model.evaluate(dataset.batch(32, drop_remainder=True))

Use instead:
    model.evaluate(dataset.batch(32))

Fix class: may change results, because all examples count; a model of a fixed batch size needs the
last batch padded.

When it is wrong: where the number of examples is a multiple of the size of a batch, where the
model takes one size only, or where a TPU needs it. It is a hint for that reason.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from quickfit.causes._cause import Cause
from quickfit.causes._shared.dataset_elements import consumers
from quickfit.code import Module, Program
from quickfit.code.datasets import DROP_REMAINDER_AT, chains
from quickfit.code.keras_models import Feed
from quickfit.code.syntax import argument
from quickfit.findings import Change, Effect, FixClass, Span, Spotted, Symptom

_WORDS = {"evaluate": "`evaluate`", "predict": "`predict`", "fit": "`validation_data`"}


def scan(module: Module, program: Program) -> Iterator[Spotted]:
    """Report every batch that drops the rest of data that is evaluated with."""
    if "TPUStrategy" in module.text or "batch_input_shape" in module.text:
        return  # a fixed size is needed
    for call in module.calls(*DROP_REMAINDER_AT):
        if not isinstance(call.func, ast.Attribute):
            continue
        given = argument(call, "drop_remainder", DROP_REMAINDER_AT[call.func.attr])
        if given is None or program.literal(module, given) is not True:
            continue
        if not chains(program, module, call):
            continue
        fed = [feed for feed in consumers(program, module, call) if not feed.is_training]
        if fed:
            yield _spotted(module, call, given, fed)


def _spotted(module: Module, call: ast.Call, given: ast.expr, fed: list[Feed]) -> Spotted:
    method = fed[0].fitting.method
    is_missing = "predictions of them are missing" if method == "predict" else "no metric sees them"
    return Spotted(
        where=module.span(call),
        summary=f"what does not fill a batch is left out of the data for {_WORDS[method]}:"
        f" {is_missing}",
        effect=Effect.WRONG,
        related=tuple(_place(feed) for feed in fed[:3]),
        change=Change(
            title="Keep the last batch",
            kind=FixClass.MAY_CHANGE_RESULTS,
            edits=(module.replace(given, "False"),),
        )
        if isinstance(given, ast.Constant)
        else None,
        is_hint=True,
    )


def _place(feed: Feed) -> tuple[Span, str]:
    return feed.fitting.module.span(feed.data), f"given to {_WORDS[feed.fitting.method]} here"


CAUSE = Cause(title="Evaluation leaves out the last batch", symptom=Symptom.WRONG, scan=scan)
