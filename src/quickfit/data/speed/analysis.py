"""What the figures mean: the cost of each stage, what limits the pipeline, what to try."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from quickfit import units
from quickfit.data.speed.figures import (
    MIN_GAIN_AT_ONCE,
    IdealSpeed,
    MachineUse,
    MemoryUse,
    SpeedLimit,
    StageFigures,
    TimeSpan,
)
from quickfit.data.speed.timing import FeedPass
from quickfit.pipeline_model.match import match
from quickfit.pipeline_model.snapshot import Operation
from quickfit.pipeline_model.stages import StageCost, stage_costs, with_ended_nodes

# The consumer's end of tf.data's model: nobody wrote it, and it does nothing.
_ROOT = "root"
# Their further inputs are made by their function while they run.
_MAKERS = ("flatmap", "interleave")
_WORDS = {
    "tensorslice": "from_tensor_slices",
    "tensor": "from_tensors",
    "tfrecord": "read records",
    "textline": "read lines",
    "fixedlengthrecord": "read records",
    "flatmap": "flat_map",
    "paddedbatch": "padded_batch",
    "parseexample": "parse_example",
    "groupbywindow": "group_by_window",
    "assertcardinality": "assert_cardinality",
    "maxintraopparallelism": "thread limit",
    "privatethreadpool": "thread pool",
}
# Facts of an operation that tell one `batch` from another.
_NUMBERS = {"batch": "batch_size", "paddedbatch": "batch_size", "shuffle": "buffer_size"}
# So many of the cores are never all used: threads hand over to each other.
BUSY_SHARE = 0.85
# A stage that accounts for this much of the time between two elements sets it.
LIMITING_SHARE = 0.6
# What Python code uses, whatever the number of threads that wait for the GIL.
ONE_CORE = (0.75, 1.25)
# Short passes spend this much on beginning.
BEGIN_SHARE = 0.4
# Asking for an element from Python takes up to this long.
MAX_CONSUMER_S = 1e-3
# Reading from storage is worth a word from here.
MIN_READ_BYTES_PER_S = 5e6
# Work of these stages can be shared out to any number of threads.
_CAN_BE_PARALLEL = (
    *("map", "mapandbatch", "batch", "paddedbatch", "interleave", "flatmap", "parseexample"),
    *("tfrecord", "textline", "fixedlengthrecord", "filter"),
)
# They only hand elements on; what is counted for them is waking up, or beginning another dataset.
_HANDS_OVER = ("prefetch", "concatenate")
MAX_ADVICE = 3
# A cache that takes more of the free memory than this leaves too little for training.
MAX_CACHE_SHARE = 0.5
# Stages before a cache may not change from epoch to epoch.
_CHANGING = ("shuffle", "shuffleandrepeat", "repeat", "sampling", "directedinterleave")
# Handing an element from one process to another takes a part of this.
MIN_PYTHON_S = 2e-3
# Decoding must be most of the work for smaller images to matter.
MIN_PACK_SHARE = 0.5
# From here on the first element is worth a word.
MIN_FIRST_S = 2.0


@dataclass
class _StageRow:
    """A stage of the table while it is put together from its nodes."""

    costs: list[StageCost]
    carried: list[Operation]
    parent: _StageRow | None
    is_made: bool
    periods: list[float] = field(default_factory=list)

    @property
    def kind(self) -> str:
        return self.costs[0].kind


def stages_of(
    passes: Sequence[FeedPass], operations: Mapping[int, Operation], top: int
) -> tuple[StageFigures, ...]:
    """Return the stages from the sources to the consumer; none where nothing was seen."""
    measured = [costs for costs in map(_pass_costs, passes) if costs]
    if not measured:
        return ()
    # The pass that was seen best; of many short ones each is a sample.
    costs = max(measured, key=lambda found: (len(found), found[0].node.elements))
    rows = _group_nodes(costs, match(costs, operations, top))
    own = [row for row in rows if row.kind != _ROOT]
    total_s = sum(cost.work_s for row in own for cost in row.costs)
    return tuple(reversed([_stage_figures(row, total_s) for row in own]))


def _pass_costs(one: FeedPass) -> list[StageCost]:
    """Return the cost of each node in what was counted of a pass."""
    if not one.looks:
        return []
    begin, last = one.begin, one.looks[-1]
    if begin is not None and len(last.nodes) >= len(begin.nodes):
        return stage_costs(begin, last)
    return stage_costs(None, with_ended_nodes(one.looks))


def _group_nodes(costs: list[StageCost], carried: Mapping[int, list[Operation]]) -> list[_StageRow]:
    """Put nodes together that are one stage to the user."""
    by_node: dict[int, _StageRow] = {}
    rows: list[_StageRow] = []
    periods = group_periods(costs)
    by_number = {cost.node.id: cost for cost in costs}
    parents = {child: cost for cost in costs for child in cost.node.inputs}
    for cost in costs:  # each after the one it feeds
        above = parents.get(cost.node.id)
        parent = by_node.get(above.node.id) if above is not None else None
        own = carried.get(cost.node.id) or []
        is_made = _is_maker(cost, above, by_number)
        row = _row_of_node(rows, cost, parent, own) if parent is not None else None
        if row is None:
            row = _StageRow([], own, parent, is_made)
            rows.append(row)
        row.costs.append(cost)
        row.periods.append(periods[cost.node.id])
        by_node[cost.node.id] = row
    return rows


def _is_maker(cost: StageCost, above: StageCost | None, known: Mapping[int, StageCost]) -> bool:
    """Tell whether a node is of a dataset that the function of a stage made."""
    if above is None or above.kind not in _MAKERS:
        return False
    there = [number for number in above.node.inputs if number in known]
    return cost.node.id in there[1:]


def _is_generator(row: _StageRow | None) -> bool:
    return row is not None and any(one.facts.get("from_generator") for one in row.carried)


def _row_of_node(
    rows: list[_StageRow], cost: StageCost, parent: _StageRow, carried: list[Operation]
) -> _StageRow | None:
    """Return the row that a node belongs to, if it is not a stage of its own to the user."""
    # A cache runs as two nodes, and so does a generator.
    if _is_generator(parent) or (carried and carried == parent.carried):
        return parent
    # The same stage of another sub-dataset.
    for row in rows:
        if row.parent is parent and row.kind == cost.kind and _is_below_maker(row):
            return row
    return None


def group_periods(costs: Sequence[StageCost]) -> dict[int, float]:
    """Return, for each node, the least time per element of all stages that share its thread.

    An asynchronous stage (prefetch, parallel map) has threads of its own; the stages below it,
    down to the next asynchronous one, run on them.
    """
    groups: dict[int, int] = {}
    threads: dict[int, float] = {}
    periods: dict[int, float] = {}
    for cost in costs:  # each after the one it feeds
        number = cost.node.id
        group = number if cost.node.is_async else groups.get(number, number)
        shared = 1.0 if cost.node.is_async else threads.get(number, 1.0)
        groups[number] = group
        periods[group] = periods.get(group, 0.0) + cost.period_s / shared
        groups.update(dict.fromkeys(cost.node.inputs, group))
        threads.update(dict.fromkeys(cost.node.inputs, shared))
        if cost.node.is_async and cost.kind == "interleave":
            threads.update(dict.fromkeys(cost.node.inputs[1:], max(cost.parallelism, 1.0)))
    return {cost.node.id: periods[groups[cost.node.id]] for cost in costs}


def _stage_figures(row: _StageRow, total_s: float) -> StageFigures:
    first, work_s = row.costs[0], sum(cost.work_s for cost in row.costs)
    made = [cost for cost in row.costs if cost.node.elements]
    functions = [one for one in row.carried if "function" in one.facts]
    random = [bool(one.facts["is_stateful"]) for one in functions if "is_stateful" in one.facts]
    elements = sum(cost.node.elements for cost in made)
    return StageFigures(
        name=_row_name(row),
        kind="generator" if _is_generator(row) else row.kind,
        work_s=work_s,
        share=work_s / total_s if total_s > 0 else 0.0,
        parallelism=max(cost.parallelism for cost in row.costs),
        period_s=max(row.periods),
        per_element=sum(cost.per_output for cost in row.costs) if row.is_made else first.per_output,
        element_bytes=sum(cost.node.bytes_out for cost in made) / elements if elements else 0.0,
        buffered=sum(cost.node.buffered for cost in row.costs),
        buffer=first.node.buffer,
        is_injected=not row.carried and not _is_below_maker(row),
        runs_python=any(bool(one.facts.get("runs_python")) for one in functions)
        or _is_generator(row),
        is_random=any(random) if random else None,
        place=_source_place(functions),
    )


def _is_below_maker(row: _StageRow) -> bool:
    """Tell whether a stage was made by a function, so that no chain shows who wrote it."""
    above: _StageRow | None = row
    while above is not None:
        if above.is_made:
            return True
        above = above.parent
    return False


def _row_name(row: _StageRow) -> str:
    carried = [one for one in row.carried if not one.does_nothing]
    if _is_generator(row):
        return f"from_generator({_function_name(carried[0]) if carried else ''})"
    # The operations of a stage come from the consumer's side; code reads the other way.
    names = [_operation_name(one) for one in reversed(carried)]
    kind = row.kind.partition("/")[0]  # a reader of a snapshot has a number behind it
    return " + ".join(dict.fromkeys(names)) if names else _WORDS.get(kind, kind)


def _operation_name(one: Operation) -> str:
    word = _WORDS.get(one.kind, one.kind)
    if "function" in one.facts:
        return f"{word}({_function_name(one)})"
    number = one.facts.get(_NUMBERS.get(one.kind, ""))
    return f"{word}({number})" if number is not None and number > 0 else word


def _function_name(one: Operation) -> str:
    name = str(one.facts.get("function", "")).removesuffix("V2")
    return "lambda" if name == "<lambda>" else name


def _source_place(functions: Sequence[Operation]) -> str | None:
    for one in functions:
        if one.file and one.line:
            return f"{os.path.basename(one.file)}:{one.line}"
    return None


def ideal_of(total: TimeSpan, stages: Sequence[StageFigures], machine: MachineUse) -> IdealSpeed:
    """Return the least time per element: all cores at work, unless one stage cannot be shared."""
    shared_s = total.element_cpu_s / machine.cores
    serial = [one for one in stages if one.kind not in (*_CAN_BE_PARALLEL, *_HANDS_OVER)]
    slowest = max(serial, key=lambda one: one.work_s, default=None)
    # A Python generator waits for the GIL and for files; other processes could do that for it.
    if slowest is not None and slowest.work_s > shared_s and not slowest.runs_python:
        least_s = min(slowest.work_s, total.element_s)
        return IdealSpeed(least_s, f"{slowest.name} cannot be shared between threads")
    cores = _format_cores(machine.cores)
    return IdealSpeed(
        shared_s, f"{units.seconds(total.element_cpu_s)} CPU per {total.unit} on {cores}"
    )


def limit_of(
    total: TimeSpan,
    stages: Sequence[StageFigures],
    machine: MachineUse,
    *,
    is_python: bool = False,
    begin_share: float = 0.0,
) -> SpeedLimit:
    """Return what sets the pace, by what was measured.

    Args:
        total: what was counted.
        stages: those of the pipeline, if they are known.
        machine: what it did meanwhile.
        is_python: whether the elements come from a Python iterator.
        begin_share: of the time, how much passes took to begin.
    """
    is_busy = machine.is_contended(total.cores)
    has_cores_left = total.cores < BUSY_SHARE * machine.cores
    slowest = _pace_maker(stages, total) if has_cores_left else None
    if slowest is not None:
        return SpeedLimit("stage", _stage_text(slowest, total, machine), slowest.name)
    if begin_share >= BEGIN_SHARE:
        return SpeedLimit("start", _start_text(begin_share))
    if is_busy:
        return SpeedLimit("busy", _busy_text(machine, total))
    if not has_cores_left:
        return _limit_by_cores(total, stages, machine)
    if is_python:
        return SpeedLimit("python", _python_text(total, machine))
    return _limit_by_rest(total, stages, machine)


def _pace_maker(stages: Sequence[StageFigures], total: TimeSpan) -> StageFigures | None:
    """Return the stage that takes most of the time between two elements, if one does."""
    longest_s = max((one.period_s for one in stages), default=0.0)
    if longest_s < LIMITING_SHARE * total.element_s:
        return None
    found = max((o for o in stages if o.period_s == longest_s), key=lambda one: one.work_s)
    return None if found.kind in _HANDS_OVER else found


def _start_text(share: float) -> str:
    return (
        f"the start of each pass: {units.share(share)} of the time goes by between the last element"
        " of a pass and the first of the next; with more data in a pass that counts for less"
    )


def _busy_text(machine: MachineUse, total: TimeSpan) -> str:
    return (
        f"inconclusive: other processes use {machine.other_cores:.1f} of "
        f"{_format_cores(machine.cores)},"
        f" the pipeline {total.cores:.1f}; on a free machine it may be faster"
    )


def _limit_by_cores(
    total: TimeSpan, stages: Sequence[StageFigures], machine: MachineUse
) -> SpeedLimit:
    said = f"the cores: it uses {total.cores:.1f} of {_format_cores(machine.cores)}"
    most = max(stages, key=lambda one: one.share, default=None)
    if most is None:
        return SpeedLimit("cores", said)
    return SpeedLimit(
        "cores", f"{said}, {units.share(most.share)} of the work is {most.name}", most.name
    )


def _stage_text(stage: StageFigures, total: TimeSpan, machine: MachineUse) -> str:
    threads = round(stage.parallelism)
    where = "one thread" if threads <= 1 else f"{threads} threads"
    period_s = min(stage.period_s, total.element_s)  # that of a pass may be above the mean
    took = f"{units.seconds(period_s)} of {units.seconds(total.element_s)} per {total.unit}"
    said = f"{stage.name} runs on {where}: {took}"
    if machine.is_contended(total.cores):
        return (
            f"{said}; other processes use {machine.other_cores:.1f} of "
            f"{_format_cores(machine.cores)}"
        )
    if stage.runs_python and threads > 1 and ONE_CORE[0] < total.cores < ONE_CORE[1]:
        return f"{stage.name} runs Python: {threads} threads wait for one GIL, {took}"
    if stage.work_s > 2 * total.element_cpu_s:
        return f"{said}; it mostly waits ({units.seconds(total.element_cpu_s)} CPU in all)"
    return said


def _python_text(total: TimeSpan, machine: MachineUse) -> str:
    used = f"it uses {total.cores:.1f} of {_format_cores(machine.cores)}"
    if total.cores < 0.5:
        return f"the Python code that makes the elements mostly waits: {used}"
    return f"the Python code that makes the elements: {used}"


def _limit_by_rest(
    total: TimeSpan, stages: Sequence[StageFigures], machine: MachineUse
) -> SpeedLimit:
    read_per_s = (machine.read_bytes or 0) / total.wall_s if total.wall_s > 0 else 0.0
    if read_per_s >= MIN_READ_BYTES_PER_S:
        return SpeedLimit(
            "storage",
            f"storage: {units.size(read_per_s)} per second are read, with"
            f" {total.cores:.1f} of {_format_cores(machine.cores)} in use",
        )
    last = stages[-1] if stages else None
    if last is not None and last.buffered > 0 and total.element_s < MAX_CONSUMER_S:
        return SpeedLimit(
            "consumer",
            f"the loop that takes the elements: {last.name} had {last.buffered} ready for it",
        )
    return SpeedLimit(
        "unknown",
        f"neither a stage nor the cores: it uses {total.cores:.1f} of "
        f"{_format_cores(machine.cores)}",
    )


def _format_cores(count: float) -> str:
    shown = f"{count:.0f}" if count == round(count) else f"{count:.1f}"
    return f"{shown} core{'' if shown == '1' else 's'}"


@dataclass(frozen=True)
class AdviceFacts:
    """All that advice is drawn from.

    Args:
        elements: the length of a pass, where it is known.
        folder: of the images that the pipeline decodes.
        is_ours: `quickfit.data` made it, and has done so already.
    """

    total: TimeSpan
    stages: Sequence[StageFigures]
    machine: MachineUse
    memory: MemoryUse
    limit: SpeedLimit
    ideal: IdealSpeed
    first_s: float
    elements: int | None = None
    has_cache: bool = False
    folder: str | None = None
    step_s: float | None = None
    kind: str = "tf.data"
    is_ours: bool = False


def advise(facts: AdviceFacts) -> tuple[str, ...]:
    """Return what is worth trying, the most first."""
    if facts.step_s is not None and facts.total.element_s < 0.9 * facts.step_s:
        return ()  # the model is the limit: faster input would wait for it
    if facts.machine.is_contended(facts.total.cores):
        return ("measure again when the machine is free: what others use is missing here",)
    return tuple(_all_advice(facts))[:MAX_ADVICE]


def _all_advice(facts: AdviceFacts) -> Iterator[str]:
    yield from _advise_parallel_map(facts)
    yield from _advise_workers(facts)
    yield from _advise_cache(facts)
    yield from _advise_pack(facts)
    yield from _advise_shuffle(facts)


def _possible_gain(facts: AdviceFacts) -> float:
    return facts.total.element_s / facts.ideal.element_s if facts.ideal.element_s > 0 else 1.0


def _advise_parallel_map(facts: AdviceFacts) -> Iterator[str]:
    """A map that runs on one thread while cores are idle."""
    stage = next((one for one in facts.stages if one.name == facts.limit.stage), None)
    if stage is None or facts.limit.kind != "stage" or stage.parallelism > 1:
        return
    if (
        stage.runs_python
        or stage.kind not in ("map", "mapandbatch")
        or _possible_gain(facts) < MIN_GAIN_AT_ONCE
    ):
        return
    yield (
        f"num_parallel_calls=tf.data.AUTOTUNE in {stage.name}: it takes"
        f" {units.seconds(stage.period_s)} per {facts.total.unit} on one thread; the ideal is"
        f" {units.factor(_possible_gain(facts))} as fast"
    )


def _advise_workers(facts: AdviceFacts) -> Iterator[str]:
    """Python code on one core while others are idle."""
    stage = next((one for one in facts.stages if one.name == facts.limit.stage), None)
    is_python = facts.kind == "generator" or (stage is not None and stage.runs_python)
    is_worth = facts.total.element_s >= MIN_PYTHON_S and _possible_gain(facts) >= MIN_GAIN_AT_ONCE
    if not is_python or facts.is_ours or facts.limit.kind == "cores" or not is_worth:
        return
    yield (
        f"quickfit.data.generator(function, workers={max(round(facts.machine.cores), 1)}): Python"
        f" keeps {facts.total.cores:.1f} of {facts.machine.cores:g} cores busy; with all of them"
        f" one {facts.total.unit} would take {units.seconds(facts.ideal.element_s)} in place of"
        f" {units.seconds(facts.total.element_s)}"
    )


def _advise_cache(facts: AdviceFacts) -> Iterator[str]:
    """The last stage that is the same in every epoch, if all it makes fits in memory."""
    if facts.elements is None or facts.has_cache:
        return
    place = _cacheable_stage(facts.stages)
    if place is None or facts.memory.free_bytes is None:
        return
    stage = facts.stages[place]
    size = stage.element_bytes * stage.per_element * facts.elements
    saved = sum(one.share for one in facts.stages[: place + 1])
    gain = 1 / max(1 - saved, 0.01)
    if not 0 < size <= MAX_CACHE_SHARE * facts.memory.free_bytes or gain < 1.5:
        return
    yield (
        f".cache() after {stage.name}: {units.size(size)} of {units.size(facts.memory.free_bytes)}"
        f" free memory, and later epochs skip {units.share(saved)} of the work"
    )


def _cacheable_stage(stages: Sequence[StageFigures]) -> int | None:
    """Return the last stage behind which the elements are the same in every epoch."""
    found = None
    for place, stage in enumerate(stages):
        if stage.kind in _CHANGING or stage.is_random or stage.kind == "generator":
            return found
        if stage.kind in ("map", "mapandbatch", "interleave") and stage.is_random is False:
            found = place
    return found


def _advise_pack(facts: AdviceFacts) -> Iterator[str]:
    """Images that are decoded from their files again in every epoch."""
    most = max(facts.stages, key=lambda one: one.share, default=None)
    if facts.folder is None or facts.has_cache or most is None or most.share < MIN_PACK_SHARE:
        return
    yield (
        f"quickfit pack {facts.folder} {facts.folder}.pack --as jpeg256: {most.name} is"
        f" {units.share(most.share)} of the work, and a pack holds images that are made small"
        f" already. Then: quickfit bench {facts.folder}.pack"
    )


def _advise_shuffle(facts: AdviceFacts) -> Iterator[str]:
    """A shuffle that holds what was made at great cost."""
    if facts.first_s < max(MIN_FIRST_S, 5 * facts.total.element_s):
        return
    for place, stage in enumerate(facts.stages):
        before = facts.stages[:place]
        costly = max(before, key=lambda one: one.work_s, default=None)
        if stage.kind == "shuffle" and costly is not None and costly.share > 0.3:
            yield (
                f"shuffle before {costly.name}, where elements are small: filling the buffer"
                f" behind it takes {units.seconds(facts.first_s)} of every epoch"
            )
            return


def pass_length(known: int | None, passes: int, first_pass: TimeSpan | None) -> int | None:
    """Return how many elements a pass has, as counted or as the chain says."""
    return first_pass.elements if first_pass is not None and passes else known
