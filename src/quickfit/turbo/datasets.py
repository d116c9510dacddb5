"""Gives a loop a faster dataset of the same elements in the same order, pass by pass.

Every eager pass through a dataset, of `fit`, `evaluate`, `predict` or a `for` of the script, asks
the dataset for itself right before its iterator is made. There the rewritten one takes its place.
"""

from __future__ import annotations

import sys
from types import FrameType, ModuleType
from typing import Any

from quickfit.probes._frame_locals import read_locals
from quickfit.probes._hooks import replace_calls
from quickfit.probes._places import user_place
from quickfit.turbo import endings
from quickfit.turbo.guard import choosing

DATASETS = "tensorflow.python.data.ops.dataset_ops"


def module_patches() -> dict[str, list[Any]]:
    """Return what to patch after which import."""
    return {DATASETS: [_patch_datasets]}


def _patch_datasets(module: ModuleType) -> None:
    replace_calls(module.DatasetV2, "_apply_debug_options", choosing(_choose))


def settle_passes() -> None:
    """Count what has ended, for the last row of the recording."""


def _choose(dataset: Any, frame: FrameType) -> Any:
    if frame.f_code.co_name != "_create_iterator" or not _is_eager():
        return None
    iterator = read_locals(frame).get("self")
    endings.end_aside(iterator, user_place(frame))
    return None


def _is_eager() -> bool:
    return bool(sys.modules["tensorflow.python.eager.context"].executing_eagerly())
