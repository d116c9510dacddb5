"""`Dataset.from_generator` makes the elements in Python, and the step waits for them.

Why it is slow: the generator runs on one thread under Python's lock, whatever stands behind it
in the pipeline. Each element also costs about a tenth of a millisecond to get from Python into
tf.data, which for small elements is more than making them.

How it shows: a tenth of the step time or more is spent waiting for input, the generator is at
work for most of the step, and the threads of the pipeline keep no more than one core busy.

Example:
    def examples():
        for line, label in zip(lines, labels):
            yield np.array([float(text) for text in line.split(",")], "float32"), label

    ds = tf.data.Dataset.from_generator(examples, output_signature=signature).batch(128)

Use instead:
    def parse(line, label):
        texts = tf.strings.split(line, ",").to_tensor(shape=(None, 64))
        return tf.strings.to_number(texts), label

    ds = tf.data.Dataset.from_tensor_slices((lines, labels)).batch(128)
    ds = ds.map(parse, num_parallel_calls=tf.data.AUTOTUNE).prefetch(tf.data.AUTOTUNE)

Or, where it has to stay Python:
    # whole batches: the way into tf.data is paid once per batch, and NumPy works on all rows
    def batches():
        for start in range(0, len(rows), 128):
            yield make_batch(rows[start : start + 128]), labels[start : start + 128]

    ds = tf.data.Dataset.from_generator(batches, output_signature=signature_of_a_batch)
    ds = ds.prefetch(tf.data.AUTOTUNE)

Fix class: equivalent. The same elements in the same order; rounding may differ where TensorFlow
computes what NumPy or Python did.

When it is wrong: a generator that keeps up with the model costs nothing, and one that waits for
another machine needs several requests at once, not another language. A pipeline whose threads
are kept from the cores by other programs is not reported.
"""

from __future__ import annotations

from collections.abc import Iterator

from quickfit import units
from quickfit.causes._cause import Cause, example, slowest_input_line, waiting, waits_for_input
from quickfit.causes._shared.image_pipeline.generators import generator_to_dataset, installed_pillow
from quickfit.causes._shared.own_example import IMAGE_LIBRARIES, own_image_fix, with_own_sizes
from quickfit.causes.input.from_generator.edit import arrays_to_dataset
from quickfit.causes.input.from_generator.text import file_generators
from quickfit.code import Module, Program
from quickfit.code.conditions import is_for_tests, never_runs
from quickfit.findings import (
    Change,
    Effect,
    Evidence,
    Finding,
    Fix,
    FixClass,
    Gain,
    Spotted,
    Symptom,
)
from quickfit.signals import Signals
from quickfit.signals.gains import gain, predicted_step_s
from quickfit.signals.input import Stage
from quickfit.signals.python_input import (
    function_place,
    generator_stages,
    input_threads,
    is_starved,
    period_s,
)

# A generator that is the limit works for most of the step, and is most of the pipeline's work.
MIN_BUSY_SHARE = 0.50
MIN_WORK_SHARE = 0.50
# What the threads use while a generator holds Python's lock; native stages come on top.
MAX_CORES = 1.5
# Handing one element to tf.data: 100 to 170 us on several machines; from slices it takes 1 to 2.
ELEMENT_S, NATIVE_ELEMENT_S = 100e-6, 2e-6
# The generator's own work at least, as a part of its time.
MIN_OWN = 0.2
# CPU of the same work in TensorFlow: as much for NumPy on large arrays, a tenth for loops.
CPU_AFTER = (1.0, 0.5, 0.1)
# Below this share of CPU in its time, a generator waits for files or a network.
WAITING_CPU_SHARE = 0.3
# Of the time that ending an iterator takes: it waits for its generator, and measured up to 0.6 s.
ENDS_LEFT = (1.0, 0.3, 0.05)
# Requests that several generators keep in flight when the time is spent waiting.
IN_FLIGHT = (2, 4, 8)


def detect(signals: Signals) -> Finding | None:
    """Report a generator inside tf.data that the step waits for."""
    if signals.py_input is not None:
        return None  # given to `fit` itself: `py-generator-input` tells
    stages = generator_stages(signals)
    if not stages or not waits_for_input(signals):
        return None
    slowest = max(stages, key=lambda stage: stage.work_s)
    busy_s, threads = period_s(stages), input_threads(signals)
    is_limit = busy_s >= MIN_WORK_SHARE * period_s(signals.stages)
    if not is_limit or busy_s < MIN_BUSY_SHARE * signals.steps.mean_s:
        return None
    if threads.cores > MAX_CORES or is_starved(signals) or slowest.location is None:
        return None  # several cores at work: the lock is not the limit
    elements = sum(stage.per_step for stage in stages)
    return Finding(
        summary=f"`from_generator({slowest.function or '…'})` makes every element in Python",
        where=slowest.location,
        evidence=(
            waiting(signals),
            Evidence(
                "in the generator per step",
                busy_s,
                "s",
                f"{elements:.0f} elements of {units.seconds(busy_s / max(elements, 1.0))}",
                function_place(slowest, signals),
            ),
            Evidence(
                "of the cores that the threads of the pipeline keep busy",
                min(threads.cores / signals.cores, 1.0),
                "share",
                f"{threads.cores:.1f} of {signals.cores:g}: Python runs on one at a time",
            ),
            *slowest_input_line(signals),
        ),
        gain=_gain(stages, signals),
        cost_share=_cost_share(signals),
        claims=("input_wait", "iterator_ends"),
        is_of_whole=True,
    )


