"""Tells what it is that memory grows by: the first of the known kinds that explains it.

One growth is one cause's: each kind is ruled out before the next is looked at, those whose bytes
are known first.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from quickfit.errors import SignalMissing
from quickfit.signals._facade import Signals
from quickfit.signals.device_memory import device_leak
from quickfit.signals.filling import element_growth, filling_cache, growing_buffers
from quickfit.signals.fit_calls import fit_calls
from quickfit.signals.holders import Holder, HolderGrowth, growing_holder
from quickfit.signals.kept_objects import kept
from quickfit.signals.kept_traces import grown_graph, kept_traces
from quickfit.signals.leaks import Leak, memory_leak, per_batch
from quickfit.signals.memory import memory_limit, time_left_s

# What explains at least half of a growth is what grows.
MIN_SHARE = 0.5
# Batches that got so much larger need more memory themselves.
MIN_LARGER = 1.2


def leak_with_kind(signals: Signals) -> Leak | None:
    """Return the memory that goes on growing, with what grows; None where none does.

    Where the memory of the process swings too much to tell, what a name of the script holds tells.

    Raises:
        SignalMissing: there are too few readings, and the script's names were not looked at.
    """
    held = growing_holder(signals)
    try:
        leak = memory_leak(signals)
    except SignalMissing:
        if held is None:
            raise
        leak = None
    if leak is None:
        return _of_holder(signals, *held) if held is not None else _of_device(signals)
    for kind, explains in _KINDS.items():
        if kind not in _MEASURED and not leak.is_asked:
            # An array made before fills its pages bit by bit.
            return None if held is None else _of_holder(signals, *held)
        try:
            if kind == "models" and held is not None and _explains(held[1], leak):
                return _with_holder(leak, *held)
            if explains(signals, leak):
                return dataclasses.replace(leak, kind=kind)
        except SignalMissing:
            continue  # not measured: it may still be another kind
    # A name whose growth is counted, though pools around it grow more, says more than none.
    return leak if held is None else _of_holder(signals, *held)


def _kind(holder: Holder) -> str:
    return {"tensors": "tensors", "variables": "variable"}.get(holder.content, "")


def _explains(grown: HolderGrowth, leak: Leak) -> bool:
    return grown.growth.per_s >= MIN_SHARE * leak.growth.per_s


def _with_holder(leak: Leak, holder: Holder, grown: HolderGrowth) -> Leak:
    return dataclasses.replace(
        leak, kind=_kind(holder), holder=holder, low=grown.low, high=grown.high
    )


def _of_holder(signals: Signals, holder: Holder, grown: HolderGrowth) -> Leak:
    """Return the growth of what a name holds."""
    limit, used = memory_limit(signals.process)
    each = signals.steps_per_execution
    return Leak(
        growth=per_batch(grown.growth, signals),
        asked=None,
        limit_bytes=limit,
        in_s=time_left_s(grown.growth.per_s, limit, used),
        begin_s=holder.looks[0][0],
        kind=_kind(holder),
        holder=holder,
        process_bytes=grown.process_bytes,
        low=grown.low / each,
        high=grown.high / each,
    )


def _of_device(signals: Signals) -> Leak | None:
    """Return a growth of a GPU's memory by tensors that are kept; nothing else is told there."""
    leak = device_leak(signals)
    is_kept = leak is not None and kept(signals, "tensors") is not None
    return dataclasses.replace(leak, kind="tensors") if leak is not None and is_kept else None


def _is_data(signals: Signals, leak: Leak) -> bool:
    return (element_growth(signals) or 1.0) >= MIN_LARGER


def _is_cache(signals: Signals, leak: Leak) -> bool:
    cache = filling_cache(signals)
    grown = cache.growth if cache is not None else None
    return grown is not None and grown.per_s >= MIN_SHARE * leak.growth.per_s


def _is_buffers(signals: Signals, leak: Leak) -> bool:
    buffers = growing_buffers(signals)
    return buffers is not None and buffers.growth.per_s >= MIN_SHARE * leak.growth.per_s


def _is_models(signals: Signals, leak: Leak) -> bool:
    """Tell whether models are built in a loop: then all else grows with them."""
    calls = fit_calls(signals)
    return calls is not None and calls.calls > 1 and calls.models > 1


def _is_traces(signals: Signals, leak: Leak) -> bool:
    return kept_traces(signals, leak) is not None


def _is_tensors(signals: Signals, leak: Leak) -> bool:
    return kept(signals, "tensors") is not None


def _is_graph(signals: Signals, leak: Leak) -> bool:
    return grown_graph(signals) is not None


# Their bytes are known; allocators may ask for memory in ever larger lumps.
_MEASURED = ("data", "cache", "buffers")
_KINDS: dict[str, Callable[[Signals, Leak], bool]] = {
    "data": _is_data,
    "cache": _is_cache,
    "buffers": _is_buffers,
    "models": _is_models,
    "traces": _is_traces,
    "tensors": _is_tensors,
    "graph": _is_graph,
}
