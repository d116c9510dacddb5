"""Finds a batch size by measuring: the smallest fast one, or the largest that fits in memory."""

from quickfit.tuning.batches.finding import find_batch_size
from quickfit.tuning.batches.plan import BatchPlan
from quickfit.tuning.batches.rows import Row

__all__ = ["BatchPlan", "Row", "find_batch_size"]
