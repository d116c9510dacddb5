"""Has the ends of a script's iterators waited for on another thread (`data.iterator_ends`).

Not for pipelines that run Python or write a file: their end is something that the script may see.
The pipeline keeps its model, so the diagnosis loses nothing; and how long the script would have
waited is measured where it is waited.
"""

from __future__ import annotations

import sys
import weakref
from types import FrameType, ModuleType
from typing import Any

from quickfit.probes._frame_locals import read_locals
from quickfit.probes._hooks import notice_calls, replace_calls
from quickfit.probes._places import Place, user_place
from quickfit.standard import standard
from quickfit.turbo import ledger
from quickfit.turbo.guard import choosing, same_op_seeds

DATASETS = "tensorflow.python.data.ops.dataset_ops"
ITERATORS = "tensorflow.python.data.ops.iterator_ops"
TRAINER = "keras.src.backend.tensorflow.trainer"
_WHAT = "the ends of iterators waited for on another thread"
# What Keras makes a dataset of by itself, and why it is left alone.
_ADAPTERS = {
    "GeneratorDataAdapter": ("a generator", "a Python generator makes its batches"),
    "PyDatasetAdapter": ("a PyDataset", "Python makes its batches"),
    "TorchDataLoaderAdapter": ("a DataLoader", "Python makes its batches"),
}
# Whether the end of a pass through a dataset does nothing that the script could see.
_ends_unseen: weakref.WeakKeyDictionary[Any, bool] = weakref.WeakKeyDictionary()
# Iterators that had no resource yet when they were noticed.
_young: list[tuple[weakref.ref[Any], ledger.Entry]] = []


def module_patches() -> dict[str, list[Any]]:
    """Return what to patch after which import."""
    return {
        DATASETS: [_patch_datasets],
        ITERATORS: [_patch_iterators],
        TRAINER: [_patch_trainer],
    }


def _patch_datasets(module: ModuleType) -> None:
    # Every eager iterator asks its dataset for this right before it is made.
    replace_calls(module.DatasetV2, "_apply_debug_options", choosing(_note_iterator))


def _patch_iterators(module: ModuleType) -> None:
    notice_calls(module.OwnedIterator, "__next__", choosing(_take_over_ends))


def _patch_trainer(module: ModuleType) -> None:
    notice_calls(module.TFEpochIterator, "__next__", choosing(_take_over_ends))


def _note_iterator(dataset: Any, frame: FrameType) -> None:
    """Remember an iterator that is being made; nothing is replaced."""
    if frame.f_code.co_name != "_create_iterator" or frame.f_globals.get("__name__") != ITERATORS:
        return
    if not sys.modules["tensorflow.python.eager.context"].executing_eagerly():
        return
    place = user_place(frame)
    is_unseen = _ends_unseen.get(dataset)
    if is_unseen is None:
        with same_op_seeds():
            is_unseen = _ends_unseen[dataset] = _is_end_unseen(dataset, frame, place)
    _take_over_ends()
    iterator = read_locals(frame).get("self")
    if is_unseen and iterator is not None:
        entry = ledger.Entry("iterator-end", place, _WHAT, unit="iterator")
        _young.append((weakref.ref(iterator), ledger.entry_of(("end", place), entry)))


def _is_end_unseen(dataset: Any, frame: FrameType, place: Place | None) -> bool:
    adapter = _adapter_around(frame)
    if adapter == "ArrayDataAdapter":
        return True
    if adapter in _ADAPTERS:
        what, reason = _ADAPTERS[adapter]
        left = ledger.Entry("iterator-end", place, what, reason)
        ledger.entry_of(("left", place, what), left)
        return False
    standard("statistics")  # the only module that is loaded now and was not by TensorFlow
    from quickfit.data.acceleration.stages import all_stages, read_stages

    return all(stage.traits.is_runnable for stage in all_stages(read_stages(dataset)))


def _take_over_ends(*_: object) -> None:
    """Take over the ends of the iterators that are there now; at a script's next step they are."""
    if not _young:
        return
    from quickfit.data.iterator_ends import end_aside

    while _young:
        try:
            reference, entry = _young.pop()
        except IndexError:  # another thread was faster
            return
        iterator = reference()
        if iterator is not None:
            end_aside(iterator, entry.add_wait)


def _adapter_around(frame: FrameType) -> str:
    """Return the class of Keras's data adapter whose dataset is iterated; empty: no such."""
    outer: FrameType | None = frame
    for _ in range(8):
        outer = outer.f_back if outer is not None else None
        if outer is not None and outer.f_code.co_name == "_enumerate_iterator":
            return type(getattr(read_locals(outer).get("self"), "data_adapter", None)).__name__
    return ""
