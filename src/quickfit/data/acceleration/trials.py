"""Chains raced against each other on a part of the data, and how large that data is.

All that runs here is a copy: shuffles and caches of the user's chain stay where they are.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from quickfit.data.acceleration.stages import Realizer, Stage
from quickfit.data.graph import Dataset
from quickfit.data.iterator_ends import end_iterators_aside
from quickfit.lab.statistics import MIN_GAIN, Measured, interval
from quickfit.lab.turns import interleave

# Of a stage that makes several elements of one, the elements are counted, not what it is given.
_EXPANDING = ("flatmap", "interleave", "parallelinterleave", "unbatch")
# A pass over the part of the data that is tried takes at least this long, so that beginning it does
# not count for much, and at most so long that a second is enough for all.
_PASS_S, _PASS_CPU_S, _LONGEST_S = 0.04, 0.02, 0.2
# Where nothing tells how much a cache would hold, the data is gone through for so long.
_COUNT_S = 1.0
_SIZING_S = 0.6
_FILL_S = 5.0
_FIRST_SAMPLE, _GROWTH = 8, 4
# A pass over less than this many batches says little of them.
_MIN_COUNT = 4
MIN_ROUNDS, MAX_ROUNDS = 5, 12
# A chain that needs this much less of the cores is better, unless it is seen to be slower: other
# programs disturb the clock, and hardly the CPU time.
MIN_CPU_GAIN = 1.2
# What a tensor takes in a cache besides its values, and a string in a tensor.
_TENSOR_BYTES, _STRING_BYTES = 200, 24
# Behind them are the same values as before them, at most.
_SAME_SIZE = ("batch", "parallelbatch", "prefetch", "options")
_MOST_FILES = 20_000
_PACKED = (b"\x1f\x8b", b"x\x01", b"x\x9c", b"x\xda")


@dataclass(frozen=True)
class Sample:
    """How much of the data is tried.

    Args:
        elements: taken from each source.
        is_whole: all of it.
    """

    elements: int
    is_whole: bool


def sample_chain(top: Stage, elements: int) -> Stage:
    """Return a chain that has only so many elements from each source, and ends."""
    known: dict[int, Stage] = {}

    def walk(stage: Stage) -> Stage:
        if id(stage) not in known:
            known[id(stage)] = change(stage)
        return known[id(stage)]

    def change(stage: Stage) -> Stage:
        if stage.kind == "repeat" and stage.build is not None:
            return walk(stage.source)
        if stage.build is None or stage.kind in _EXPANDING:
            return Stage("take", None, (stage,), build=_taker(stage, elements), change="sample")
        return replace(stage, inputs=tuple(walk(part) for part in stage.inputs))

    return walk(top)


def _taker(stage: Stage, elements: int) -> Callable[[Sequence[Dataset]], Dataset]:
    length = _known_length(stage)

    def build(inputs: Sequence[Dataset]) -> Dataset:
        if length is not None and length >= 2 * elements:
            # From all over the data: files of one class often lie together.
            return inputs[0].shard(length // elements, 0).take(elements)
        return inputs[0].take(elements)

    return build


def _known_length(stage: Stage) -> int | None:
    length = int(stage.dataset.cardinality()) if stage.dataset is not None else -2
    return length if length >= 0 else None


def sampled_stages(top: Stage) -> list[Stage]:
    """Return the stages of a chain from which a part is taken when it is tried."""
    if top.build is None or top.kind in _EXPANDING:
        return [top]
    found: list[Stage] = []
    for stage in top.inputs:
        found += [one for one in sampled_stages(stage) if not any(one is known for known in found)]
    return found


def choose_sample(top: Stage) -> Sample:
    """Return how many elements of each source make a pass that is long enough to be timed."""
    elements, end_s = _FIRST_SAMPLE, time.perf_counter() + _SIZING_S
    while True:
        dataset = _fresh(sample_chain(top, elements))
        # The first pass compiles and allocates; a busy machine makes any pass longer, none shorter.
        runs = [run_pass(dataset) for _ in range(2)]
        wall_s, cpu_s = min(run.wall_s for run in runs), min(run.cpu_s for run in runs)
        is_whole = all(_has_at_most(stage, elements) for stage in sampled_stages(top))
        is_long = wall_s >= _PASS_S and cpu_s >= _PASS_CPU_S and runs[0].count >= _MIN_COUNT
        if is_whole or is_long or time.perf_counter() > end_s:
            return Sample(elements, is_whole)
        elements *= _GROWTH


def _has_at_most(stage: Stage, elements: int) -> bool:
    length = int(stage.dataset.cardinality())
    if length != -2:
        return 0 <= length <= elements
    run = run_pass(end_iterators_aside(stage.dataset.take(elements + 1)))
    return run.is_over and run.count <= elements


def _fresh(top: Stage) -> Dataset:
    dataset = Realizer(is_fresh=True).realize(top)
    # A class of its own, whatever the user's is.
    return end_iterators_aside(dataset.prefetch(0) if top.build is None else dataset)


@dataclass(frozen=True)
class PassRun:
    """A pass over a dataset."""

    count: int
    wall_s: float
    cpu_s: float
    bytes: int = 0
    is_over: bool = True  # there were no more

    @property
    def each_s(self) -> float:
        """Wall time for an element."""
        return self.wall_s / max(self.count, 1)

    @property
    def each_cpu_s(self) -> float:
        """CPU time for an element."""
        return max(self.cpu_s, 1e-6) / max(self.count, 1)


def run_pass(
    dataset: Dataset, weigh: Callable[[Any], int] | None = None, longest_s: float = _LONGEST_S
) -> PassRun:
    """Take the elements of a dataset, at least one of them; not all if that takes too long."""
    iterator = iter(dataset)
    count = weight = 0
    is_over = True
    began_s, began_cpu_s = time.perf_counter(), time.process_time()
    for element in iterator:
        count += 1
        if weigh is not None:
            weight += weigh(element)
        if time.perf_counter() - began_s > longest_s:
            is_over = False
            break
    wall_s, cpu_s = time.perf_counter() - began_s, time.process_time() - began_cpu_s
    return PassRun(count, wall_s, cpu_s, weight, is_over)


@dataclass
class Contender:
    """A chain in a race.

    Args:
        name: what was changed in it; the first one in a race is the original.
        top: its last stage.
    """

    name: str
    top: Stage
    dataset: Dataset = None
    runs: list[PassRun] = field(default_factory=list)

    def gain_over(self, other: Contender) -> Measured:
        """Return how many times faster it is than another, by the clock."""
        return interval(self._ratios(other, lambda run: run.each_s))

    def is_better_than(self, other: Contender) -> bool:
        """Tell whether it is faster, or needs much less of the cores and is not slower."""
        wall = self._ratios(other, lambda run: run.each_s)
        cpu = self._ratios(other, lambda run: run.each_cpu_s)
        if _is_beyond_chance(wall) and statistics.median(wall) >= MIN_GAIN:
            return True
        is_lighter = _is_beyond_chance(cpu) and statistics.median(cpu) >= MIN_CPU_GAIN
        return is_lighter and statistics.median(wall) >= 1

    def _ratios(self, other: Contender, cost: Callable[[PassRun], float]) -> list[float]:
        return [cost(b) / cost(a) for a, b in zip(self.runs, other.runs, strict=True)]


def _is_beyond_chance(ratios: Sequence[float]) -> bool:
    """Tell whether something is better in all rounds but, of many, one."""
    losses = sum(ratio <= 1 for ratio in ratios)
    return losses == 0 or (losses == 1 and len(ratios) >= 2 * MIN_ROUNDS)


def race(contenders: Sequence[Contender], sample: Sample, seconds: float) -> list[Contender]:
    """Run chains in turns on the same part of the data; those that fail are left out.

    The first pass of each is not counted: caches are filled, functions compiled.
    """
    import tensorflow as tf

    running: list[Contender] = []
    for contender in contenders:
        try:
            contender.dataset = _fresh(sample_chain(contender.top, sample.elements))
            # To its end, so that caches are full.
            run_pass(contender.dataset, longest_s=_FILL_S)
        except (tf.errors.OpError, ValueError, TypeError, NotImplementedError):
            if contender is contenders[0]:
                raise
            continue
        running.append(contender)
    end_s = time.perf_counter() + seconds
    turns = {place: partial(run_pass, one.dataset) for place, one in enumerate(running)}
    runs = interleave(
        turns,
        rounds=MAX_ROUNDS,
        has_time=lambda number: number <= MIN_ROUNDS or time.perf_counter() <= end_s,
    )
    for place, one in enumerate(running):
        one.runs += runs[place]
    return running


def gives_same_elements(first: Stage, second: Stage, sample: Sample) -> bool:
    """Tell whether two chains give the same elements, bit for bit, shuffles left out."""
    import numpy as np
    import tensorflow as tf

    pair = [_fresh(_unshuffled(sample_chain(top, sample.elements))) for top in (first, second)]
    if pair[0].element_spec != pair[1].element_spec:
        return False
    begin_s = time.perf_counter()
    iterators = [iter(one) for one in pair]
    missing = object()
    while time.perf_counter() - begin_s < _LONGEST_S:
        elements = [next(one, missing) for one in iterators]
        if any(one is missing for one in elements):
            return all(one is missing for one in elements)
        flat = [tf.nest.flatten(one, expand_composites=True) for one in elements]
        for a, b in zip(*flat, strict=True):
            left, right = np.asarray(a), np.asarray(b)
            if left.dtype != right.dtype or left.shape != right.shape:
                return False
            is_same = (
                left.tobytes() == right.tobytes() if left.dtype != object else (left == right).all()
            )
            if not is_same:
                return False
    return True


def _unshuffled(top: Stage) -> Stage:
    if top.kind == "shuffle":
        return _unshuffled(top.source)
    return replace(top, inputs=tuple(_unshuffled(one) for one in top.inputs))


def element_bytes(element: Any) -> int:
    """Return what an element takes in a cache."""
    import numpy as np
    import tensorflow as tf

    total = 0
    for leaf in tf.nest.flatten(element, expand_composites=True):
        if leaf.dtype == tf.string:
            texts = np.ravel(leaf.numpy())
            total += sum(map(len, texts)) + _STRING_BYTES * len(texts)
        else:
            total += leaf.dtype.size * math.prod(leaf.shape)
        total += _TENSOR_BYTES
    return total


def spec_bytes(spec: Any) -> int | None:
    """Return what an element of these types takes in a cache; None if that varies."""
    import tensorflow as tf

    total = 0
    for part in tf.nest.flatten(spec):
        if type(part) is not tf.TensorSpec or not part.shape.is_fully_defined():
            return None
        if part.dtype == tf.string:
            return None
        total += part.dtype.size * math.prod(part.shape) + _TENSOR_BYTES
    return total


def cache_bytes(top: Stage, sample: Sample | None) -> int | None:
    """Return what all elements of a chain take in a cache; None if that is not known.

    Args:
        top: the last stage before the cache.
        sample: how much of the data may be run; None if nothing may.
    """
    single = top
    while single.kind in _SAME_SIZE and single.build is not None:
        single = single.source
    length, each = _known_length(single), spec_bytes(single.dataset.element_spec)
    if length is not None and each is not None:
        return length * each
    if sample is None:
        return None
    run = run_pass(_fresh(sample_chain(top, sample.elements)), element_bytes, math.inf)
    if sample.is_whole:
        return run.bytes
    length = _known_length(top)
    scales = [_scale_of(stage, sample.elements) for stage in sampled_stages(top)]
    known = [scale for scale in scales if scale is not None]
    if len(known) == len(scales):
        return int(run.bytes * max(known))
    if length is not None and run.count:
        return int(length * run.bytes / run.count)
    run = run_pass(_fresh(top), element_bytes, _COUNT_S)
    return run.bytes if run.is_over else None


def _scale_of(stage: Stage, elements: int) -> float | None:
    """Return how many times as much data a source has as was taken of it."""
    length = _known_length(stage)
    if length is not None:
        return max(length / elements, 1.0)
    total = _file_bytes(stage)
    if total is None:
        return None
    taken = run_pass(end_iterators_aside(stage.dataset.take(elements)), element_bytes, math.inf)
    if taken.count < elements:
        return 1.0
    # A record has 16 bytes around it, a string in memory 24 and its tensor more.
    stored = taken.bytes - taken.count * (_TENSOR_BYTES + _STRING_BYTES)
    return total / max(stored, 1)


def _file_bytes(stage: Stage) -> int | None:
    """Return the size of the files that a stage reads records or lines from, if they are plain."""
    import tensorflow as tf

    spec = stage.dataset.element_spec
    is_text = type(spec) is tf.TensorSpec and spec.dtype == tf.string and spec.shape.rank == 0
    if not is_text or len(stage.inputs) != 1:
        return None
    names = stage.source.dataset
    known = names.element_spec
    if type(known) is not tf.TensorSpec or known.dtype != tf.string or known.shape.rank != 0:
        return None
    try:
        files = list(names.take(_MOST_FILES + 1).as_numpy_iterator())
        with tf.io.gfile.GFile(files[0], "rb") as file:
            is_packed = file.read(2) in _PACKED
        if is_packed or len(files) > _MOST_FILES:
            return None
        return sum(int(tf.io.gfile.stat(file).length) for file in files)
    except (tf.errors.OpError, IndexError):
        return None
