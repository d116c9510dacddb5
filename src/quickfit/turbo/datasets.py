"""Gives a loop a faster dataset of the same elements in the same order, pass by pass.

Every eager pass through a dataset, of `fit`, `evaluate`, `predict` or a `for` of the script, asks
the dataset for itself right before its iterator is made. There the rewritten one takes its place.
How it is rewritten is decided in `quickfit.data.acceleration.exact`; here is decided when it is
used.
"""

from __future__ import annotations

import functools
import os
import sys
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any

from quickfit import capacity
from quickfit.probes import tf_data_chain
from quickfit.probes._frame_locals import read_locals
from quickfit.probes._hooks import notice_calls, now, replace_calls
from quickfit.probes._places import Place, user_place
from quickfit.standard import standard
from quickfit.turbo import endings, ledger
from quickfit.turbo.guard import choosing, same_op_seeds
from quickfit.turbo.turns import PassTurns

DATASETS = "tensorflow.python.data.ops.dataset_ops"
ITERATORS = "tensorflow.python.data.ops.iterator_ops"
SHUFFLES = "tensorflow.python.data.ops.shuffle_op"
TRAINER = "keras.src.backend.tensorflow.trainer"
# Elements are kept in memory if they take at most this part of what is free.
MAX_MEMORY_SHARE = 0.25
# Files looked at before every pass: 0.5 s for as many.
MAX_FILES = 100_000
# A pass of fewer steps says nothing about their speed.
MIN_STEPS = 4
_SAMPLED = 2
_INFINITE, _UNKNOWN = -1, -2
_MEMORY = Path("/proc/meminfo")
# What Keras makes a dataset of by itself, and why it is left alone.
_ADAPTERS = {
    "GeneratorDataAdapter": ("a generator", "a Python generator makes its batches"),
    "PyDatasetAdapter": ("a PyDataset", "Python makes its batches"),
    "TorchDataLoaderAdapter": ("a DataLoader", "Python makes its batches"),
}
_busy = threading.local()


def module_patches() -> dict[str, list[Any]]:
    """Return what to patch after which import."""
    return {
        DATASETS: [_patch_datasets],
        ITERATORS: [_patch_iterators],
        SHUFFLES: [_patch_shuffles],
        TRAINER: [_patch_trainer],
    }


def _patch_datasets(module: ModuleType) -> None:
    replace_calls(module.DatasetV2, "_apply_debug_options", choosing(_choose_dataset))


def _patch_iterators(module: ModuleType) -> None:
    notice_calls(module.OwnedIterator, "__next__", choosing(_note_next))


def _patch_trainer(module: ModuleType) -> None:
    notice_calls(module.TFEpochIterator, "__next__", choosing(_note_step))


def _patch_shuffles(module: ModuleType) -> None:
    module.gen_dataset_ops = _ShuffleOps(module.gen_dataset_ops)  # type: ignore[attr-defined]


class _ShuffleOps:
    """`gen_dataset_ops` for `shuffle` alone, whose seeds it keeps where another can draw from.

    TensorFlow hides the state of a reshuffling `shuffle` in its operation. With a generator of
    seeds of its own, which gives the same seeds, a rewritten one goes on where the script's is.
    """

    def __init__(self, original: Any) -> None:
        self.original = original

    def __getattr__(self, name: str) -> Any:
        if name == "dummy_seed_generator":
            generator = choosing(self._own_generator)(sys._getframe(1))
            if generator is not None:
                return functools.partial(_give, generator)
        return getattr(self.original, name)

    def _own_generator(self, frame: FrameType) -> Any:
        shuffle = read_locals(frame).get("self")
        if shuffle is None or not _is_eager():
            return None
        reshuffles = shuffle._reshuffle_each_iteration is not False
        made = self.original.anonymous_seed_generator(shuffle._seed, shuffle._seed2, reshuffles)
        shuffle._quickfit_seeds, shuffle._quickfit_seeds_owner = made
        return shuffle._quickfit_seeds


def _give(value: Any) -> Any:
    return value


