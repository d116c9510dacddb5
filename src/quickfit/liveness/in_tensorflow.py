"""Reasons in TensorFlow: buffers that fill, functions that are traced, steps that take long."""

from __future__ import annotations

from quickfit import units
from quickfit.findings import Evidence, Location
from quickfit.liveness import phases
from quickfit.liveness.reason import Reason
from quickfit.liveness.scene import Scene, Stage
from quickfit.source.blocks import is_endless, loop_around

# A filter that drops so many and passes none drops them all, as far as anybody can wait.
MIN_DROPPED = 200
MANY_DROPPED, LONG_S = 5000, 30.0
# A graph grows by a Python loop: this many operations, for this long, at one loop.
MIN_OPERATIONS = 5000
MIN_TRACING_S = 10.0
# Endless data is told of once an epoch has lasted this long.
MIN_EPOCH_S = 15.0
# Data that has not come for this long, or for two steps, does not come any more.
STILL_COMING_S = 5.0
# What a step keeps busy at least; on a busy machine it does not get more.
BUSY_CORES = 0.15
MIN_STILL_S = 5.0
ENDLESS = -1


def shuffle_fill(scene: Scene) -> Reason | None:
    """Tell of a shuffle that takes in much before it gives anything."""
    stage = phases.filling_stage(scene)
    if stage is None:
        return None
    now = phases.phase(scene)
    left = f", {units.seconds(now.left_s)} more" if now.left_s is not None else ""
    return Reason(
        cause="shuffle-buffer-too-big",
        summary=f"`shuffle` gives nothing before its buffer is full: {stage.buffered:,} of"
        f" {now.total or stage.size or 0:,}{left}",
        where=stage.location,
        evidence=(
            Evidence("elements in the buffer", stage.buffered, "count"),
            Evidence("more every second", stage.buffered_per_s, "per_s"),
        ),
        advice="Make the buffer smaller, or shuffle file names before anything is read.",
        moves=True,
    )


def cache_fill(scene: Scene) -> Reason | None:
    """Tell of a cache that has to be filled before the first batch comes out."""
    now = phases.phase(scene)
    stage = phases.caching_stage(scene)
    if now.name != "cache-fill" or stage is None:
        return None
    left = f", {units.seconds(now.left_s)} more" if now.left_s is not None else ""
    total = f" of {now.total:,}" if now.total else ""
    return Reason(
        cause="cache-fill",
        summary=f"the cache is being filled for the first time: {stage.elements:,}{total}"
        f" elements{left}",
        where=stage.location,
        evidence=(
            Evidence("elements in the cache", stage.elements, "count"),
            Evidence("more every second", stage.per_s, "per_s"),
        ),
        advice="Later epochs read from it. Build it ahead, or let training run beside it: no"
        " `shuffle` of everything and no pass over the data before the first step.",
        moves=True,
    )


def all_filtered(scene: Scene) -> Reason | None:
    """Tell of a filter that lets nothing through."""
    for place, stage in enumerate(scene.stages[:-1]):
        taken = scene.stages[place + 1]
        is_dropping = stage.kind == "filter" and not stage.elements
        if not is_dropping or taken.elements < MIN_DROPPED:
            continue
        return Reason(
            cause="empty-input",
            summary=f"`filter` has let none of {taken.elements:,} elements through",
            where=stage.location,
            evidence=(
                Evidence("elements that went into the filter", taken.elements, "count"),
                Evidence("elements that came out", stage.elements, "count"),
            ),
            advice="Look at what the filter compares: a label's type, a range, a path.",
            is_certain=taken.elements >= MANY_DROPPED or scene.quiet_s >= LONG_S,
        )
    return None


def endless_input(scene: Scene) -> Reason | None:
    """Tell of an epoch, or a validation, that never ends because its data does not."""
    loop = scene.loop
    if loop is None or loop.kind not in ("fit", "evaluate", "predict"):
        return None
    validates = loop.phase == "validation"
    limit = loop.facts.get("validation_steps" if validates else "steps_per_epoch")
    if not validates:
        limit = limit or loop.facts.get("steps")  # known from the start; the other after a step
    source = _endless_source(scene)
    if limit or source is None or _ends_by_itself(scene):
        return None
    if scene.still_s > max(STILL_COMING_S, 2 * scene.longest_s):
        return None  # the data has stopped coming: that is another story
    what, name = ("validation", "validation_steps") if validates else ("epoch", "steps_per_epoch")
    done = scene.stages[0].elements if validates and scene.stages else loop.steps
    return Reason(
        cause="infinite-input-no-steps",
        summary=f"the {what} never ends: its data is endless and `{name}` is not given",
        where=loop.location or source,
        evidence=(
            Evidence(f"batches in this {what} so far", done, "count"),
            Evidence(f"`{name}`", 0, "count", "not given"),
        ),
        advice=f"Give `fit` a `{name}`, or let the data end.",
        also=source,
        is_certain=loop.lasted_s >= MIN_EPOCH_S,
    )


def _ends_by_itself(scene: Scene) -> bool:
    """Tell whether a callback of the script's may end an epoch that has no end."""
    return any("stop_training" in text for text in scene.sources.values())


def _endless_source(scene: Scene) -> Location | None:
    """Return the line that makes the data endless."""
    if scene.cardinality == ENDLESS:
        repeats = [s for s in scene.stages if s.kind == "repeat" and s.location is not None]
        placed = [s for s in scene.stages if s.location is not None]
        return (repeats or placed or list(scene.stages))[0].location
    source = scene.inputs[-1] if scene.inputs else None
    where = source.location if source is not None else None
    if where is None or source is None or source.kind != "generator":
        return None
    return where if is_endless(scene.sources.get(where.file, ""), where.line) else None


