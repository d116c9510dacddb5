"""What each stage costs per element, with the names that the user knows.

tf.data counts the work of every stage while it runs. Stages that an `interleave` makes many times
over are told as one, and the two that carry a `from_generator` as well.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from quickfit.data.speed.figures import Stage
from quickfit.data.speed.taking import Pass
from quickfit.pipeline_model.ended import with_ended_nodes
from quickfit.pipeline_model.match import match
from quickfit.pipeline_model.operations import Operation
from quickfit.pipeline_model.stages import StageCost, stage_costs

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


@dataclass
class _Row:
    """A stage of the table while it is put together from its nodes."""

    costs: list[StageCost]
    carried: list[Operation]
    parent: _Row | None
    is_made: bool
    periods: list[float] = field(default_factory=list)

    @property
    def kind(self) -> str:
        return self.costs[0].kind


def stages_of(
    passes: Sequence[Pass], operations: Mapping[int, Operation], top: int
) -> tuple[Stage, ...]:
    """Return the stages from the sources to the consumer; none where nothing was seen."""
    measured = [costs for costs in map(_costs, passes) if costs]
    if not measured:
        return ()
    # The pass that was seen best; of many short ones each is a sample.
    costs = max(measured, key=lambda found: (len(found), found[0].node.elements))
    rows = _rows(costs, match(costs, operations, top))
    own = [row for row in rows if row.kind != _ROOT]
    total_s = sum(cost.work_s for row in own for cost in row.costs)
    return tuple(reversed([_stage(row, total_s) for row in own]))


def _costs(one: Pass) -> list[StageCost]:
    """Return the cost of each node in what was counted of a pass."""
    if not one.looks:
        return []
    begin, last = one.begin, one.looks[-1]
    if begin is not None and len(last.nodes) >= len(begin.nodes):
        return stage_costs(begin, last)
    return stage_costs(None, with_ended_nodes(one.looks))


def _rows(costs: list[StageCost], carried: Mapping[int, list[Operation]]) -> list[_Row]:
    """Put nodes together that are one stage to the user."""
    by_node: dict[int, _Row] = {}
    rows: list[_Row] = []
    periods = group_periods(costs)
    by_number = {cost.node.id: cost for cost in costs}
    parents = {child: cost for cost in costs for child in cost.node.inputs}
    for cost in costs:  # each after the one it feeds
        above = parents.get(cost.node.id)
        parent = by_node.get(above.node.id) if above is not None else None
        own = carried.get(cost.node.id) or []
        is_made = _is_made(cost, above, by_number)
        row = _like(rows, cost, parent, own) if parent is not None else None
        if row is None:
            row = _Row([], own, parent, is_made)
            rows.append(row)
        row.costs.append(cost)
        row.periods.append(periods[cost.node.id])
        by_node[cost.node.id] = row
    return rows


def _is_made(cost: StageCost, above: StageCost | None, known: Mapping[int, StageCost]) -> bool:
    """Tell whether a node is of a dataset that the function of a stage made."""
    if above is None or above.kind not in _MAKERS:
        return False
    there = [number for number in above.node.inputs if number in known]
    return cost.node.id in there[1:]


def _is_generator(row: _Row | None) -> bool:
    return row is not None and any(one.facts.get("from_generator") for one in row.carried)


def _like(rows: list[_Row], cost: StageCost, parent: _Row, carried: list[Operation]) -> _Row | None:
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


def _stage(row: _Row, total_s: float) -> Stage:
    first, work_s = row.costs[0], sum(cost.work_s for cost in row.costs)
    made = [cost for cost in row.costs if cost.node.elements]
    functions = [one for one in row.carried if "function" in one.facts]
    random = [bool(one.facts["is_stateful"]) for one in functions if "is_stateful" in one.facts]
    elements = sum(cost.node.elements for cost in made)
    return Stage(
        name=_name(row),
        kind="generator" if _is_generator(row) else row.kind,
        work_s=work_s,
        share=work_s / total_s if total_s > 0 else 0.0,
        parallelism=max(cost.parallelism for cost in row.costs),
        period_s=max(row.periods),
        per_element=first.per_output if not row.is_made else _per_output(row),
        element_bytes=sum(cost.node.bytes_out for cost in made) / elements if elements else 0.0,
        buffered=sum(cost.node.buffered for cost in row.costs),
        buffer=first.node.buffer,
        is_injected=not row.carried and not _is_below_maker(row),
        runs_python=any(bool(one.facts.get("runs_python")) for one in functions)
        or _is_generator(row),
        is_random=any(random) if random else None,
        place=_place(functions),
    )


def _per_output(row: _Row) -> float:
    return sum(cost.per_output for cost in row.costs)


def _is_below_maker(row: _Row) -> bool:
    """Tell whether a stage was made by a function, so that no chain shows who wrote it."""
    above: _Row | None = row
    while above is not None:
        if above.is_made:
            return True
        above = above.parent
    return False


def _name(row: _Row) -> str:
    carried = [one for one in row.carried if not one.does_nothing]
    if _is_generator(row):
        return f"from_generator({_function(carried[0]) if carried else ''})"
    # The operations of a stage come from the consumer's side; code reads the other way.
    names = [_operation(one) for one in reversed(carried)]
    kind = row.kind.partition("/")[0]  # a reader of a snapshot has a number behind it
    return " + ".join(dict.fromkeys(names)) if names else _WORDS.get(kind, kind)


def _operation(one: Operation) -> str:
    word = _WORDS.get(one.kind, one.kind)
    if "function" in one.facts:
        return f"{word}({_function(one)})"
    number = one.facts.get(_NUMBERS.get(one.kind, ""))
    return f"{word}({number})" if number is not None and number > 0 else word


def _function(one: Operation) -> str:
    name = str(one.facts.get("function", "")).removesuffix("V2")
    return "lambda" if name == "<lambda>" else name


def _place(functions: Sequence[Operation]) -> str | None:
    for one in functions:
        if one.file and one.line:
            return f"{os.path.basename(one.file)}:{one.line}"
    return None