class _Plan:
    """What is done with one dataset of the script."""

    def __init__(self, rewriting: Any, entry: ledger.Entry | None, *, ends_unseen: bool) -> None:
        self.rewriting = rewriting  # an `ExactRewrite`; None: left alone
        self.entry = entry
        self.ends_unseen = ends_unseen
        self.turns = PassTurns()
        # The moments at which a step of the pass under way began.
        self.stamps: list[float] = []
        self.is_on = False
        self.files: list[Any] = []
        self.is_size_known = True

    def settle(self) -> None:
        """Count the pass that is over, if it was long enough."""
        steps = sorted(b - a for a, b in zip(self.stamps, self.stamps[1:], strict=False))
        self.stamps = []
        if self.rewriting is None or len(steps) < MIN_STEPS:
            return
        # The longest ones trace, or lie between two passes.
        usual = steps[: -2 if len(steps) >= 2 * MIN_STEPS else -1]
        step_s = sum(usual) / len(usual)
        seconds = sum(steps)
        self.turns.add_pass(is_on=self.is_on, step_s=step_s, steps=len(steps), seconds=seconds)
        if not self.is_size_known and not self._fits(len(steps) + 1):
            return
        if self.turns.is_faster is False:
            self.rewriting = None  # and what it keeps in memory
        if self.entry is not None:
            ledger.write_entry(self.entry)

    def _fits(self, steps: int) -> bool:
        """Tell whether a dataset of unknown length, now known, fits in memory."""
        self.is_size_known = True
        with _being_busy():
            reason = _why_too_large(self.rewriting.kept, steps * self.rewriting.per_step)
        if reason is not None and self.entry is not None:
            self.rewriting, self.entry.reason = None, reason
            ledger.write_entry(self.entry)
        return reason is None

    def begin(self) -> Any:
        """Begin a pass; return the dataset to use instead of the script's, or None."""
        self.settle()
        self.is_on = self.rewriting is not None and self.turns.next_is_on()
        if self.is_on and self.rewriting.files and self.files != _states(self.rewriting.files):
            self.rewriting, self.is_on = None, False
            if self.entry is not None:
                self.entry.reason = "files that it reads changed between two passes"
                ledger.write_entry(self.entry)
        return self.rewriting.dataset if self.is_on else None


_plans: weakref.WeakKeyDictionary[Any, _Plan] = weakref.WeakKeyDictionary()


def settle_passes() -> None:
    """Count what has ended, for the last row of the recording."""
    for plan in list(_plans.values()):
        plan.settle()


def _choose_dataset(dataset: Any, frame: FrameType) -> Any:
    if getattr(_busy, "is_busy", False) or frame.f_code.co_name != "_create_iterator":
        return None
    if frame.f_globals.get("__name__") != ITERATORS or not _is_eager():
        return None
    plan = _plans.get(dataset)
    if plan is None:
        with _being_busy(), same_op_seeds():
            plan = _plans[dataset] = _new_plan(dataset, frame)
    iterator = read_locals(frame).get("self")
    endings.take_over_ends()
    if plan.ends_unseen:
        endings.await_resource(iterator, user_place(frame))
    chosen = plan.begin()
    if plan.rewriting is not None and iterator is not None:
        iterator._quickfit_plan = weakref.ref(plan)
    return None if chosen is None else functools.partial(_give, chosen)


@contextmanager
def _being_busy() -> Iterator[None]:
    _busy.is_busy = True
    try:
        yield
    finally:
        _busy.is_busy = False


def _note_next(iterator: Any) -> None:
    reference = vars(iterator).get("_quickfit_plan")
    plan = reference() if reference is not None else None
    if plan is not None:
        plan.stamps.append(now())
    endings.take_over_ends()


def _note_step(epoch_iterator: Any) -> None:
    plan = _plans.get(vars(epoch_iterator).get("_distributed_dataset"))
    if plan is not None:
        plan.stamps.append(now())
    endings.take_over_ends()


def _new_plan(dataset: Any, frame: FrameType) -> _Plan:
    adapter = _adapter_around(frame)
    place = user_place(frame)
    if adapter == "ArrayDataAdapter":
        return _Plan(None, None, ends_unseen=True)
    if adapter in _ADAPTERS:
        _leave(place, *_ADAPTERS[adapter])
        return _Plan(None, None, ends_unseen=False)
    standard("statistics")  # the only module that is loaded now and was not by TensorFlow
    from quickfit.data.acceleration import exact

    ends_unseen = exact.ends_unseen(dataset)
    found = exact.keep_in_memory(dataset)
    count = int(found.kept.cardinality()) if found.dataset is not None else 0
    place = tf_data_chain.written_place(found.stage.dataset) or place
    reason = found.reason or _why_not_kept(found, count)
    if reason:
        _leave(place, f"`{found.stage.label}`", reason)
        return _Plan(None, None, ends_unseen=ends_unseen)
    for made, origin in found.origins:
        tf_data_chain.note_origin(made, origin)
    entry = ledger.Entry("dataset", place, found.what, cause=found.cause, unit="step")
    plan = _Plan(found, entry, ends_unseen=ends_unseen)
    plan.is_size_known = count != _UNKNOWN  # else it is after a first pass without it
    # A pass that is the only one would fill the memory for nothing.
    plan.turns.starts_on = plan.is_size_known and not _is_only_epoch(frame)
    plan.files = _states(found.files)
    entry.turns = plan.turns
    ledger.entry_of(("dataset", place, found.what, id(plan)), entry)
    return plan


