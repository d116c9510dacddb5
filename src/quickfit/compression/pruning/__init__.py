"""Pruning: models with fewer channels (faster), or with more zeros (smaller when compressed)."""

from quickfit.compression.pruning.magnitude import MagnitudePruning, Zeros, zeros_in
from quickfit.compression.pruning.structured import pruned

__all__ = [
    "MagnitudePruning",
    "Zeros",
    "pruned",
    "zeros_in",
]
