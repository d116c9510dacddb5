"""The loss compares every label with every prediction of the batch, not with its own.

Why it is slow: labels of shape (32,) against predictions of shape (32, 256, 256, 1) do not match,
but they can be broadcast: to (32, 256, 256, 32). The loss computes 32 times the numbers, and
every prediction is drawn to the mean of all labels. The model trains on nonsense. In a loss
written by hand, (32,) against (32, 1) is enough: `y - prediction` is then of shape (32, 32).

How it shows: in the compiled step, an operation between the labels and something that the
weights made gives more numbers than either has, and the gradient is taken of its result. In the
text of a program: the layers give predictions of one rank, the data has labels of another, and
the loss is one that broadcasts them. A crossentropy does not: it ends the script, which is told
as well.

Example:
    model = keras.Sequential([keras.layers.Conv2D(16, 3), keras.layers.Dense(1)])
    model.compile("adam", loss="mse")
    model.fit(images, numbers)   # numbers.shape == (1000,)

Use instead:
    model = keras.Sequential(
        [keras.layers.Conv2D(16, 3), keras.layers.GlobalAveragePooling2D(), keras.layers.Dense(1)]
    )
    model.compile("adam", loss="mse")
    model.fit(images, numbers)

Or, in a loss of your own:
    labels = tf.reshape(labels, tf.shape(predictions))
    loss = tf.reduce_mean(tf.square(labels - predictions))

Fix class: repairs. The loss is another one: the one that was meant.

When it is wrong: Keras's own losses make (32,) and (32, 1) alike before they compare them, and a
loss that compares all pairs of a batch on purpose adds an axis first (`labels[:, None]`): in both
cases nothing is reported. A step that runs eagerly has no graph to look at. From text alone,
nothing is reported where a layer, a map function or the source of the labels is not known.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator
from typing import Any

from quickfit.causes._cause import Cause, example
from quickfit.causes.traps.labels_broadcast_in_loss.edit import (
    NOTE,
    SAME_SHAPE,
    fitting_loss,
    is_map_for_a_number,
    is_one_side_more,
    labels_like_predictions,
    only_model,
    pooled_head,
    repaired,
)
from quickfit.causes.traps.labels_broadcast_in_loss.text import Mismatch, mismatches
from quickfit.code.module import Module
from quickfit.code.program import Program
from quickfit.code.shapes.layers import SEQUENTIAL, last_dense, layers_of
from quickfit.code.shapes.shape import shape_text
from quickfit.code.syntax import argument, keyword_value
from quickfit.code.values import Made
from quickfit.errors import SignalMissing
from quickfit.findings import (
    Change,
    Edit,
    Effect,
    Evidence,
    Finding,
    Fix,
    FixClass,
    Gain,
    Location,
    Span,
    Spotted,
    Symptom,
)
from quickfit.signals import Signals
from quickfit.signals.gains import gain

# Seconds per number that a loss and its gradient take. On two cores, 1.1 to 2.7 ns were measured
# for results of 65 thousand to 67 million numbers; one slow core was seen to need 7 ns.
NUMBER_S = (0.8e-9, 1.5e-9, 4e-9)
Shape = tuple[int, ...]
# A batch whose size nobody knows is taken to be Keras's usual one.
USUAL_BATCH = 32
_INTEGER, _ONE_HOT = "sparse_categorical_crossentropy", "categorical_crossentropy"


def detect(signals: Signals) -> Finding | None:
    """Report labels that the loss broadcasts against the predictions."""
    loop = signals.loop
    if not loop.trains:
        return None
    seen = loop.facts.get("labels_broadcast")
    if seen is None and not _is_looked_at(signals):
        raise SignalMissing("the graph of the train step, with the shapes of a batch")
    shapes = _shapes(seen, loop.facts.get("batch_size")) if seen is not None else None
    if seen is None or shapes is None:
        return None
    labels, outputs, result = shapes
    made, meant = math.prod(result), max(math.prod(labels), math.prod(outputs))
    if made <= meant:
        return None
    found = _gain(made - meant, signals)
    return Finding(
        summary=f"labels of shape {labels} are compared with all of {outputs}",
        where=_place(signals),
        evidence=(
            Evidence(
                "as many numbers in the loss as there are predictions",
                made / math.prod(outputs),
                "factor",
                f"`{seen['operation']}` in the step makes {result}",
            ),
            Evidence("numbers per step in that result", made, "count"),
            Evidence(
                "numbers in the labels",
                math.prod(labels),
                "count",
                f"shape {labels}; the predictions have {outputs}",
            ),
        ),
        gain=found,
        cost_share=1 - 1 / found.likely,
        claims=("step",),
    )


def _is_looked_at(signals: Signals) -> bool:
    """Tell whether the graph of the step was there to look at."""
    facts = signals.loop.facts
    if signals.loop.kind == "fit":
        return "batch" in facts and not signals.is_eager
    return bool(facts.get("labels_followed"))


def _shapes(seen: dict[str, Any], batch: object) -> tuple[Shape, Shape, Shape] | None:
    """Return the shapes of labels, predictions and result with the batch's size in them.

    Of sides that are open otherwise nothing is known; then the smallest number is taken.
    """
    size = batch if type(batch) is int and batch > 0 else USUAL_BATCH
    labels, outputs = (_filled(seen[name], size) for name in ("labels", "outputs"))
    rank = max(len(labels), len(outputs))
    pairs = zip(*((1,) * (rank - len(s)) + s for s in (labels, outputs)), strict=True)
    result = tuple(max(pair) for pair in pairs)
    return (labels, outputs, result) if len(seen["result"]) == rank else None


def _filled(shape: list[int | None], batch: int) -> Shape:
    first = [batch if shape[0] is None else shape[0]]
    return (*first, *(1 if side is None else side for side in shape[1:]))


def _place(signals: Signals) -> Location | None:
    """Return the line of a loss that the user wrote, or else the `compile` that names one."""
    facts: dict[str, Any] = signals.loop.facts
    loop, seen = signals.loop.location, facts["labels_broadcast"]
    written = signals.location(seen.get("file"), seen.get("line"))
    # In a loss of Keras the nearest line of the script is the call of `fit`.
    if written is not None and written != loop:
        return written
    return signals.location(facts.get("compile_file"), facts.get("compile_line")) or loop


def _gain(numbers: int, signals: Signals) -> Gain:
    step_s = signals.steps.mean_s
    call_s = signals.steps.mean_of("call_s") or step_s
    # Never more than nearly all of the step; the rest of the model is still there.
    saved = [min(numbers * each_s, 0.95 * call_s) for each_s in NUMBER_S]
    after = tuple(step_s - seconds for seconds in saved)
    return gain(
        step_s, (after[0], after[1], after[2]), "the numbers of the loss that are not needed"
    )


def fix(finding: Finding, signals: Signals) -> Fix | None:
    """Show a head of the model that fits the labels, or a loss that does."""
    seen = signals.loop.facts["labels_broadcast"]
    # A side of one is the only difference: then it is the loss that does not match them.
    is_list = {len(seen["labels"]), len(seen["outputs"])} == {1, 2}
    return Fix(
        title=SAME_SHAPE,
        kind=FixClass.REPAIRS,
        example=example(__doc__ or "", "Or, in a loss of your own" if is_list else "Use instead"),
        note=NOTE,
    )


def changes(finding: Finding, signals: Signals, program: Program) -> list[Change]:
    """Pool the map that a model predicts, and give labels their shape in a loss of the script."""
    seen: dict[str, Any] = signals.loop.facts["labels_broadcast"]
    labels, outputs = seen["labels"], seen["outputs"]
    written = signals.location(seen.get("file"), seen.get("line"))
    module = program.find_module(written.file) if written is not None else None
    is_own = written is not None and written != signals.loop.location
    head: tuple[Edit, ...] = ()
    if is_map_for_a_number(labels, outputs):
        model = only_model(program)
        head = pooled_head(*model, outputs) if model is not None else ()
        outputs = [outputs[0], 1]
        if not head or (labels != outputs and not is_one_side_more(labels, outputs)):
            return []
    if not is_own or labels == outputs:
        return [repaired(head=head)] if head else []
    if module is None or written is None:
        return []
    loss = fitting_loss(module, written.line, labels, outputs, program)
    return [repaired(head=head, loss=loss)] if loss else []


def scan(module: Module, program: Program) -> Iterator[Spotted]:
    """Report losses whose labels and predictions cannot match in rank."""
    for mismatch in mismatches(program, module):
        yield Spotted(
            where=mismatch.module.span(mismatch.node),
            summary=_summary(mismatch),
            effect=mismatch.effect,
            related=_related(program, mismatch),
            change=_change(program, mismatch),
        )


def _summary(mismatch: Mismatch) -> str:
    labels, predictions = shape_text(mismatch.labels.sides), shape_text(mismatch.predictions.sides)
    if mismatch.effect is Effect.WRONG:
        return (
            f"every label of a batch is compared with all its predictions: labels are {labels}, "
            f"predictions {predictions}"
        )
    name = f"`{mismatch.loss.name}`" if mismatch.loss.name else "this loss"
    return f"{name} cannot compare labels {labels} with predictions {predictions}"


def _related(program: Program, mismatch: Mismatch) -> tuple[tuple[Span, str], ...]:
    found: list[tuple[Span, str]] = []
    model, labels = mismatch.model, shape_text(mismatch.labels.sides)
    predictions = shape_text(mismatch.predictions.sides)
    if isinstance(model, Made):
        listed = layers_of(program, model)
        module, node = (
            (listed[-1].module, listed[-1].node) if listed else (model.module, model.call)
        )
        found.append((module.span(node), f"gives predictions {predictions}"))
    place = mismatch.labels.place
    if place is not None:
        found.append((place[0].span(place[1]), f"labels come from here: {labels}"))
    if mismatch.fit is not None:
        module, call = mismatch.fit
        found.append((module.span(call), "trains on them"))
    return tuple(found)


def _change(program: Program, mismatch: Mismatch) -> Change | None:
    labels, predictions = mismatch.labels.sides, mismatch.predictions.sides
    if not mismatch.is_all:
        return None
    if mismatch.effect is Effect.CRASHES:
        return _other_loss(mismatch)
    if mismatch.operands is not None and len(labels) == 1 and predictions[1:] == (1,):
        loss = labels_like_predictions(mismatch.module, *mismatch.operands)
        return repaired(loss=loss) if loss else None
    model = mismatch.model
    if not mismatch.loss.aligns or not is_map_for_a_number(labels, predictions):
        return None
    if not isinstance(model, Made) or not _is_edited_alone(program, model):
        return None
    head = pooled_head(model.module, model.call, predictions)
    return repaired(head=head) if head else None


def _is_edited_alone(program: Program, model: Made) -> bool:
    """Tell whether no other call of a function would get the layer that is added to a model."""
    if model.maker != SEQUENTIAL:
        return model.frame is None
    layers = layers_of(program, model)
    last = last_dense(layers) if layers else None
    listed = argument(model.call, "layers", 0)
    is_listed = isinstance(listed, ast.List) and last is not None and last.node in listed.elts
    return last is not None and (is_listed or model.frame is None)


def _other_loss(mismatch: Mismatch) -> Change | None:
    """Return the change to the crossentropy that is for labels like these."""
    call = mismatch.node
    loss = argument(call, "loss", 1) if isinstance(call, ast.Call) else None
    if not isinstance(call, ast.Call) or not isinstance(loss, ast.Constant):
        return None
    labels, predictions = mismatch.labels.sides, mismatch.predictions.sides
    count = predictions[-1]
    if len(predictions) != 2 or count is None or count < 2 or not _is_plain(call):
        return None
    if loss.value == _ONE_HOT and len(labels) == 1:
        new = _INTEGER
    elif loss.value == _INTEGER and len(labels) == 2 and labels[1] == count:
        new = _ONE_HOT
    else:
        return None
    quote = mismatch.module.code(loss)[-1]
    return Change(
        title="Use the crossentropy for labels like these",
        kind=FixClass.REPAIRS,
        edits=(mismatch.module.replace(loss, f"{quote}{new}{quote}"),),
    )


def _is_plain(call: ast.Call) -> bool:
    """Tell whether no metric of a `compile` depends on the kind of its labels."""
    given = keyword_value(call, "metrics")
    if given is None:
        return len(call.args) <= 2
    names = given.elts if isinstance(given, ast.List | ast.Tuple) else [given]
    return all(isinstance(n, ast.Constant) and n.value in ("accuracy", "acc") for n in names)


CAUSE = Cause(
    title="Labels are broadcast in the loss",
    symptom=Symptom.WRONG,
    detect=detect,
    fix=fix,
    changes=changes,
    scan=scan,
)
