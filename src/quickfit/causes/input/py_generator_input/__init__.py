"""A Python generator or PyDataset makes the batches, and the step waits for it.

Why it is slow: Python runs on one core at a time, however many there are. While it opens,
decodes and converts one item after the other, the rest of the machine waits. Keras already
makes the next batch while a step runs, so the generator's own speed is the limit.

How it shows: a tenth of the step time or more is spent waiting for input, and the generator is
at work nearly all of that time. Stack samples name the line that takes longest.

Example:
    def batches():
        while True:
            for start in range(0, len(paths), 32):
                some = slice(start, start + 32)
                images = [np.array(Image.open(p).resize((160, 160))) for p in paths[some]]
                yield np.stack(images) / 255.0, labels[some]
    model.fit(batches(), steps_per_epoch=len(paths) // 32)

Use instead:
    def load(path, label):
        image = tf.io.decode_jpeg(tf.io.read_file(path), channels=3)
        image = tf.image.resize(image, (160, 160), antialias=True)
        return image / 255.0, label

    ds = tf.data.Dataset.from_tensor_slices((paths, labels)).shuffle(len(paths))
    ds = ds.map(load, num_parallel_calls=tf.data.AUTOTUNE).batch(32).prefetch(tf.data.AUTOTUNE)
    model.fit(ds)

Or, for items that are not images:
    # a whole batch at once, with TensorFlow operations instead of a loop over items
    ds = tf.data.Dataset.from_tensor_slices((items, labels)).shuffle(len(labels)).batch(32)
    ds = ds.map(make_batch, num_parallel_calls=tf.data.AUTOTUNE).prefetch(tf.data.AUTOTUNE)
    model.fit(ds)

Fix class: equivalent. The same files, labels and sizes; PIL and TensorFlow resize with slightly
different filters, so pixels differ a little.

When it is wrong: a generator that only waits for another machine is not helped by more cores,
but by asking for several items at once. A generator that is slow because other programs use
the cores is not its own fault; then nothing is reported here.
"""

from __future__ import annotations

from quickfit.causes._cause import Cause, example, waiting, waits_for_input
from quickfit.causes._shared.image_pipeline.generators import generator_to_dataset, installed_pillow
from quickfit.causes._shared.own_example import IMAGE_LIBRARIES, own_image_fix, with_own_sizes
from quickfit.causes.input.py_generator_input.edit_image_data_generator import image_data_generator
from quickfit.causes.input.py_generator_input.edit_pydataset import sequence_to_dataset
from quickfit.code import Program
from quickfit.findings import Change, Evidence, Finding, Fix, FixClass, Gain, Location, Symptom
from quickfit.signals import Signals
from quickfit.signals.caching import epoch_fits_memory
from quickfit.signals.gains import gain, predicted_step_s, share_interval
from quickfit.signals.input import PyInput
from quickfit.signals.python_input import input_threads

# A generator that is the limit is asked for the next batch as soon as it has given one.
MIN_BUSY_SHARE = 0.60
# Workers that are the limit are in the input's code at this share of the looks or more.
MIN_AT_WORK = 0.10
# CPU per item of native pipelines against PIL and NumPy doing the same: 0.5 for decoding and a
# plain resize, 0.85 with an antialiased one, more where resizing is most of it, 0.3 for loops in
# Python over small arrays (all measured).
CPU_AFTER = (1.25, 0.75, 0.3)
# Below this share of CPU in its time, a generator waits for files or a network.
WAITING_CPU_SHARE = 0.3
# Requests that a native pipeline keeps in flight when the time is spent waiting.
IN_FLIGHT = (2, 8, 16)
# What Keras calls of a PyDataset, and Python of an iterator.
ENTRIES = ("__getitem__", "__next__", "__iter__")
# When others use this share of the cores and the generator hardly ran, they are the cause.
BUSY_MACHINE_SHARE = 0.4


def detect(signals: Signals) -> Finding | None:
    """Report a Python input that the step waits for."""
    source = signals.py_input
    if source is None or not waits_for_input(signals):
        return None
    line = signals.hot_input_line()
    if source.workers > 1:
        # Time inside the iterator is the wait itself, so the workers must be seen at work.
        if line is None or not _are_at_work(line.samples, signals):
            return None
    elif source.busy_share < MIN_BUSY_SHARE or _is_starved(source, signals):
        return None

    found = _gain(source, signals)
    evidence = [
        waiting(signals),
        _time_of_batch(source),
    ]
    if line is not None and line.is_certain:
        evidence.append(
            Evidence(
                "of the samples of the input code are at its slowest line",
                line.share,
                "share",
                f"{line.samples} samples",
                line.location,
            )
        )
    return Finding(
        summary=_summary(source),
        where=_place(source, signals),
        evidence=tuple(evidence),
        gain=found,
        cost_share=signals.wait.share,
        claims=("input_wait",),
        not_found=_ruled_out(signals),
    )


def _place(source: PyInput, signals: Signals) -> Location | None:
    """Return the slowest line of the user's generator, or where a library's was made."""
    own = signals.hot_line_of((source.name, *ENTRIES))
    if source.location is not None and not signals.is_users(source.location):
        # A function of the user that the library calls is the place if most of the time is in it.
        is_most = own is not None and own.share * own.samples >= 0.5 * signals.input_samples()
        return own.location if own and is_most else source.made_at or signals.loop.location
    return own.location if own else source.location


