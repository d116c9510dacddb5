"""`accelerate`: any tf.data chain, rebuilt to be faster; its elements and their order stay."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from quickfit import units
from quickfit.data.acceleration import rewrites, trials
from quickfit.data.acceleration.stages import Realizer, Stage, all_stages, read_stages
from quickfit.data.acceleration.trials import Contender, Sample
from quickfit.data.cache import MEMORY_SHARE
from quickfit.data.finishing import describe_dataset
from quickfit.data.graph import Dataset
from quickfit.data.iterator_ends import end_iterators_aside
from quickfit.data.options import OptionChecks
from quickfit.errors import UsageError
from quickfit.lab.statistics import Measured
from quickfit.machine import free_memory_bytes

# How long chains are raced against each other, besides the one pass that each needs before.
_RACE_S = 0.8
# Estimates of sizes are made from a part of the data.
_SIZE_MARGIN = 1.25


@dataclass(frozen=True)
class AcceleratedStage:
    """A stage of an accelerated dataset, for people.

    Args:
        name: what it is, as `map(parse)`.
        where: the user's file and line.
        note: what was done with it, or why nothing was; empty if there was nothing to do.
        is_changed: whether anything was done.
    """

    name: str
    where: str
    note: str
    is_changed: bool


@dataclass(frozen=True)
class Acceleration:
    """What was done to a dataset and gained, as its attribute `acceleration`.

    Args:
        gain: how many times faster it is than the original; None where that was not measured.
        gains: of each kind of change, in the order in which they were added.
        stages: of the dataset, the first ones first.
        notes: what else is to be known.
    """

    gain: Measured | None
    gains: tuple[tuple[str, float], ...]
    stages: tuple[AcceleratedStage, ...]
    notes: tuple[str, ...]

    def __str__(self) -> str:
        head = "left as it is"
        if any(stage.is_changed for stage in self.stages):
            head = "not measured" if self.gain is None else _format_gain(self.gain)
        names = [f"  {stage.name}" for stage in self.stages]
        width = max(map(len, names), default=0)
        lines = []
        for name, stage in zip(names, self.stages, strict=True):
            text = "  ".join(filter(None, (stage.where, stage.note)))
            lines.append(f"{name:{width}}  {text}".rstrip())
        gains = [f"  {what}: {gain:.2f}×" for what, gain in self.gains]
        return "\n".join((f"<accelerate: {head}", *lines, *gains, *(f"  {n}" for n in self.notes)))


def _format_gain(gain: Measured) -> str:
    low, high = f"{gain.low:.2f}", f"{gain.high:.2f}"
    return f"{gain.mean:.2f}× as fast ({low}–{high}×, {gain.pairs} rounds in turn)"


def accelerate(
    dataset: Dataset,
    *,
    keep_order: bool = True,
    memory: int | None = None,
    measure: bool = True,
) -> Dataset:
    """Return a dataset with the same elements, made faster: as a chain of tf.data, rebuilt.

    Interleaves and maps run several calls at a time, shuffles move before pure maps, maps that
    treat each row alone handle whole batches, and what is the same in every epoch is kept in
    memory if it fits. Elements, their order, types, length and options stay. What runs Python,
    draws random numbers with a seed or reads variables stays as it is. Every change is tried on
    a copy, for a second or two, in turns with the original; what is not faster is not made.

    Args:
        dataset: any `tf.data.Dataset`; call it last, before `fit`.
        keep_order: False lets results of maps and interleaves come in any order.
        memory: bytes that caches may take, 0 for no cache; by default half of what is free.
        measure: False makes all changes that are legal without running anything. Caches are then
            added only where types and length tell their size.

    Returns:
        A dataset whose repr shows what was done and gained, stage by stage; its attribute
        `acceleration` holds the same as data.

    Raises:
        UsageError: it is no dataset, or an option makes no sense.
    """
    import tensorflow as tf

    check = OptionChecks("accelerate")
    keep_order = check.flag("keep_order", keep_order)
    measure = check.flag("measure", measure)
    if not isinstance(dataset, tf.data.Dataset):
        raise UsageError(
            f"accelerate: this is no tf.data.Dataset (received: {type(dataset).__name__}).\nGive "
            "one; for a Python function or generator, use quickfit.data.generator"
        )
    if not tf.executing_eagerly():
        raise UsageError("accelerate: call it outside of tf.function, where the dataset is made.")
    room = int(free_memory_bytes() * MEMORY_SHARE)
    if memory is not None:
        room = check.whole("memory", memory, least=0)
    work = _Accelerator(keep_order=keep_order, room=room, is_measured=measure)
    top = work.improve(read_stages(dataset))
    return work.finish(dataset, top)


class _Accelerator:
    """Changes a chain, part by part.

    Args:
        keep_order: whether results keep their order.
        room: bytes that caches may take.
        is_measured: whether changes are tried.
    """

    def __init__(self, *, keep_order: bool, room: int, is_measured: bool) -> None:
        self._keep_order, self._room, self._is_measured = keep_order, room, is_measured
        self._notes: list[str] = []
        self._gain: Measured | None = None
        self._gains: list[tuple[str, float]] = []
        self._sizes: dict[int, int | None] = {}  # what a cache behind a dataset would take

    def improve(self, top: Stage) -> Stage:
        """Return the chain, changed where that is legal and gains something."""
        if not self._is_measured:
            return self._choices(top, None)[-1].top
        parts = _runnable_parts(top)
        if len(parts) == 1 and parts[0] is top:
            return self._improve_part(top)
        blocker = next(one for one in all_stages(top) if not one.traits.is_runnable)
        self._notes.append(
            f"from {blocker.label} on it was not tried and stays: it {blocker.traits.reason}"
        )
        for part in parts:
            better = self._improve_part(part)
            if better is not part:
                self._notes.append(f"the figures are of the part up to {part.label}")
                top = _with_part(top, part, better)
        return top

    def _improve_part(self, top: Stage) -> Stage:
        import tensorflow as tf

        try:
            sample = trials.choose_sample(top)
            choices = self._choices(top, sample)
            if len(choices) == 1:
                return top
            running = trials.race(choices, sample, _RACE_S)
        except tf.errors.OpError as error:
            self._notes.append(f"left as it is, since it fails: {str(error.message)[:200]}")
            return top
        best, original = _choose(running), running[0]
        others = [one for one in running[1:] if one is not best]
        if others:
            gains = [f"{one.name} {one.gain_over(original).mean:.2f}×" for one in others]
            self._notes.append(f"tried and not taken: {', '.join(gains)}")
        if best is original:
            return top
        self._gain = best.gain_over(original)
        self._tell_gains(running, best)
        taken = f"{units.count(sample.elements)} elements of each source"
        self._notes.append(f"measured on {'all of the data' if sample.is_whole else taken}")
        return best.top

    def _tell_gains(self, running: Sequence[Contender], best: Contender) -> None:
        """Note what each kind of change in the best chain gained over the one without it."""
        last, names = running[0], best.name.split(" + ")
        for number in range(len(names)):
            name = " + ".join(names[: number + 1])
            step = next((one for one in running if one.name == name), None)
            if step is not None:
                self._gains.append((names[number], step.gain_over(last).mean))
                last = step

    def _choices(self, top: Stage, sample: Sample | None) -> list[Contender]:
        """Return the original and the chains that are worth a trial."""
        found = [Contender("original", top)]
        parallel = rewrites.parallel_calls(top, keep_order=self._keep_order)
        if _is_changed(parallel):
            found.append(Contender("parallel", parallel))
        for one in list(found):
            batched = rewrites.whole_batches(rewrites.shuffles_first(one.top))
            is_new = any(stage.change == "batched" for stage in all_stages(batched))
            if is_new and (sample is None or self._is_same(top, batched, sample)):
                name = "batched" if one.name == "original" else f"{one.name} + batched"
                found.append(Contender(name, batched))
        for one in list(found):
            # Of a shuffle that was only moved, the cache undoes what was done.
            changed = [stage.kind for stage in all_stages(one.top) if stage.change == "batched"]
            is_undone = bool(changed) and set(changed) == {"shuffle"}
            cached = self._with_caches(rewrites.shuffles_last(one.top), sample)
            if cached is not None and not is_undone:
                name = "cache" if one.name == "original" else f"{one.name} + cache"
                found.append(Contender(name, cached))
        return found

    @staticmethod
    def _is_same(top: Stage, batched: Stage, sample: Sample) -> bool:
        import tensorflow as tf

        others = [one for one in all_stages(top) if one.kind != "shuffle"]
        if not all(one.traits.is_pure for one in others):
            # It never gives the same elements twice. The operations of the maps are proof enough.
            return True
        try:
            return trials.gives_same_elements(top, batched, sample)
        except (tf.errors.OpError, ValueError, TypeError, NotImplementedError):
            return False

    def _with_caches(self, top: Stage, sample: Sample | None) -> Stage | None:
        """Return a chain with caches where they are legal and fit; None if there are none."""
        places = [one for one in rewrites.pure_tops(top) if rewrites.is_worth_keeping(one)]
        room, chosen = self._room, []
        for place in places:
            # The same elements, one by one or in batches, take the same room.
            if id(place.dataset) not in self._sizes:
                self._sizes[id(place.dataset)] = trials.cache_bytes(place, sample)
            needed = self._sizes[id(place.dataset)]
            if needed is None:
                self._note_once(f"no cache behind {place.label}: its size is not known")
            elif needed * _SIZE_MARGIN > room:
                self._note_once(
                    f"no cache behind {place.label}: {units.size(needed)} do not fit in "
                    f"{units.size(room)}"
                )
            else:
                room -= needed
                chosen.append(
                    (place, f"added: {units.size(needed)} in memory, filled in the first epoch")
                )
        return rewrites.caches_behind(top, chosen) if chosen else None

    def _note_once(self, note: str) -> None:
        if note not in self._notes:
            self._notes.append(note)

    def finish(self, dataset: Dataset, top: Stage) -> Dataset:
        """Return the dataset of the chain, with what the user's had."""
        is_changed = any(one.change for one in all_stages(top))
        if is_changed:
            top = rewrites.prefetched(top, device=_accelerator_device(dataset))
            result = Realizer(is_fresh=False).realize(top)
        else:
            result = _twin(dataset)
        for name, value in vars(dataset).items():
            if not hasattr(result, name):
                setattr(result, name, value)  # as `class_names`
        if not self._keep_order and any(one.change == "parallel" for one in all_stages(top)):
            self._notes.append("the order of the elements may change")
        summary = Acceleration(
            gain=self._gain,
            gains=tuple(self._gains),
            stages=tuple(_describe_stage(one) for one in all_stages(top)),
            notes=tuple(self._notes),
        )
        text = f"{summary}>"
        # The end of an iterator that runs Python is something that the script may see.
        if all(one.traits.is_runnable for one in all_stages(top)):
            result = end_iterators_aside(result)
        return describe_dataset(result, lambda _: text, acceleration=summary)


