"""Finds a batch size by measuring: the smallest fast one, or the largest that fits in memory."""

from quickfit.tuning.batch_size.finder import find_batch_size
from quickfit.tuning.batch_size.plan import BatchPlan

__all__ = [
    "BatchPlan",
    "find_batch_size",
]
