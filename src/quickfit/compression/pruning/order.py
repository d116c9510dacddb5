"""In which order layers are refitted: each after all those that its inputs come through."""

from quickfit.compression.graph import Call, Graph
from quickfit.compression.pruning import kinds
from quickfit.compression.pruning.choosing import Plan
from quickfit.compression.pruning.cutting import is_changed


def refit_order(plan: Plan) -> tuple[list[list[Call]], list[str]]:
    """Return the layers to refit, as all calls of each, and the names of those that cannot be.

    A layer that reads its own results, through whatever lies between, cannot be: with new weights
    its inputs would be others.
    """
    graph = plan.trace.graph
    before = _layers_before(graph)
    needs = {key: _needs(graph, key, before) for key in plan.trace.made if key in plan.trace.read}
    changed = {id(call.layer) for call in graph.calls if is_changed(plan, call)}
    wanted = {key: some for key, some in needs.items() if some & changed}
    looping = {key for key in wanted if key in wanted[key]}
    order: list[int] = []
    while len(order) < len(wanted) - len(looping):
        open_ = wanted.keys() - looping - set(order)
        order.extend(key for key in wanted if key in open_ and not wanted[key] & open_)
    calls = {id(call.layer): graph.calls_of(call.layer) for call in graph.calls}
    return [calls[key] for key in order], [calls[key][0].name for key in wanted if key in looping]


def _needs(graph: Graph, key: int, before: dict[int, frozenset[int]]) -> frozenset[int]:
    """Return the layers that a layer's inputs come through."""
    calls = [call for call in graph.calls if id(call.layer) == key]
    return frozenset().union(*(before[tensor] for call in calls for tensor in call.inputs))


def _layers_before(graph: Graph) -> dict[int, frozenset[int]]:
    """Return the layers with weights that each tensor comes through."""
    before: dict[int, frozenset[int]] = {tensor: frozenset() for tensor in graph.inputs}
    for call in graph.calls:
        through = frozenset().union(*(before[tensor] for tensor in call.inputs))
        if kinds.is_layer(call.layer) and call.layer.weights:
            through |= {id(call.layer)}
        before.update(dict.fromkeys(call.outputs, through))
    return before


def same_tensors(graph: Graph, other: Graph) -> dict[int, int]:
    """Return for each tensor of a graph its number in the graph of a model made from it.

    Results that nobody uses are missing there.
    """
    numbers = dict(zip(graph.inputs, other.inputs, strict=True))
    for call in graph.calls:
        inputs = tuple(numbers.get(tensor, -1) for tensor in call.inputs)
        for twin in other.calls:
            if twin.name == call.name and twin.inputs == inputs:
                numbers.update(zip(call.outputs, twin.outputs, strict=True))
    return numbers
