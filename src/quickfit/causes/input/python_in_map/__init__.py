"""A map calls back into Python for every element, and the step waits for it.

Why it is slow: `tf.py_function` and `tf.numpy_function` need Python's lock, which one thread
has at a time. However many threads the map is given, its elements are made one after the other,
the train loop queues for the same lock, and each call costs about a tenth of a millisecond by
itself.

How it shows: a tenth of the step time or more is spent waiting for input, the slowest stage is a
map with such an operation in its graph, and its threads together keep about one core busy.

Example:
    def prepare(signal, label):
        return tf.numpy_function(scale, [signal], tf.float32), label

    ds = ds.map(prepare, num_parallel_calls=tf.data.AUTOTUNE).batch(64)

Use instead:
    def prepare(signals, labels):
        low = tf.reduce_min(signals, axis=1, keepdims=True)
        high = tf.reduce_max(signals, axis=1, keepdims=True)
        return (signals - low) / (high - low), labels

    ds = ds.batch(64).map(prepare, num_parallel_calls=tf.data.AUTOTUNE)

Or, where it has to stay Python:
    # one call for a whole batch, with NumPy over all rows
    def prepare(signals, labels):
        return tf.numpy_function(scale_all, [signals], tf.float32), labels

    ds = ds.batch(64).map(prepare, num_parallel_calls=tf.data.AUTOTUNE)

Fix class: equivalent. The same formula; TensorFlow and NumPy may differ in the last digits. Numbers
that are drawn at random are others, of the same kind.

When it is wrong: Python that hands its work to a library which gives up the lock (large NumPy
arrays, OpenCV) uses several cores, and nothing is reported. Nor is a function that only waits.
"""

from __future__ import annotations

from collections.abc import Iterator

