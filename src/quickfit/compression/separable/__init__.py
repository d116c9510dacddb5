"""Convolutions rewritten as depthwise and pointwise ones, refitted to do what they did."""

from quickfit.compression.separable.rewriting import rewritten

__all__ = [
    "rewritten",
]
