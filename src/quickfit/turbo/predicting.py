"""Gives `model.predict` of one batch its tensors, instead of a pipeline built for one batch.

Keras builds a dataset of seven stages, traces its three functions and makes two iterators for
every call of `predict`, also for one row. Everything else of `predict` stays Keras's own: its
compiled function, its callbacks and progress bar, the way outputs are put together.
"""

from __future__ import annotations

import functools
import sys
import weakref
from collections import deque
from collections.abc import Iterator
from threading import get_ident
from types import FrameType, ModuleType
from typing import Any

from quickfit.probes._frame_locals import read_locals
from quickfit.probes._hooks import now, replace_calls, stamper
from quickfit.probes._places import user_place
from quickfit.turbo import ledger
from quickfit.turbo.guard import choosing
from quickfit.turbo.turns import CallTurns

ADAPTER = "keras.src.trainers.data_adapters.array_data_adapter"
_SLICING = "keras.src.trainers.data_adapters.array_slicing"
_TREE = "keras.src.tree"
_OPS = "tensorflow.python.framework.ops"
# Numbers and truth values; texts and objects are converted in ways of their own.
_KINDS = "fiub"
# Calls of one place between two rows of the recording.
_WRITE_EVERY = 64


class OneBatch:
    """Stands where Keras expects a dataset: every pass gives the same one element."""

    def __init__(self, element: Any) -> None:  # tensors in any structure
        self.element = element

    def __iter__(self) -> Iterator[Any]:
        return iter((self.element,))


class _Site:
    """The calls of `predict` in one line, on one thread."""

    def __init__(self, entry: ledger.Entry, turns: CallTurns) -> None:
        self.entry = entry
        self.turns = turns
        self.ends: deque[float] = deque()
        self.note_end = stamper(self.ends, now)
        # The way of the call under way, when it began, and what notes its end.
        self.begun: tuple[bool, float, Any] | None = None

    def settle(self) -> None:
        """Count the last call, if its end was seen."""
        if self.begun is not None and len(self.ends) == 1:
            is_on, began_s, _ = self.begun
            self.turns.add_call(self.ends[0] - began_s, is_on=is_on)
        self.begun = None
        self.ends.clear()

    def begin(self, epoch_iterator: Any) -> bool:
        """Begin a call; return whether it is one of the new way."""
        self.settle()
        if self.turns.calls % _WRITE_EVERY == 0:
            ledger.write_entry(self.entry)
        is_on = self.turns.next_is_on()
        # Keras drops its epoch iterator when `predict` returns.
        self.begun = (is_on, now(), weakref.ref(epoch_iterator, self.note_end))
        return is_on


_sites: dict[tuple[int, str, int], _Site] = {}


def patch_adapter(module: ModuleType) -> None:
    """Decide for every dataset that Keras builds of arrays."""
    replace_calls(module.ArrayDataAdapter, "get_tf_dataset", choosing(_choose))


def settle_calls() -> None:
    """Count what has ended, for the last row of the recording."""
    for site in _sites.values():
        site.settle()


def _choose(adapter: Any, frame: FrameType) -> Any:
    caller = frame.f_back
    if caller is None or caller.f_code.co_name != "predict" or not _is_keras(caller):
        return None
    place = user_place(caller)
    if place is None:
        return None
    epoch_iterator = read_locals(frame).get("self")
    key = (get_ident(), place.file, place.line)
    reason = _reason_against(adapter, epoch_iterator)
    if reason is not None:
        what = "`predict`"
        ledger.entry_of((*key, reason), ledger.Entry("predict", place, what, reason))
        return None
    site = _sites.get(key)
    if site is None:
        what = "`predict` of one batch without a pipeline"
        turns = CallTurns()
        entry = ledger.Entry("predict", place, what, cause="predict-in-loop", turns=turns)
        site = _sites[key] = _Site(ledger.entry_of(key, entry), turns)
    return functools.partial(OneBatch, _element(adapter)) if site.begin(epoch_iterator) else None


def _is_keras(frame: FrameType) -> bool:
    return str(frame.f_globals.get("__name__", "")).startswith("keras.")


def _reason_against(adapter: Any, epoch_iterator: Any) -> str | None:
    """Return why a call takes the old way for certain; None: nothing speaks against the new one."""
    if adapter._size != 1:
        return "it predicts more than one batch, which a pipeline is right for"
    if adapter._shuffle or epoch_iterator is None or epoch_iterator.steps_per_epoch:
        return "it is called with `steps`"
    if epoch_iterator.steps_per_execution != 1:
        return "the model was compiled with `steps_per_execution`"
    strategy = epoch_iterator._distribute_strategy
    if type(strategy).__name__ != "_DefaultDistributionStrategy":
        return "the model is distributed"
    if not _is_eager():
        return "it is called while a graph is built"
    if not all(map(_is_plain, _flat(adapter._inputs))):
        return "its input is not a NumPy array or a tensor of numbers"
    return None


def _flat(inputs: Any) -> list[Any]:
    flat: list[Any] = sys.modules[_TREE].flatten(inputs)
    return flat


def _is_plain(value: Any) -> bool:
    if type(value).__name__ == "EagerTensor":
        return bool(value.dtype.is_floating or value.dtype.is_integer or value.dtype.is_bool)
    return type(value).__module__ == "numpy" and getattr(value.dtype, "kind", "") in _KINDS


def _is_eager() -> bool:
    return bool(sys.modules["tensorflow.python.eager.context"].executing_eagerly())


def _element(adapter: Any) -> Any:
    """Return what the pipeline would give: Keras's own conversion, on the host as there."""
    tree, ops = sys.modules[_TREE], sys.modules[_OPS]
    arrays = sys.modules[_SLICING].convert_to_sliceable(
        adapter._inputs, target_backend="tensorflow"
    )
    with ops.device("/device:CPU:0"):
        return tree.map_structure(ops.convert_to_tensor, tree.lists_to_tuples(arrays))
