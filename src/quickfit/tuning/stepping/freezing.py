"""Warns where a float16 training has frozen: the scale of its loss falls without end."""

from __future__ import annotations

from typing import Any

from quickfit.tuning.stepping.telling import warn

# Reading the scale waits for the device, so it is done in one of so many calls. From where it
# usually begins, 32768, it is below 1 after 16 updates that were left out in a row.
EVERY = 20
# Small gradients are lost below it.
LEAST_SCALE = 1.0


class FreezeWatch:
    """Looks at the scale of a loss now and then, and warns once.

    Args:
        scaler: the optimizer that scales; None where nothing is scaled.
    """

    def __init__(self, scaler: Any) -> None:  # Any: Keras has no types of its own
        self._scaler = scaler
        self._calls = 0

    def called(self) -> None:
        """Count a call of the step, and look at the scale where it is time to."""
        if self._scaler is None:
            return
        self._calls += 1
        if self._calls % EVERY:
            return
        scale = float(self._scaler.dynamic_scale.numpy())
        if scale < LEAST_SCALE:
            self._scaler = None
            warn(
                f"the loss scale fell to {scale:g}: update after update is left out because "
                "numbers are not finite, and the model does not learn any more. "
                "quickfit.tuning.find_nan(model, (x, y)) names where they begin. To silence this: "
                "warnings.filterwarnings('ignore', message='quickfit')."
            )
