"""Exact means and variances of what goes into batch normalization layers."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from quickfit.errors import ModelError

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Moments:
    """Mean and variance of every channel over samples and places.

    Args:
        mean: per channel.
        variance: per channel, the mean square around the mean.
        count: how many values per channel they were taken over.
    """

    mean: Array
    variance: Array
    count: int

    def joined(self, other: "Moments") -> "Moments":
        """Return the moments of both sets of values together (Chan's formula: no cancellation)."""
        count = self.count + other.count
        share = other.count / count
        step = other.mean - self.mean
        mean = self.mean + step * share
        spread = self.variance * (1 - share) + other.variance * share
        return Moments(mean, spread + step * step * share * (1 - share), count)

    def of_channels(self, channels: npt.ArrayLike) -> "Moments":
        """Return the moments of some of the channels, in the order given."""
        places = np.asarray(channels)
        return Moments(self.mean[places], self.variance[places], self.count)


def moments_of(batches: Iterable[Any], axis: int, name: str) -> Moments:
    """Return the moments over all batches, in double precision.

    Raises:
        ModelError: there are values that are not finite.
    """
    total: Moments | None = None
    for batch in batches:
        values = np.moveaxis(np.asarray(batch, np.float64), axis, -1)
        values = values.reshape(-1, values.shape[-1])
        with np.errstate(invalid="ignore", over="ignore"):  # told below, with the layer's name
            one = Moments(values.mean(axis=0), values.var(axis=0), len(values))
            total = one if total is None else total.joined(one)
    if total is None or not np.isfinite(total.mean).all() or not np.isfinite(total.variance).all():
        raise ModelError(
            f"The statistics of '{name}' cannot be measured: what goes into it holds values that "
            "are not finite (NaN or infinity). Check the calibration data with numpy.isfinite."
        )
    return total
