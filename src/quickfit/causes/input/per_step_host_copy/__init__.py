"""Every step of a hand-written loop makes its batch with NumPy and copies it into tensors.

Why it is slow: cutting rows out of an array, converting them and `tf.constant` each write the
whole batch once more, on one core, while the model waits; and while the model learns, Python
waits. Data that is in memory can become a tensor once, from which the compiled step takes its
rows. A dataset makes and copies the next batch while the model learns, on all cores.

How it shows: short looks at what becomes a tensor see a large copy in every step, and by the clock
and the samples a sixth of the step or more goes into it and into the lines that make the array.

Example:
    for start in range(0, len(images), 128):
        chosen = order[start : start + 128]
        batch = tf.constant((images[chosen] / 255.0).astype("float32"))
        loss = train_step(batch, tf.constant(labels[chosen]))

Use instead:
    all_images, all_labels = tf.constant(images), tf.constant(labels)  # once, before the loop

    @tf.function
    def train_on(chosen):
        batch = tf.cast(tf.gather(all_images, chosen), tf.float32) / 255.0
        return train_step(batch, tf.gather(all_labels, chosen))

    for start in range(0, len(images), 128):
        loss = train_on(tf.constant(order[start : start + 128]))

Or, for data that should not be in memory twice:
    ds = tf.data.Dataset.from_tensor_slices((images, labels)).shuffle(len(images)).batch(128)
    ds = ds.map(lambda x, y: (tf.cast(x, tf.float32) / 255.0, y), tf.data.AUTOTUNE)
    for batch, chosen_labels in ds.prefetch(tf.data.AUTOTUNE):
        loss = train_step(batch, chosen_labels)

Fix class: equivalent. The same rows in the same order; where NumPy computed in float64, the
numbers agree to rounding. A dataset shuffles in another random order.

When it is wrong: small arrays, or a step that takes nearly all of the time, gain nothing. A loop
around `train_on_batch` is reported as `train-on-batch-loop`. Where the script asks the model for
the next batch, as an agent does, batches cannot be made ahead. All of these stay silent.
"""

from __future__ import annotations

from quickfit import units
from quickfit.causes._cause import Cause
from quickfit.causes.input.per_step_host_copy.edit import rows_of_tensors
from quickfit.code.program import Program
from quickfit.findings import MIN_GAIN, Change, Evidence, Finding, Fix, FixClass, Gain, Symptom
from quickfit.signals import Signals
from quickfit.signals.gains import Work, gain, is_at_least, predicted_step_s
from quickfit.signals.host_copies import (
    NOTHING,
    asks_the_model,
    guilty_line,
    has_room_for_copy,
    host_copies,
    making,
)

# Below this share of the step, what a dataset itself costs eats the gain.
MIN_SHARE = 0.15
# Below this share of the step, what lies between the calls is not looked at: a compiled function
# that is given arrays copies them itself.
MIN_BETWEEN = 0.05
# Copies of less cost what any call of TensorFlow does.
MIN_BYTES = 200_000
# What is left of making a batch: the same NumPy on another thread, in part tf.data's own
# operations, or rows of a tensor.
INPUT_LEFT = (1.0, 0.5, 0.2)
# Two sides that overlap never do so in full: queues, and Python's lock.
NOT_HIDDEN = (0.3, 0.1, 0.0)
# The rest of the step without fresh memory for every batch: measured down to this part.
RELIEF = 0.8


def detect(signals: Signals) -> Finding | None:
    """Report batches that a loop makes and copies in Python while the model waits."""
    if signals.loop.kind != "custom" or not signals.loop.trains or asks_the_model(signals):
        return None
    copies = host_copies(signals)
    if copies.bytes < MIN_BYTES or copies.location is None:
        return None
    steps = signals.steps
    call_s, step_s = steps.mean_of("call_s"), steps.mean_s
    between_s = max(step_s - call_s - steps.mean_of("wait_s"), 0.0)
    inside_s = min(copies.inside_s, call_s)
    if (between_s + inside_s) / step_s < MIN_SHARE:
        return None
    made = NOTHING if between_s < MIN_BETWEEN * step_s else making(signals, copies.location)
    between_s = min(between_s, signals.supported_between_s())
    made_s = between_s * made.share
    spent_s = made_s + inside_s
    low, high = ((between_s * share + inside_s) / step_s for share in made.interval)
    what = "samples between the calls, for what makes a batch"
    if not is_at_least(MIN_SHARE, spent_s / step_s, (low, high), what):
        return None
    found = _gain(signals, step_s - spent_s, spent_s)
    if found.likely < MIN_GAIN:
        return None
    return Finding(
        summary="every step makes a batch in NumPy and copies it into tensors",
        where=guilty_line(copies, made, made_s),
        evidence=(
            Evidence(
                "to make and copy a batch in Python",
                spent_s,
                "s",
                f"of {units.seconds(step_s)}, by the clock and {made.making} samples",
            ),
            Evidence(
                "copied into tensors in each step",
                copies.bytes,
                "bytes",
                f"in {units.seconds(copies.step_s)}, by a short look",
                copies.location,
            ),
        ),
        gain=found,
        cost_share=min(spent_s / step_s, 1.0),
        claims=("between", "copies"),
    )


def _gain(signals: Signals, rest_s: float, input_s: float) -> Gain:
    """Return the gain when batches are made beside the rest of the step."""
    steps, machine = signals.steps, signals.machine
    cpu_s = machine.cpu_cores * steps.mean_s
    rest_cpu_s = min(max(cpu_s - input_s, 0.0), rest_s * signals.cores)
    others = machine.other_cores or 0.0
    free = min(max(signals.cores - others, machine.cpu_cores, 0.5), signals.cores)
    work = Work(
        steps.mean_s, rest_s, rest_cpu_s, input_s, signals.cores, free,
        is_shared=not signals.has_accelerator, least_compute_s=RELIEF * rest_s, holds_lock=True,
    )  # fmt: skip
    after = [
        predicted_step_s(part, input_s=left * input_s, input_cpu_s=left * input_s, cores=cores)
        + unhidden * min(rest_s, left * input_s)
        for left, unhidden, part, cores in zip(
            INPUT_LEFT, NOT_HIDDEN, work.with_relief(), work.cores_after(), strict=True
        )
    ]
    basis = "all of the work beside the model at worst, rows of a tensor in the step at best"
    return gain(steps.mean_s, (after[0], after[1], after[2]), basis)


def changes(finding: Finding, signals: Signals, program: Program) -> list[Change]:
    """Make the data tensors once, where the loop cuts its batches out of arrays."""
    where = finding.where
    module = program.find_module(where.file) if where is not None else None
    if where is None or module is None or not has_room_for_copy(signals):
        return []
    found = rows_of_tensors(module, where.line, program.modules())
    return [found] if found is not None else []


CAUSE = Cause(
    title="A batch is copied from NumPy in every step",
    symptom=Symptom.SLOW,
    detect=detect,
    advice=Fix(
        title="Make the data a tensor once, and take the rows inside the compiled step",
        kind=FixClass.EQUIVALENT,
        note="The tensor is a second copy in memory; where that is too much, let tf.data copy.",
    ),
    changes=changes,
)
