"""What a run is doing at one moment, in words, with progress and how long it will still take."""

from __future__ import annotations

from dataclasses import dataclass

from quickfit import units
from quickfit.findings import Location
from quickfit.liveness.scene import Frame, Input, Loop, Scene, Stage, Thread
from quickfit.signals.around_steps import WRITERS
from quickfit.signals.stacks import activity, is_in_fit, is_returning, is_validating

# Below this rate nothing moves; a time left would be a guess.
_MIN_PER_S = 0.02
# tf.data uses at least so much of a core while it makes a batch, however busy the machine is.
_MIN_INPUT_CORES = 0.02
# Longer than this is told as no time at all.
_MAX_LEFT_S = 100 * 3600.0
# More of a line of the user's is not repeated.
_MAX_LINE_CHARS = 60
_DOING = {
    "imports": "importing modules",
    "data": "getting the data ready",
    "model": "building the model",
    "evaluating": "evaluating",
    "predicting": "predicting",
    "calling": "calling the model",
    "tracing": "tracing a function",
    "first_batch": "waiting for the first batch",
    "other": "before the first training step",
}
# Where TensorFlow runs a compiled function: Python sees nothing of what happens in there.
_EXECUTES = ("/eager/execute.py", "/eager/context.py", "/polymorphic_function/atomic_function.py")
_SAVES = (
    *("/keras/src/saving/", "/tensorflow/python/checkpoint/", "/tensorflow/python/saved_model/"),
)
# Keras calls the hooks of callbacks through this file.
_CALLBACKS = "/callbacks/callback_list.py"


@dataclass(frozen=True)
class Phase:
    """What a run is doing.

    Args:
        name: in one word, such as `shuffle-fill`; a change of it is news.
        text: in a few words, without how far it is.
        where: the user's line it happens at.
        done: how far it is; None where nothing is counted.
        total: what `done` will be in the end; None where that is not known.
        per_s: how fast it moves.
        unit: what is counted.
        began_s: when it began; None where only the looks at it tell.
    """

    name: str
    text: str
    where: Location | None = None
    done: int | None = None
    total: int | None = None
    per_s: float = 0.0
    unit: str = ""
    began_s: float | None = None

    @property
    def left_s(self) -> float | None:
        """The time it will still take; None where that cannot be told."""
        if self.done is None or not self.total or self.per_s < _MIN_PER_S:
            return None
        left_s = max(self.total - self.done, 0) / self.per_s
        return left_s if left_s <= _MAX_LEFT_S else None

    def __str__(self) -> str:
        """Say it as one line: `filling the shuffle buffer: 46,432 of 70,000, 2,500/s, …`."""
        parts = []
        if self.done is not None:
            unit = f" {self.unit}" if self.unit else ""
            total = f" of {self.total:,}" if self.total else ""
            parts.append(f"{self.done:,}{total}{unit}")
            parts += [units.rate(_rounded(self.per_s))] if self.per_s >= _MIN_PER_S else []
        if self.left_s is not None:
            parts.append(f"ready in {units.seconds(self.left_s)}")
        counted = f": {', '.join(parts)}" if parts else ""
        return f"{self.text}{counted}{f' — {self.where.short}' if self.where else ''}"


def phase(scene: Scene) -> Phase:
    """Return what a run is doing."""
    if scene.ended_s is not None:
        text = "the script has ended; Python and TensorFlow shut down"
        return Phase("exit", text, began_s=scene.ended_s)
    if not scene.is_answering:
        text = "Python does not answer; C code holds its lock"
        return Phase("no-answer", text, began_s=scene.answered_s)
    found = (
        _tracing(scene)
        or _saving(scene)
        or _filling(scene)
        or _turning(scene)
        or _validating(scene)
        or _python_input(scene)
        or _batch(scene)
        or _step(scene)
    )
    return found or _by_stack(scene)


def _tracing(scene: Scene) -> Phase | None:
    tracing = scene.tracing
    if tracing is None:
        return None
    return Phase(
        "tracing",
        f"tracing `{tracing.name}`",
        tracing.place,
        tracing.operations,
        per_s=tracing.per_s,
        unit="operation" if tracing.operations == 1 else "operations",
        began_s=tracing.since_s,
    )


def _saving(scene: Scene) -> Phase | None:
    main = scene.main
    if main is None or scene.loop is None:
        return None
    if not any(_writes(frame) for frame in main.frames):
        return None
    return Phase("saving", "saving the model", scene.place(main.user_frame))


