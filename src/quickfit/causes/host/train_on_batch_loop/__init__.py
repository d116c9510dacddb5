"""`train_on_batch` is fed from Python, one batch after the other.

Why it is slow: while Python cuts and prepares a batch the model waits, and while the model learns
Python waits. Every call also copies the arrays, resets the metrics and reads them back. `fit` over
a dataset makes the next batch meanwhile and does none of this per step.

How it shows: a tenth of the step or more lies outside the model: Python between the calls by the
clock, copies into tensors and the resetting of metrics by short looks and samples.

Example:
    for start in range(0, len(x), 32):
        images = prepare(x[start : start + 32])
        loss = model.train_on_batch(images, y[start : start + 32])

Use instead:
    ds = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(len(x)).batch(32)
    ds = ds.map(prepare, num_parallel_calls=tf.data.AUTOTUNE).prefetch(tf.data.AUTOTUNE)
    model.fit(ds, epochs=10)

Fix class: may change results. The batches come in another random order; a preparation that is
rewritten from NumPy to TensorFlow agrees to rounding. Two models that train each other (a GAN)
need a `train_step` of their own for `fit`.

When it is wrong: a step that takes nearly all of the time gains nothing. Where the script asks the
model for the next batch, as an agent does, batches cannot be made ahead. Both stay silent.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from quickfit.causes._cause import Cause, example
from quickfit.causes._shared.own_example import with_own_sizes
from quickfit.causes.host.train_on_batch_loop.edit import MEMORY, fit_for_batches
from quickfit.code import Module, Program
from quickfit.code.conditions import is_for_tests, never_runs
from quickfit.code.keras_models import model_of
from quickfit.code.loops import is_many, turns_around
from quickfit.code.syntax import name_of
from quickfit.errors import FixError, SignalMissing
from quickfit.findings import (
    MIN_GAIN,
    Change,
    Effect,
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
from quickfit.signals.around_steps import saves_per_step_s
from quickfit.signals.gains import Work, gain, is_at_least, predicted_step_s, share_interval
from quickfit.signals.host_copies import has_room_for_copy
from quickfit.signals.keras_calls import metric_samples, per_batch_share
from quickfit.signals.steps import LOOKS

# Below this share of the step, what `fit` itself costs eats the gain.
MIN_SHARE = 0.15
# What is left of the preparation: the same Python in a generator, in part tf.data's own
# operations, or nearly all of it.
INPUT_LEFT = (1.0, 0.6, 0.3)
# Two sides that overlap never do so in full: queues, and Python's lock.
NOT_HIDDEN = (0.3, 0.1, 0.0)
# What `fit` itself does in each step: callbacks, and a batch from the thread that makes it. An
# estimate from one run of each of three small models on a busy machine.
FIT_STEP_S = (0.4e-3, 0.15e-3, 0.05e-3)
# Where most of the time is Python that makes the batches, such an edit measured 0.8 to 0.9.
KEEPS_PREPARING = (
    "handing whole epochs to `fit` would leave all the Python that makes the batches, and gain"
    " nothing; this moves it into the dataset"
)
# Before, it returned the mean of all batches since the metrics were reset last.
# https://github.com/keras-team/keras/pull/22617
PER_BATCH_SINCE = [3, 15]
# A line with this share of the step's time is where the time goes, wherever the loop is.
MIN_LINE_SHARE = 0.60
# A loop of which only the text is known trains for long from so many turns on.
MANY_TURNS = 20


def detect(signals: Signals) -> Finding | None:
    """Report a loop around `train_on_batch` whose batches could be made while the model learns."""
    if signals.loop.kind != "train_on_batch" or _asks_the_model(signals):
        return None
    steps = signals.steps
    call_s = steps.mean_of("call_s")
    between_s = steps.mean_s - call_s - steps.mean_of("wait_s") - saves_per_step_s(signals)
    between_s = max(between_s, 0.0)
    # What reads metrics between the calls is reported by `sync-each-step`.
    between_s *= 1.0 - metric_samples(signals).share
    between_s = min(between_s, signals.supported_between_s())
    share, seen = per_batch_share(signals.main_stacks())
    # The clock knows a part of it: reading the metrics.
    logs_s = steps.mean_of("logs_s")
    extra_s = max(share * call_s, logs_s)
    # The copies of a short run were not looked at; then what is certain must be enough without.
    copies_s = min(signals.copies_s or 0.0, call_s - extra_s)
    beside_s = between_s + copies_s + extra_s
    sure = [max(end * call_s, logs_s) for end in share_interval(share, seen)]
    within = [(between_s + copies_s + end_s) / steps.mean_s for end_s in sure]
    if beside_s / steps.mean_s < MIN_SHARE and signals.copies_s is None:
        raise SignalMissing("a look at the arrays that become tensors")
    what = "samples inside `train_on_batch`"
    if not is_at_least(MIN_SHARE, beside_s / steps.mean_s, (within[0], within[1]), what):
        return None
    found = _gain(signals, call_s - copies_s - extra_s, between_s)
    if found.likely < MIN_GAIN:
        return None
    step_s = steps.mean_s
    return Finding(
        summary="`train_on_batch` waits for Python to make each batch",
        where=_costly_line(signals, between_s / step_s) or _place(signals),
        evidence=(
            Evidence("of Python between two calls", between_s, "s", f"of {step_s * 1e3:.1f} ms"),
            Evidence("to copy a batch into tensors", copies_s, "s", "in a short look"),
            Evidence("to reset and read metrics in each call", extra_s, "s", f"by {seen} samples"),
        ),
        gain=found,
        cost_share=min(beside_s / step_s, 1.0),
        claims=("between", "copies"),
    )


def scan(module: Module, program: Program) -> Iterator[Spotted]:
    """Hint at loops that hand batches over one by one, where one model trains on given data."""
    calls = [] if is_for_tests(module) else module.calls("train_on_batch")
    models = {ast.unparse(c.func.value) for c in calls if isinstance(c.func, ast.Attribute)}
    for call in calls if len(models) == 1 else ():  # two models train each other
        around = turns_around(program, module, call)
        if not around or not is_many(program, around, MANY_TURNS):
            continue
        inside = (n for t in around for n in ast.walk(t.loop) if isinstance(n, ast.Call))
        if any(name_of(n.func).startswith("predict") for n in inside):
            continue  # the loop asks the model for its next batch
        if model_of(program, module, call) is None or never_runs(program, module, call):
            continue
        yield Spotted(
            where=module.span(call),
            summary="the model waits while Python makes each batch of the loop at line "
            f"{around[0].line}, and Python waits while the model learns",
            effect=Effect.SLOW,
            is_hint=True,
        )


def _asks_the_model(signals: Signals) -> bool:
    """Tell whether the loop looks at the model between its steps: then batches may depend on it."""
    calls = [call for call in signals.calls if call.loop == signals.loop.id]
    trained = sum(call.calls for call in calls if call.kind == "train")
    looked = sum(call.calls for call in calls if call.kind in (*LOOKS, "function"))
    return looked > 0.1 * trained


def _place(signals: Signals) -> Location | None:
    calls = [c for c in signals.calls if c.loop == signals.loop.id and c.kind == "train"]
    return calls[0].location if calls else signals.loop.location


def _costly_line(signals: Signals, between_share: float) -> Location | None:
    """Return the one line in a helper that has most of the step's time, if there is one.

    Whoever moves the batches elsewhere must look at that line; the call that trains stands still
    beside it.
    """
    line, call = signals.hot_line_between(), _place(signals)
    if line is None or call is None or not line.is_certain:
        return None
    is_most = line.share * between_share >= MIN_LINE_SHARE
    return line.location if is_most and not _is_in_body(signals, line.location) else None


def _is_in_body(signals: Signals, where: Location) -> bool:
    body = signals.loop.facts.get("body")
    if not isinstance(body, list) or len(body) != 3:
        return True
    file, first, last = body
    return bool(where.file == file and first <= where.line <= last)


def _gain(signals: Signals, compute_s: float, input_s: float) -> Gain:
    steps, machine = signals.steps, signals.machine
    cpu_s = machine.cpu_cores * steps.mean_s
    compute_cpu_s = min(max(cpu_s - input_s, 0.0), compute_s * signals.cores)
    others = machine.other_cores or 0.0
    free = min(max(signals.cores - others, machine.cpu_cores, 0.5), signals.cores)
    work = Work(
        steps.mean_s, compute_s, compute_cpu_s, input_s, signals.cores, free,
        is_shared=not signals.has_accelerator,
    )  # fmt: skip
    after = [
        predicted_step_s(work, input_s=left * input_s, input_cpu_s=left * input_s, cores=cores)
        + unhidden * min(compute_s, left * input_s)
        + own_s
        for left, unhidden, own_s, cores in zip(
            INPUT_LEFT, NOT_HIDDEN, FIT_STEP_S, work.cores_after(), strict=True
        )
    ]
    basis = "batches are made while the model learns, in Python at worst, by tf.data at best"
    return gain(steps.mean_s, (after[0], after[1], after[2]), basis)


def fix(finding: Finding, signals: Signals) -> Fix | None:
    """Show the same training as a dataset and `fit`."""
    shown = Fix(
        title="Give `fit` a dataset that makes the batches",
        kind=FixClass.MAY_CHANGE_RESULTS,
        example=example(__doc__ or "", "Use instead"),
        note="Two models that train each other need a `train_step` of their own.",
    )
    return with_own_sizes(shown, signals)


def changes(finding: Finding, signals: Signals, program: Program) -> list[Change]:
    """Let `fit` train on the same batches: all epochs, or one at a time."""
    where = finding.where
    if where == _costly_line(signals, 1.0):
        where = _place(signals)
    module = program.find_module(where.file) if where is not None else None
    if where is None or module is None:
        return []
    is_per_batch = _is_per_batch(signals)
    found = fit_for_batches(module, where.line, program.modules(), is_per_batch=is_per_batch)
    preparing, copies, metrics = (evidence.value for evidence in finding.evidence)
    keeps_most = preparing > copies + metrics
    lasting = [c for c in found if MEMORY not in c.note]
    if found and not lasting and keeps_most:
        raise FixError(KEEPS_PREPARING)
    return lasting if keeps_most or not has_room_for_copy(signals) else found


def _is_per_batch(signals: Signals) -> bool:
    """Tell whether `train_on_batch` returns the loss of that batch alone."""
    version = str(signals.process.facts.get("keras_version") or "")
    numbers = [int(part) for part in version.split(".")[:2] if part.isdecimal()]
    return numbers >= PER_BATCH_SINCE


CAUSE = Cause(
    title="train_on_batch in a loop",
    symptom=Symptom.SLOW,
    detect=detect,
    scan=scan,
    fix=fix,
    changes=changes,
)