def scan(module: Module, program: Program) -> Iterator[Spotted]:
    """Report generators inside tf.data that read or decode a file for every element."""
    if is_for_tests(module):
        return
    for found in file_generators(program, module):
        if never_runs(program, module, found.call):
            continue
        reader = found.module.code(found.read.func)
        yield Spotted(
            where=module.span(found.call),
            summary=f"`{found.name}` reads every file with `{reader}`, one after the other, "
            "on the one thread that a generator has",
            effect=Effect.SLOW,
            related=((found.module.span(found.read), "reads a file"),),
        )


def _cost_share(signals: Signals) -> float:
    """Return the share of the whole: the wait, and the ends of iterators over generators."""
    whole = signals.whole_time
    return (signals.wait.share * whole.steps_s + whole.iterator_ends_s) / whole.total_s


def _gain(stages: list[Stage], signals: Signals) -> Gain:
    work, busy_s = signals.work, period_s(stages)
    cpu_s = min(input_threads(signals).wanted * work.step_s, busy_s)
    rest_s = max(work.input_cpu_s - sum(stage.work_s for stage in stages), 0.0)
    if cpu_s < WAITING_CPU_SHARE * busy_s:
        after = [
            predicted_step_s(work, input_s=busy_s / flight, input_cpu_s=cpu_s, cores=cores)
            for flight, cores in zip(IN_FLIGHT, work.cores_after(), strict=True)
        ]
        basis = "the generator mostly waits; several of them at once would overlap the waits"
        return _of_whole(after, basis, signals)
    elements = sum(stage.per_step for stage in stages)
    own_s = max(busy_s - elements * ELEMENT_S, MIN_OWN * busy_s)
    after = []
    for part, faster, cores in zip(CPU_AFTER, work.with_relief(), work.cores_after(), strict=True):
        native_s = own_s * part + elements * NATIVE_ELEMENT_S + rest_s
        after.append(
            predicted_step_s(faster, input_s=native_s / cores, input_cpu_s=native_s, cores=cores)
        )
    basis = f"no way through Python per element, and the work spread over {work.cores:g} cores"
    return _of_whole(after, basis, signals)


def _of_whole(after: list[float], basis: str, signals: Signals) -> Gain:
    """Return the gain of the whole training, with what ends of iterators take now."""
    whole, steps = signals.whole_time, len(signals.steps.steps)
    ends_s = whole.iterator_ends_s / steps
    rest_s = max(whole.total_s - whole.steps_s, 0.0) / steps - ends_s
    all_s = [
        step_s + max(rest_s, 0.0) + left * ends_s
        for step_s, left in zip(after, ENDS_LEFT, strict=True)
    ]
    return gain(whole.total_s / steps, (all_s[0], all_s[1], all_s[2]), basis)


def fix(finding: Finding, signals: Signals) -> Fix | None:
    """Show the pipeline without a generator, or with one that makes whole batches."""
    stages = generator_stages(signals)
    elements = sum(stage.per_step for stage in stages)
    # Where handing over is most of it, whole batches are enough, and often the smaller change.
    is_handover = elements * ELEMENT_S > 0.5 * period_s(stages)
    section = "Or, where it has to stay Python"
    more = f"\n\n# {section.lower()}\n{example(__doc__ or '', section)}" if is_handover else ""
    shown = Fix(
        title="Give tf.data what the generator reads, and do its work in a map",
        kind=FixClass.EQUIVALENT,
        example=example(__doc__ or "", "Use instead") + more,
        note="" if is_handover else "A map with TensorFlow's operations runs on all cores.",
    )
    if IMAGE_LIBRARIES & signals.input_libraries() and stages:
        slowest = max(stages, key=lambda stage: stage.work_s)
        place = function_place(slowest, signals)
        own = own_image_fix(shown, signals, slowest.function or "", place)
        if own.example != shown.example:
            return own
    return with_own_sizes(shown, signals)


def changes(finding: Finding, signals: Signals, program: Program) -> list[Change]:
    """Make a dataset of a generator over image files or arrays."""
    stages, pillow = generator_stages(signals), installed_pillow()
    places = [function_place(stage, signals) for stage in stages]
    for place in filter(None, [finding.where, *places]):
        found = generator_to_dataset(program, place.file, place.line, pillow=pillow)
        found = found or arrays_to_dataset(program, place.file, place.line)
        if found is not None:
            return [found]
    return []


CAUSE = Cause(
    title="A generator inside tf.data is the limit",
    symptom=Symptom.SLOW,
    detect=detect,
    scan=scan,
    fix=fix,
    changes=changes,
    resource="one Python thread makes every element",
)