def _writes(frame: Frame) -> bool:
    return frame.function in WRITERS and any(part in frame.file for part in _SAVES)


def filling_stage(scene: Scene) -> Stage | None:
    """Return the shuffle that takes elements in and gives none yet."""
    for stage in scene.stages:
        is_filling = stage.buffered_per_s > _MIN_PER_S and stage.per_s < stage.buffered_per_s / 10
        if stage.kind.startswith("shuffle") and is_filling:
            return stage
    return None


def caching_stage(scene: Scene) -> Stage | None:
    """Return the cache that takes elements in while the pipeline gives none."""
    if not scene.stages:
        return None
    is_training = scene.loop is None or scene.loop.trains
    if is_training and scene.stages[0].per_s > _MIN_PER_S:
        return None
    caches = [stage for stage in scene.stages if stage.kind == "cache"]
    moving = [stage for stage in caches if stage.per_s > _MIN_PER_S]
    return moving[0] if moving else None


def _filling(scene: Scene) -> Phase | None:
    shuffle = filling_stage(scene)
    cache = caching_stage(scene)
    if cache is not None and (shuffle is None or _is_nearly_all(cache, shuffle)):
        total = cache.cardinality if cache.cardinality and cache.cardinality > 0 else None
        named = ("cache-fill", "filling the cache", cache.location)
        return Phase(*named, cache.elements, total, cache.per_s, "elements")
    if shuffle is None:
        return None
    total = shuffle.size
    if shuffle.cardinality is not None and shuffle.cardinality > 0:
        total = min(total or shuffle.cardinality, shuffle.cardinality)
    named = ("shuffle-fill", "filling the shuffle buffer", shuffle.location)
    return Phase(*named, shuffle.buffered, total, shuffle.buffered_per_s)


def _is_nearly_all(cache: Stage, shuffle: Stage) -> bool:
    """Tell whether a shuffle takes in all that a cache will hold, so that the cache is the work."""
    return bool(cache.cardinality and shuffle.size and shuffle.size >= cache.cardinality > 0)


def _finite(cardinality: int | None) -> int | None:
    return cardinality if cardinality is not None and cardinality > 0 else None


_TURNS = {"predict": "predicting", "evaluate": "evaluating"}


def _turning(scene: Scene) -> Phase | None:
    """Return the phase in which a loop goes round that does not train."""
    loop = scene.loop
    if loop is None or loop.trains or loop.per_s < _MIN_PER_S:
        return None
    total, done = _finite(scene.cardinality), loop.epoch_steps
    if total is None or done > total:  # of another pipeline than the one it goes through
        total, done = None, loop.steps
    text = _TURNS.get(loop.kind, "a loop that does not train goes round")
    unit = "turn" if done == 1 and total is None else "turns"
    return Phase("loop", text, loop.location, done, total, loop.per_s, unit)


def _validating(scene: Scene) -> Phase | None:
    loop = scene.loop
    if loop is None or loop.phase != "validation" or not scene.stages:
        return None
    top = scene.stages[0]
    steps = loop.facts.get("validation_steps")
    total = steps if isinstance(steps, int) else _finite(scene.cardinality)
    named = ("validation", "validating", loop.location)
    return Phase(*named, top.elements, total, top.per_s, "batches")


def waiting_input(scene: Scene) -> Input | None:
    """Return the Python input that a batch is waited for."""
    return scene.inputs[-1] if scene.inputs and scene.inputs[-1].is_busy else None


def making_thread(scene: Scene) -> Thread | None:
    """Return the thread that makes a batch in the user's Python code."""
    maker = next((thread for thread in scene.makers if thread.user_frame is not None), None)
    if maker is None and scene.main is not None and is_peek(scene.main):
        return scene.main
    return maker


def is_peek(thread: Thread) -> bool:
    """Tell whether Keras asks a generator for its first batch on this thread."""
    users = [place for place, frame in enumerate(thread.frames) if frame.is_user]
    if not users:
        return False
    return any("/data_adapters/" in frame.file for frame in thread.frames[users[0] :])


def _python_input(scene: Scene) -> Phase | None:
    thread = making_thread(scene)
    source = waiting_input(scene)
    if thread is None and (source is None or scene.loop is None):
        return None
    if source is None:
        which = "next" if scene.steps else "first"
        where = scene.place(thread.user_frame if thread is not None else None)
        text = f"waiting for the {which} batch of the Python input"
        return Phase(f"{which}-batch", text, where)
    where = scene.place(thread.user_frame) if thread is not None else source.location
    text = f"waiting for batch {source.batches + 1:,} of `{source.name}`"
    return Phase(f"batch of {source.name}", text, where)


