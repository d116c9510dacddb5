"""What was measured of models, and what it says: who is faster, and whether int8 pays."""

from __future__ import annotations

import math

from quickfit import units
from quickfit.errors import UsageError
from quickfit.lab.statistics import MIN_GAIN

# What post-training quantisation may lose before training for int8 is offered. Below a point the
# difference is within what another seed of the same training gives.
MOST_LOSS = 0.01


def advice_on_speed(float_s: float, int8_s: float) -> str:
    """Return what to think of the speed of an int8 file on this machine.

    Args:
        float_s: latency of the float32 file.
        int8_s: latency of the int8 file, measured in turn with it.

    Raises:
        UsageError: a latency is no positive number.
    """
    for name, value in (("float_s", float_s), ("int8_s", int8_s)):
        if not (math.isfinite(value) and value > 0):
            raise UsageError(f"{name}={value}: a latency is a positive number of seconds.")
    times = f"{units.seconds(int8_s)} against {units.seconds(float_s)}"
    if int8_s > float_s * MIN_GAIN:
        return (
            f"int8 is {units.factor(int8_s / float_s)} slower than float32 on this CPU ({times}). "
            "Here it saves space, not time. That is a matter of the processor (those with VNNI and "
            "those of phones are made for int8): measure where it will run."
        )
    if float_s > int8_s * MIN_GAIN:
        return (
            f"int8 is {units.factor(float_s / int8_s)} faster than float32 on this CPU ({times})."
        )
    return f"int8 is as fast as float32 on this CPU ({times}): what it saves is space."


def is_training_worth_it(float_accuracy: float, int8_accuracy: float) -> bool:
    """Tell whether int8 after training loses more than a point, so that training for it may help.

    Args:
        float_accuracy: of the Keras model, 0 to 1.
        int8_accuracy: of the int8 file made from it, on the same data.

    Raises:
        UsageError: an accuracy is not from 0 to 1.
    """
    for name, value in (("float_accuracy", float_accuracy), ("int8_accuracy", int8_accuracy)):
        if not 0 <= value <= 1:
            raise UsageError(f"{name}={value}: an accuracy is from 0 to 1.")
    # Accuracies are fractions of whole counts: 0.99 - 0.98 must not count as more than 0.01.
    return float_accuracy - int8_accuracy > MOST_LOSS + 1e-9


def advice_on_training(float_accuracy: float, int8_accuracy: float) -> str:
    """Return what to do about the accuracy of an int8 file, in a sentence."""
    points = (float_accuracy - int8_accuracy) * 100
    if is_training_worth_it(float_accuracy, int8_accuracy):
        return (
            f"int8 loses {points:.1f} points ({float_accuracy:.3f} → {int8_accuracy:.3f}). "
            "Training for it, with fake_quantised(), may win them back: keep it where it does."
        )
    if points > 0:
        return f"int8 loses {points:.1f} points: too little for training to win back."
    return f"int8 loses nothing ({float_accuracy:.3f} → {int8_accuracy:.3f})."