def unrolled_loop(scene: Scene) -> Reason | None:
    """Tell of a Python loop that is written into a graph turn by turn."""
    tracing = scene.tracing
    if tracing is None or tracing.place is None or tracing.operations < MIN_OPERATIONS:
        return None
    place = tracing.place
    loop = loop_around(scene.sources.get(place.file, ""), place.line)
    lasted_s = scene.at_s - tracing.since_s
    if loop is None or lasted_s < MIN_TRACING_S:
        return None
    return Reason(
        cause="python-loop-unrolled",
        summary=f"a Python loop in `{tracing.name}` is unrolled while it is traced:"
        f" {tracing.operations:,} operations so far",
        where=scene.at(place.file, loop.lineno),
        evidence=(
            Evidence("operations in the graph", tracing.operations, "count"),
            Evidence("more every second", tracing.per_s, "per_s", f"at line {place.line}"),
        ),
        advice="Loop over a tensor (`for i in tf.range(n):`, `tf.while_loop`, `tf.scan`), which"
        " becomes one loop of the graph.",
        is_certain=True,
        moves=True,
    )


def huge_images(scene: Scene) -> Reason | None:
    """Tell of a first batch that takes long because its images are large."""
    now = phases.phase(scene)
    if now.name not in ("first-batch", "next-batch"):
        return None
    stage = next((s for s in scene.stages if s.kind == "map" and _decodes(scene, s)), None)
    if stage is None:
        return None
    left = f", {units.seconds(now.left_s)} more" if now.left_s is not None else ""
    of = f" of {now.total:,}" if now.total else ""
    ready = f": {now.done:,}{of} elements{left}" if now.done is not None else ""
    return Reason(
        cause="decode-full-size",
        summary=f"the batch is made of images that take long to decode{ready}",
        where=_decoder(scene, stage) or stage.location,
        evidence=_decoding(scene, now, stage),
        also=stage.location,
        advice="Decode smaller (`ratio=` of decode_jpeg), store smaller images, or decode on"
        " several threads.",
        moves=True,
    )


def _decoding(scene: Scene, now: phases.Phase, stage: Stage) -> tuple[Evidence, ...]:
    """Return what was measured while a batch of images is decoded."""
    cores = scene.machine.groups.get("tf.data", 0.0)
    found = [Evidence("cores that tf.data keeps busy", cores, "factor", "none computes")]
    if now.done is not None:
        found = [
            Evidence("elements ready", now.done, "count"),
            Evidence("more every second", now.per_s, "per_s"),
        ]
    return (*found, Evidence("since anything was given", scene.quiet_s, "s"))


def _decoder(scene: Scene, stage: Stage) -> Location | None:
    """Return the line that decodes, as the operations of a map's function tell."""
    told = stage.facts.get("shrinks")
    first = told[0] if isinstance(told, list) and told and isinstance(told[0], dict) else {}
    file, line = first.get("file"), first.get("line")
    return scene.at(file, line) if isinstance(file, str) and isinstance(line, int) else None


def _decodes(scene: Scene, stage: Stage) -> bool:
    """Tell whether the function of a map decodes images, by its operations or its text."""
    operations = stage.facts.get("ops")
    if isinstance(operations, list) and any("Decode" in str(name) for name in operations):
        return True
    file, line = stage.facts.get("function_file"), stage.facts.get("function_line")
    lines = scene.sources.get(str(file), "").split("\n")
    body = lines[line - 1 : line + 30] if isinstance(line, int) else []
    return any(word in text for text in body for word in ("decode_", "imread", "Image.open"))


def compiling(scene: Scene) -> Reason | None:
    """Tell of a first call that XLA is still compiling."""
    main, loop = scene.main, scene.loop
    if main is None or scene.compiled is None or not phases.is_executing(main):
        return None
    if (scene.machine.cores or 0.0) < BUSY_CORES:
        return None
    facts = loop.facts if loop is not None else {}
    place = scene.at(facts.get("compile_file"), facts.get("compile_line"))
    return Reason(
        cause="xla-first-compile",
        summary=f"XLA has been compiling a step for {units.seconds(scene.still_s)}",
        where=place or scene.compiled,
        evidence=(
            Evidence("cores busy meanwhile", scene.machine.cores or 0.0, "factor"),
            Evidence("since the function was traced", scene.still_s, "s", "it has not run yet"),
        ),
        advice="It is done once per shape. Leave `jit_compile` out for short runs, and keep"
        " shapes fixed.",
        moves=True,
    )


def slow_step(scene: Scene) -> Reason | None:
    """Tell of a step that runs, and takes long."""
    loop, main = scene.loop, scene.main
    if main is None or not phases.is_executing(main):
        return None
    if (scene.machine.cores or 0.0) < BUSY_CORES or (loop is None and scene.steps):
        return None
    if scene.still_s < MIN_STILL_S or phases.input_works(scene):
        return None  # something else moves: a loop that predicts, a pipeline
    lasted_s = min(scene.quiet_s, scene.still_s)
    usual = f"the longest before took {units.seconds(scene.longest_s)}" if scene.longest_s else ""
    return Reason(
        cause="slow-step",
        summary=f"one step takes more than {units.seconds(lasted_s)}",
        where=scene.place(main.user_frame) or (loop.location if loop is not None else None),
        evidence=(
            Evidence("cores busy meanwhile", scene.machine.cores or 0.0, "factor"),
            Evidence("since anything else moved", lasted_s, "s", usual),
        ),
        advice="A smaller batch or model makes steps shorter; `quickfit run --steps 20` shows"
        " where the time goes.",
        moves=True,
        lasted_s=lasted_s,
    )
