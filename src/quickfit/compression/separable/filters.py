"""Depthwise filters made better by turns: filters for given weights, weights for given filters.

The best filters of a kernel by itself are not the best ones for what the kernel sees, and channels
can make good what others leave out. One look at the samples is enough: all that follows works on
the sums of their products.
"""

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

# After four turns the error has made most of its way; ten more change no accuracy.
TURNS = 4
# Pulls filters towards what they were, in units of the inputs' size: without it, the filters of
# channels that hardly matter run away.
PULL = 1e-2
# The filters of all channels are found together: above this many weights that takes minutes.
LARGEST = 2400


class Sums:
    """Sums of products of what the taps of a convolution see, and what shall come out.

    Args:
        centred: whether a constant is fitted too, so that means do not count.
    """

    def __init__(self, *, centred: bool) -> None:
        self._is_centred = centred
        self._rows = 0

    def add(self, seen: Array, targets: npt.ArrayLike) -> None:
        """Add samples: (rows, taps, channels), and (rows, outputs)."""
        rows, taps, channels = seen.shape
        x = seen.transpose(0, 2, 1).reshape(rows, channels * taps)
        y = np.asarray(targets, np.float64)
        if not self._rows:
            self._shape = (channels, taps)
            self._gram, self._cross = (
                np.zeros((x.shape[1],) * 2),
                np.zeros((x.shape[1], y.shape[1])),
            )
            self._sum_x, self._sum_y = np.zeros(x.shape[1]), np.zeros(y.shape[1])
        with np.errstate(invalid="ignore", over="ignore"):  # told when the weights are fitted
            self._gram += x.T @ x
            self._cross += x.T @ y
            self._sum_x += x.sum(axis=0)
            self._sum_y += y.sum(axis=0)
        self._rows += rows

    def products(self) -> tuple[Array, Array]:
        """Return the products of inputs, (channels, taps) twice, and those with the targets."""
        gram, cross = self._gram, self._cross
        if self._is_centred:
            gram = gram - np.outer(self._sum_x, self._sum_x) / self._rows
            cross = cross - np.outer(self._sum_x, self._sum_y) / self._rows
        return gram.reshape(*self._shape, *self._shape), cross.reshape(*self._shape, -1)


def improved(sums: Sums, depthwise: Array, pointwise: Array, ridge: float) -> tuple[Array, Array]:
    """Return filters and weights, in the shapes given, whose product fits the targets better.

    Args:
        sums: of the samples.
        depthwise: (height, width, channels, rank).
        pointwise: (channels · rank, outputs).
        ridge: how strongly weights are pulled towards what they were.
    """
    gram, cross = sums.products()
    if not (np.isfinite(gram).all() and np.isfinite(cross).all()):
        return depthwise, pointwise  # told when the weights are fitted
    height, width, channels, rank = depthwise.shape
    filters = depthwise.reshape(height * width, channels, rank).swapaxes(0, 1)
    weights = _weights(gram, cross, filters, pointwise.reshape(channels, rank, -1), ridge)
    for _ in range(TURNS):
        filters, weights = _normed(_filters(gram, cross, filters, weights), weights)
        weights = _weights(gram, cross, filters, weights, ridge)
    depthwise = filters.swapaxes(0, 1).reshape(height, width, channels, rank)
    return depthwise, weights.reshape(channels * rank, -1)


def _weights(gram: Array, cross: Array, filters: Array, start: Array, ridge: float) -> Array:
    size = start.shape[0] * start.shape[1]
    half = np.einsum("akbl,bls->akbs", gram, filters, optimize=True)
    left = np.einsum("akr,akbs->arbs", filters, half, optimize=True).reshape(size, size)
    right = np.einsum("akr,ako->aro", filters, cross, optimize=True).reshape(size, -1)
    return _pulled(left, right, start.reshape(size, -1), ridge).reshape(start.shape)


def _filters(gram: Array, cross: Array, start: Array, weights: Array) -> Array:
    alike = np.einsum("aro,bso->arbs", weights, weights, optimize=True)
    left = np.einsum("akbl,arbs->akrbls", gram, alike).reshape(start.size, start.size)
    right = np.einsum("ako,aro->akr", cross, weights, optimize=True).reshape(start.size, 1)
    return _pulled(left, right, start.reshape(-1, 1), PULL).reshape(start.shape)


def _normed(filters: Array, weights: Array) -> tuple[Array, Array]:
    """Return filters of norm 1, the weights made as much larger as they are smaller."""
    norms = np.linalg.norm(filters, axis=1, keepdims=True)
    norms = np.where(norms > 0, norms, 1.0)
    return filters / norms, weights * norms.swapaxes(1, 2)


def _pulled(left: Array, right: Array, start: Array, ridge: float) -> Array:
    """Return the solution of normal equations, pulled towards `start`."""
    pull = ridge * float(np.trace(left)) / len(left)
    rest = right - left @ start
    try:
        return start + np.linalg.solve(left + pull * np.eye(len(left)), rest)
    except np.linalg.LinAlgError:  # no pull, and samples that do not show all directions
        return start + np.linalg.lstsq(left, rest, rcond=None)[0]
