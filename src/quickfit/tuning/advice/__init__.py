"""Advice on the settings of a training, each of them measured beside the training as it is."""

from quickfit.tuning.advice.result import Advice
from quickfit.tuning.advice.session import advise

__all__ = [
    "Advice",
    "advise",
]