def _batch(scene: Scene) -> Phase | None:
    """Return the phase in which tf.data makes a batch that somebody waits for."""
    if not scene.stages or scene.loop is None:
        return None
    moving = [s for s in scene.stages[1:] if s.per_s > _MIN_PER_S]
    if scene.stages[0].per_s > _MIN_PER_S or not (moving or input_works(scene)):
        return None
    batch = next((stage for stage in scene.stages if stage.kind.endswith("batch")), None)
    below = scene.stages[scene.stages.index(batch) + 1 :] if batch is not None else ()
    fed = next((stage for stage in below if stage in moving), None)
    name, text = "first-batch", "making the first batch"
    if scene.steps:
        name, text = "next-batch", "making the next batch"
    if batch is None or fed is None or not batch.size:
        maps = [stage for stage in scene.stages if stage.kind == "map"]
        return Phase(name, text, (moving or maps or list(scene.stages))[0].location)
    done = max(fed.elements - batch.elements * batch.size, 0)
    return Phase(name, text, fed.location, done, batch.size, fed.per_s, "elements")


def input_works(scene: Scene) -> bool:
    """Tell whether tf.data's threads are at work and those that compute are not."""
    groups = scene.machine.groups
    computing = sum(groups.get(name, 0.0) for name in ("main", "inter-op", "intra-op"))
    return groups.get("tf.data", 0.0) > max(_MIN_INPUT_CORES, 3 * computing)


def is_executing(thread: Thread) -> bool:
    """Tell whether a thread is inside a compiled function of TensorFlow's."""
    return bool(thread.frames) and thread.frames[0].is_in(*_EXECUTES)


def _step(scene: Scene) -> Phase | None:
    main, loop = scene.main, scene.loop
    if main is None or not is_executing(main):
        return None
    where = scene.place(main.user_frame) or (loop.location if loop is not None else None)
    if scene.compiled is not None:
        return Phase("compiling", "compiling with XLA", where)
    if loop is None:
        return Phase("function", "a compiled function runs", where)
    return Phase("step", f"step {scene.steps + 1:,} runs", where)


def _by_stack(scene: Scene) -> Phase:
    main, loop = scene.main, scene.loop
    if main is None:
        is_new = not scene.steps and loop is None
        return Phase("start", "starting") if is_new else Phase("unseen", "its threads are not seen")
    found = activity(main.frames, scene.at)
    name = found.name
    where = scene.place(found.line or main.user_frame)
    if is_returning(main.frames):
        # The user's line is the call, which is over for Keras and not for the script.
        return Phase("iterator-ends", "this call ends: TensorFlow shuts its iterators down", where)
    if loop is not None and loop.steps:
        if name in ("imports", "tracing", "first_batch"):
            return Phase(name, _DOING[name], where)
        return Phase(*_inside_loop(loop, main), where)
    if loop is not None or is_in_fit(main.frames):
        text = "before the first step of this loop" if scene.steps else _DOING["other"]
        return Phase(name, text if name == "other" else _DOING[name], where)
    if scene.steps and name in ("other", "data"):
        return Phase("after", _after_training(where), where)
    return Phase(name, _DOING[name], where)


def _inside_loop(loop: Loop, main: Thread) -> tuple[str, str]:
    """Return the name and the words for what a loop does that has taken steps."""
    if is_validating(main.frames):
        return "validation", "validating"
    hooks = (
        f.function for f in main.frames if f.is_in(_CALLBACKS) and f.function.startswith("on_")
    )
    hook = next(hooks, "")
    if hook:
        return "callback", f"callbacks run (`{hook}`)"
    return "between", "between epochs" if loop.is_between_epochs else "between two steps"


def _after_training(where: Location | None) -> str:
    """Say what runs after a loop, in the user's own words; another loop may follow."""
    text = where.text if where is not None else ""
    if len(text) > _MAX_LINE_CHARS:
        text = f"{text[: _MAX_LINE_CHARS - 1]}…"
    return f"after the training loop: `{text}`" if text else "after the training loop"


def _rounded(per_s: float) -> float:
    """Return a rate with two digits that mean something."""
    return float(f"{per_s:.2g}")