def _are_at_work(seen: int, signals: Signals) -> bool:
    """Tell whether the workers were in the input's code at many of the looks, for certain."""
    looks = max(sum(stack.seen for stack in signals.main_stacks()), seen)
    return share_interval(seen / looks, looks)[0] >= MIN_AT_WORK


def _summary(source: PyInput) -> str:
    if source.workers > 1:
        how = "processes" if source.kind == "pydataset-processes" else "threads"
        return f"`{source.name}` makes every batch in Python, on {source.workers} {how}"
    return f"`{source.name}` makes every batch in Python, one item after the other"


def _time_of_batch(source: PyInput) -> Evidence:
    if source.workers > 1:
        return Evidence("wait for the workers per batch", source.batch_s, "s")
    return Evidence(
        "to make one batch in Python",
        source.batch_s,
        "s",
        f"at work {source.busy_share:.0%} of the time",
        source.location,
    )


def _is_starved(source: PyInput, signals: Signals) -> bool:
    others = signals.machine.other_cores or 0.0
    hardly_ran = source.batch_cpu_s < 0.5 * source.batch_s
    delayed = (signals.machine.main_delay_share or 0.0) > 0.1
    return hardly_ran and delayed and others > BUSY_MACHINE_SHARE * signals.cores


def _gain(source: PyInput, signals: Signals) -> Gain:
    work, per_step = signals.work, signals.steps_per_execution
    cpu_s = source.batch_cpu_s * per_step
    wall_s = source.batch_s * per_step
    # Standing in line for a core is no waiting that requests in flight would overlap.
    lined_up_s = min(input_threads(signals).delay * work.step_s, max(wall_s - cpu_s, 0.0))
    if source.workers == 1 and cpu_s < WAITING_CPU_SHARE * (wall_s - lined_up_s):
        after = tuple(
            predicted_step_s(work, input_s=wall_s / flight, input_cpu_s=cpu_s, cores=cores)
            for flight, cores in zip(IN_FLIGHT, work.cores_after(), strict=True)
        )
        basis = "the generator mostly waits; several requests at once would overlap the waits"
    else:
        # Workers hide their CPU time from us; the process they run in does not.
        cpu_s = cpu_s if source.workers == 1 else signals.machine.cpu_cores * work.step_s / 2
        after = tuple(
            predicted_step_s(
                faster,
                input_s=cpu_s * part / cores,
                input_cpu_s=cpu_s * part,
                cores=cores,
            )
            for part, faster, cores in zip(
                CPU_AFTER, work.with_relief(), work.cores_after(), strict=True
            )
        )
        basis = (
            f"the work of the generator spread over {work.cores:g} cores,"
            " which it shares with the model"
        )
    worst, likely, best = after
    return gain(work.step_s, (worst, likely, best), basis)


def _ruled_out(signals: Signals) -> tuple[str, ...]:
    others = signals.machine.other_cores
    if others is None or others > 0.1 * signals.cores:
        return ()
    return (f"a busy machine: other programs used {others:.1f} of {signals.cores:g} cores",)


def fix(finding: Finding, signals: Signals) -> Fix | None:
    """Show the tf.data pipeline that does the same."""
    fed, source = signals.loop.location, signals.py_input
    name, place = (source.name, source.location) if source else ("", None)
    replaced = f"`{name}`" if name.isidentifier() else "the generator"
    given = f" given to `fit` at line {fed.line}" if fed else ""
    if IMAGE_LIBRARIES & signals.input_libraries():
        shown = Fix(
            title=f"Read and decode with tf.data instead of {replaced}{given}",
            kind=FixClass.EQUIVALENT,
            example=example(__doc__ or "", "Use instead"),
            note="PIL and TensorFlow resize with slightly different filters: compare a few images.",
        )
        return own_image_fix(shown, signals, name, place)
    shown = Fix(
        title=f"Make the items with tf.data instead of {replaced}{given}",
        kind=FixClass.EQUIVALENT,
        example=example(__doc__ or "", "Or, for items that are not images"),
    )
    return with_own_sizes(shown, signals)


def changes(finding: Finding, signals: Signals, program: Program) -> list[Change]:
    """Make a dataset of a generator or PyDataset over image files."""
    source, pillow = signals.py_input, installed_pillow()
    places = dict.fromkeys((finding.where, source.location if source else None))
    for place in places:
        for changed in (generator_to_dataset, sequence_to_dataset):
            found = changed(program, place.file, place.line, pillow=pillow) if place else None
            if found is not None:
                return [found]
    # Keras's own iterator over a folder: the finding points into Keras, the call of `fit` is ours.
    fit = signals.loop.location
    module = program.find_module(fit.file) if fit is not None else None
    if module is None or fit is None:
        return []
    loader = image_data_generator(module, fit.line, keeps=epoch_fits_memory(signals))
    return [loader] if loader is not None else []


CAUSE = Cause(
    title="A Python generator makes the batches too slowly",
    symptom=Symptom.SLOW,
    detect=detect,
    fix=fix,
    changes=changes,
)
