"""Notes what `fit` works on once its first step is over: types and shapes of a batch, its labels.

Labels are followed through the graph of the compiled step, so that a loss which broadcasts them
against the predictions is seen where it happens, whoever wrote the loss.
"""

from __future__ import annotations

import contextlib
import operator
import sys
from collections.abc import Iterator
from types import FrameType
from typing import Any

from quickfit.probes import _private
from quickfit.probes._frame_locals import read_locals
from quickfit.probes._label_uses import first_broadcast, shape_of, size_of
from quickfit.probes._state import State

TRAINER = "keras.src.backend.tensorflow.trainer"
FUNCTIONS = "tensorflow.python.eager.polymorphic_function.polymorphic_function"
# Parts of a batch that are written down.
MAX_PARTS = 16
ROLES = ("input", "label", "weight")
# What a PyDataset calls the size of its batches.
_BATCH_ATTRIBUTES = ("batch_size", "_batch_size", "batch", "batchsize")
_GIVEN = ("steps_per_epoch", "validation_freq", "validation_steps", "validation_batch_size")


def note(model: Any, frame: FrameType | None, facts: dict[str, Any], state: State) -> None:
    """Add what is known of a call of `fit` to the facts of its loop.

    Args:
        model: what is trained.
        frame: the frame of Keras's `fit`.
        facts: of the loop; keys that cannot be told stay away.
        state: of this process.
    """
    if frame is None or not _are_names_there(state):
        return
    given = read_locals(frame)
    facts.update({name: v for name in _GIVEN if (v := _whole(given.get(name))) is not None})
    # Each by itself: an odd model or dataset may lack any of them.
    with contextlib.suppress(Exception):
        facts["data_batches"] = _whole(given["epoch_iterator"].data_adapter.num_batches)
    with contextlib.suppress(Exception):
        facts["batch"] = _parts(given["epoch_iterator"]._distributed_dataset.element_spec)
    with contextlib.suppress(Exception):
        facts["batch_examples"] = _examples(given["epoch_iterator"].data_adapter)
    with contextlib.suppress(Exception):
        largest = max(model.trainable_variables, key=lambda variable: size_of(variable.shape))
        facts["variable_dtype"] = str(largest.dtype)
    with contextlib.suppress(Exception):
        seen = first_broadcast(_labels(model.train_function), state)
        if seen is not None:
            facts["labels_broadcast"] = seen


def _are_names_there(state: State) -> bool:
    """Record once whether the private names are where they were."""
    if "fit_shapes" not in state.kept:
        hooks = [
            hook
            for name in _private.NAMES["fit_shapes"]
            if (module := sys.modules.get(name)) is not None
            for hook in _private.hooks_of("fit_shapes", module)
        ]
        state.hooks.update({(hook.probe, hook.name): hook for hook in hooks})
        state.kept["fit_shapes"] = all(hook.state == "active" for hook in hooks)
    return bool(state.kept["fit_shapes"])


def _whole(value: Any) -> int | None:
    """Return a count; None for what is none, such as a list, or data that does not end."""
    try:
        count = operator.index(value)
    except TypeError:
        return None
    return count if count >= 0 else None


def _parts(spec: Any) -> list[list[Any]]:
    """Return role, type and shape of every tensor of a batch."""
    parts = spec if isinstance(spec, tuple) else (spec,)
    found = [
        [role, leaf.dtype.name, shape_of(leaf.shape)]
        for role, part in zip(ROLES, parts, strict=False)
        for leaf in _leaves(part)
    ]
    return found[:MAX_PARTS]


def _leaves(part: Any) -> Iterator[Any]:
    """Yield the tensors of a nested structure in TensorFlow's order."""
    if isinstance(part, dict):
        for key in sorted(part):
            yield from _leaves(part[key])
    elif isinstance(part, tuple | list):
        for inner in part:
            yield from _leaves(inner)
    elif hasattr(part, "dtype") and hasattr(part, "shape"):
        yield part


def _examples(adapter: Any) -> int | None:
    """Return how many examples a generator or PyDataset puts in a batch; None where unknown.

    Keras forgets it: the first dimension of its shapes is open. Nothing of the user's runs here.
    """
    peeked = getattr(adapter, "_first_batches", None)  # what Keras took of a generator
    if peeked:
        sizes = {int(leaf.shape[0]) for batch in peeked for leaf in _leaves(batch)}
        return sizes.pop() if len(sizes) == 1 else None
    given = vars(adapter.py_dataset)
    sizes = {
        value
        for name in _BATCH_ATTRIBUTES
        if isinstance(value := given.get(name), int) and not isinstance(value, bool) and value > 0
    }
    return sizes.pop() if len(sizes) == 1 else None


def _labels(train_function: Any) -> Iterator[Any]:
    """Yield the labels as they come into the graphs of the compiled step."""
    names = train_function.__code__.co_freevars
    cell = train_function.__closure__[names.index("one_step_on_data")]
    function = cell.cell_contents.__wrapped__
    for concrete in function._list_all_concrete_functions():
        data = concrete.structured_input_signature[0][0]
        if not isinstance(data, tuple) or len(data) < 2:
            return
        before, labels = len(list(_leaves(data[0]))), len(list(_leaves(data[1])))
        yield from concrete.graph.inputs[before : before + labels]
