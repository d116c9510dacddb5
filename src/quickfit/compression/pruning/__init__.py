"""Pruning: models with fewer channels (faster), or with more zeros (smaller when compressed)."""

from quickfit.compression.pruning.magnitude import MagnitudePruning
from quickfit.compression.pruning.structured import pruned
from quickfit.compression.pruning.zeros import Zeros, zeros_in

__all__ = ["MagnitudePruning", "Zeros", "pruned", "zeros_in"]