def _choose(running: Sequence[Contender]) -> Contender:
    """Return the fastest chain in which every change gains something; the original if none does.

    Behind a cache, only the first epoch shows what is before it. So a change counts by what it
    gains without one.
    """
    original = running[0]
    named = {one.name: one for one in running}
    plain, worth = original, {"cache"}
    for name in ("parallel", "batched"):
        step = next((named[n] for n in (f"{plain.name} + {name}", name) if n in named), None)
        if step is not None and step.is_better_than(plain):
            plain = step
            worth.add(name)
    found = [
        one
        for one in running[1:]
        if set(one.name.split(" + ")) <= worth and one.is_better_than(original)
    ]
    return max(found, key=lambda one: one.gain_over(original).mean, default=original)


def _twin(dataset: Dataset) -> Dataset:
    """Return another object for the same dataset, with its state; the user's stays as it is."""
    kind: Any = type(dataset)
    twin: Dataset = kind.__new__(kind)
    twin.__dict__.update(vars(dataset))
    return twin


def _is_changed(top: Stage) -> bool:
    return any(one.change for one in all_stages(top))


def _runnable_parts(top: Stage) -> list[Stage]:
    """Return the longest parts of a chain that leave nothing behind when they run."""
    if all(one.traits.is_runnable for one in all_stages(top)):
        return [top]
    if top.build is None:
        return []
    return [part for stage in top.inputs for part in _runnable_parts(stage)]