from quickfit.causes._cause import Cause, example, slowest_input_line, waiting, waits_for_input
from quickfit.causes._shared.image_pipeline.generators import installed_pillow
from quickfit.causes._shared.own_example import IMAGE_LIBRARIES, own_image_map, with_own_sizes
from quickfit.causes.input.python_in_map.edit import numpy_map, python_map
from quickfit.causes.input.python_in_map.text import python_maps as python_calls
from quickfit.code.conditions import is_for_tests, never_runs
from quickfit.code.module import Module
from quickfit.code.program import Program
from quickfit.code.syntax import name_of
from quickfit.findings import (
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
from quickfit.signals.gains import gain, predicted_step_s
from quickfit.signals.input import Stage
from quickfit.signals.python_input import (
    function_place,
    input_threads,
    is_busy_machine,
    is_starved,
    period_s,
    python_maps,
)

# The map must be most of what the pipeline does, and at work for much of the step.
MIN_WORK_SHARE = 0.50
MIN_BUSY_SHARE = 0.40
# Threads that take turns use one core; what the native part of a pipeline takes comes on top.
MAX_CORES = 1.4
# Below this share of CPU in its time, the function waits for files or a network.
MIN_CPU_SHARE = 0.3
# Libraries that give up the lock while they work; on a busy machine nobody can tell.
RELEASING = {"cv2", "PIL", "scipy", "librosa", "soundfile", "numba"}
# A map that is called about once per step works on whole batches.
MAX_BATCH_CALLS = 1.5
# The way into Python and back: 110 us measured for a function that does nothing. A map without
# it takes 5 to 20 us per element, and next to nothing per element of a batch.
CALL_S, NATIVE_CALL_S = 80e-6, (15e-6, 5e-6, 0.0)
# The function's own work at least, as a part of its time.
MIN_OWN = 0.2
# CPU of the same work in TensorFlow: as much for NumPy on large arrays, a twentieth for loops.
CPU_AFTER = (1.0, 0.3, 0.05)


def detect(signals: Signals) -> Finding | None:
    """Report a map that runs Python and that the step waits for."""
    if signals.py_input is not None:
        return None  # a generator is the input, and Keras's own stages are not the user's
    maps = python_maps(signals)
    if not maps or not waits_for_input(signals):
        return None
    slowest = max(maps, key=lambda stage: stage.work_s)
    busy_s, threads = period_s(maps), input_threads(signals)
    step_s = signals.steps.mean_s
    is_limit = busy_s >= MIN_WORK_SHARE * period_s(signals.stages)
    if not is_limit or busy_s < MIN_BUSY_SHARE * step_s or slowest.location is None:
        return None
    if threads.cores > MAX_CORES or is_starved(signals) or _may_release(signals):
        return None  # several cores at work: the lock is not the limit
    if threads.wanted * step_s < MIN_CPU_SHARE * busy_s:
        return None  # it waits, and more calls at once do help
    found = _gain(maps, signals)
    return Finding(
        summary=f"`map({slowest.function or '…'})` calls Python for every {_unit(slowest)}",
        where=_place(slowest, signals),
        evidence=(
            waiting(signals),
            Evidence(
                "in this map per step",
                slowest.work_s,
                "s",
                f"{slowest.calls:.0f} calls of Python, on {slowest.parallelism:.0f} threads"
                " that take turns",
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
        gain=found,
        cost_share=signals.wait.share,
        claims=("input_wait",),
        not_found=("Python that gives up its lock: no more than one core was in use",),
    )


def scan(module: Module, program: Program) -> Iterator[Spotted]:
    """Report maps that call Python for what TensorFlow's operations do."""
    if is_for_tests(module):
        return
    for found in python_calls(program, module):
        if never_runs(program, module, found.call):
            continue
        does = "reads every file in Python" if found.read else "computes every element in Python"
        yield Spotted(
            where=module.span(found.call),
            summary=f"`{name_of(found.call.func)}({found.name})` {does}, "
            "of which one thread works at a time",
            effect=Effect.SLOW,
            related=((found.module.span(found.read), "reads a file"),) if found.read else (),
        )


def _may_release(signals: Signals) -> bool:
    """Tell whether the map may use several cores, had others left them to it."""
    return is_busy_machine(signals) and bool(RELEASING & signals.input_libraries())


def _unit(stage: Stage) -> str:
    return "batch" if stage.calls <= MAX_BATCH_CALLS else "element"


def _place(stage: Stage, signals: Signals) -> Location | None:
    """Return the line that calls into Python; else that of the map."""
    place = stage.fact("python_place") or {}
    return signals.location(place.get("file"), place.get("line")) or stage.location


def _gain(maps: list[Stage], signals: Signals) -> Gain:
    work = signals.work
    # Time in the map includes waiting for the lock; the threads cannot have used more CPU.
    busy_s = min(period_s(maps), input_threads(signals).cores * work.step_s)
    calls = sum(stage.calls for stage in maps)
    own_s = max(busy_s - calls * CALL_S, MIN_OWN * busy_s)
    rest_s = max(work.input_cpu_s - sum(stage.work_s for stage in maps), 0.0)
    after = []
    parts = zip(CPU_AFTER, NATIVE_CALL_S, work.with_relief(), work.cores_after(), strict=True)
    for part, call_s, faster, cores in parts:
        native_s = own_s * part + calls * call_s + rest_s
        after.append(
            predicted_step_s(faster, input_s=native_s / cores, input_cpu_s=native_s, cores=cores)
        )
    basis = f"TensorFlow's operations instead of Python, on {work.cores:g} cores"
    return gain(work.step_s, (after[0], after[1], after[2]), basis)


def fix(finding: Finding, signals: Signals) -> Fix | None:
    """Show the map without Python, and with one call of it per batch."""
    section = "Or, where it has to stay Python"
    maps = python_maps(signals)
    is_batched = all(_unit(stage) == "batch" for stage in maps)
    more = "" if is_batched else f"\n\n# {section.lower()}\n{example(__doc__ or '', section)}"
    shown = Fix(
        title="Write the map with TensorFlow's operations",
        kind=FixClass.EQUIVALENT,
        example=example(__doc__ or "", "Use instead") + more,
    )
    if maps and not is_batched and IMAGE_LIBRARIES & signals.input_libraries():
        slowest = max(maps, key=lambda stage: stage.work_s)
        own = own_image_map(shown, signals, slowest.function, function_place(slowest, signals))
        if own is not None:
            return own
    return with_own_sizes(shown, signals)


def changes(finding: Finding, signals: Signals, program: Program) -> list[Change]:
    """Load the pictures, or do the arithmetic, with TensorFlow's operations."""
    place = finding.where
    if place is None:
        return []
    found = python_map(program, place.file, place.line, pillow=installed_pillow())
    found = found or numpy_map(program, place.file, place.line)
    return [found] if found is not None else []


CAUSE = Cause(
    title="A map calls Python",
    symptom=Symptom.SLOW,
    detect=detect,
    scan=scan,
    fix=fix,
    changes=changes,
    resource="Python, of which one thread works at a time",
)