def _leave(place: Place | None, what: str, reason: str) -> None:
    ledger.entry_of(("left", place, what), ledger.Entry("dataset", place, what, reason))


def _adapter_around(frame: FrameType) -> str:
    """Return the class of Keras's data adapter whose dataset is iterated; empty: no such."""
    outer: FrameType | None = frame
    for _ in range(8):
        outer = outer.f_back if outer is not None else None
        if outer is not None and outer.f_code.co_name == "_enumerate_iterator":
            return type(getattr(read_locals(outer).get("self"), "data_adapter", None)).__name__
    return ""


def _is_only_epoch(frame: FrameType) -> bool:
    """Tell whether the pass belongs to a `fit` of one epoch."""
    outer: FrameType | None = frame
    for _ in range(8):
        outer = outer.f_back if outer is not None else None
        if (
            outer is not None
            and outer.f_code.co_name == "fit"
            and "epochs" in outer.f_code.co_varnames
        ):
            known = read_locals(outer)
            return bool(known.get("epochs") == known.get("initial_epoch", 0) + 1)
    return False


def _why_not_kept(found: Any, count: int) -> str:
    """Return why what could be kept in memory is not; empty: it is."""
    if len(found.files) > MAX_FILES:
        return f"it reads more than {MAX_FILES:,} files, which may change"
    return (_why_too_large(found.kept, count) or "") if count != _UNKNOWN else ""


def _why_too_large(kept: Any, count: int) -> str | None:
    """Return why elements are not kept in memory; None: they fit."""
    if count == _INFINITE:
        return "it has no end"
    size = _element_bytes(kept) * count
    free = min([_free_bytes(), *capacity.free_in_groups(capacity.GROUPS, _own_groups())])
    if size > MAX_MEMORY_SHARE * free:
        return f"its {count:,} elements of {size / count / 1e6:.1f} MB do not fit in memory"
    return None


def _element_bytes(kept: Any) -> float:
    """Return the size of an element: of its shape, or of the first ones."""
    specs = sys.modules[DATASETS].nest.flatten(kept.element_spec)
    counts = [getattr(spec, "shape", None) for spec in specs]
    if all(shape is not None and shape.num_elements() is not None for shape in counts) and all(
        spec.dtype.name != "string" for spec in specs
    ):
        return float(sum(spec.shape.num_elements() * spec.dtype.size for spec in specs))
    sizes = []
    for element, _ in zip(iter(kept), range(_SAMPLED), strict=False):
        sizes.append(sum(map(_tensor_bytes, sys.modules[DATASETS].nest.flatten(element))))
    return max(sizes, default=0.0)


def _tensor_bytes(value: Any) -> float:
    if hasattr(value, "flat_values"):  # ragged
        return _tensor_bytes(value.flat_values)
    if hasattr(value, "values"):  # sparse
        return _tensor_bytes(value.values) * 3
    array = value.numpy()
    if isinstance(array, bytes):
        return len(array)
    if array.dtype.kind == "O":
        return float(sum(len(text) for text in array.reshape(-1)))
    return float(array.nbytes)


def _free_bytes() -> float:
    for line in _MEMORY.read_text().splitlines():
        if line.startswith("MemAvailable:"):
            return float(line.split()[1]) * 1024
    return 0.0


def _own_groups() -> str:
    own = Path("/proc/self/cgroup")
    return own.read_text(errors="replace") if own.exists() else ""


def _states(files: tuple[str, ...]) -> list[Any]:
    """Return what tells whether files have changed."""
    found: list[Any] = []
    for file in files:
        try:
            state = os.stat(file)
            found.append((state.st_mtime_ns, state.st_size, state.st_ino))
        except OSError:
            found.append(None)
    return found


def _is_eager() -> bool:
    return bool(sys.modules["tensorflow.python.eager.context"].executing_eagerly())