def _with_part(top: Stage, part: Stage, better: Stage) -> Stage:
    if top is part:
        return better
    if top.build is None:
        return top
    return replace(top, inputs=tuple(_with_part(one, part, better) for one in top.inputs))


def _describe_stage(stage: Stage) -> AcceleratedStage:
    where = ""
    if stage.where is not None:
        file, line = stage.where
        where = f"{file.rsplit('/', 1)[-1]}:{line}"
    note = stage.note
    if not note and stage.kind == "interleave" and int(stage.dataset._cycle_length) < 0:
        note = "left as it is: without cycle_length, its order would change"
    if not note and not stage.traits.is_pure and stage.kind != "shuffle":
        note = f"left as it is: it {stage.traits.reason}"
    return AcceleratedStage(stage.label, where, note, bool(stage.change))


def _accelerator_device(dataset: Dataset) -> str | None:
    """Return the device to copy batches to; None where it is the CPU, or there are several."""
    import tensorflow as tf

    devices = [one for one in tf.config.list_physical_devices() if one.device_type != "CPU"]
    is_text = any(
        getattr(one, "dtype", None) == tf.string for one in tf.nest.flatten(dataset.element_spec)
    )
    if len(devices) != 1 or is_text or tf.distribute.has_strategy():
        return None
    return f"/{devices[0].device_type}:0"
