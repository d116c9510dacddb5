"""Quantities with units, computed from a recording, each computed once."""

from quickfit.signals._facade import Signals

__all__ = ["Signals"]
