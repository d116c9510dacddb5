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

import math
from collections.abc import Iterator
from typing import Any

from quickfit.causes._cause import Cause, example
from quickfit.causes.traps.labels_broadcast_in_loss.edit import (
    fitting_loss,
    is_map_for_a_number,
    is_one_side_more,
    pooled_head,
    repaired,
)
from quickfit.causes.traps.labels_broadcast_in_loss.text import mismatches
from quickfit.causes.traps.labels_broadcast_in_loss.text_edit import mismatch_spotted
from quickfit.code.module import Module
from quickfit.code.program import Program
from quickfit.errors import SignalMissing
from quickfit.findings import (
    Change,
    Edit,
    Evidence,
    Finding,
    Fix,
    FixClass,
    Gain,
    Location,
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
        title="Give predictions and labels the same shape",
        kind=FixClass.REPAIRS,
        example=example(__doc__ or "", "Or, in a loss of your own" if is_list else "Use instead"),
        note="Results so far were trained on the wrong numbers.",
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
        head = pooled_head(program, outputs)
        outputs = [outputs[0], 1]
        if not head or (labels != outputs and not is_one_side_more(labels, outputs)):
            return []
    if not is_own or labels == outputs:
        return [repaired(head)] if head else []
    if module is None or written is None:
        return []
    loss = fitting_loss(module, written.line, labels, outputs, program)
    return [repaired((*head, *loss))] if loss else []


def scan(module: Module, program: Program) -> Iterator[Spotted]:
    """Report losses whose labels and predictions cannot match in rank."""
    for mismatch in mismatches(program, module):
        yield mismatch_spotted(program, mismatch)


CAUSE = Cause(
    title="Labels are broadcast in the loss",
    symptom=Symptom.WRONG,
    detect=detect,
    fix=fix,
    changes=changes,
    scan=scan,
)
