"""Advice on the settings of a training, each of them measured beside the training as it is."""

from __future__ import annotations

from quickfit.tuning.advice.advising import advise
from quickfit.tuning.advice.result import Advice

__all__ = ["Advice", "advise"]
