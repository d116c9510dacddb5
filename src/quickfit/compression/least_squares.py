"""Ridge least squares in double precision, whose memory does not grow with the number of samples.

    min |inputs · weights + bias - targets|² + ridge · |weights - prior|²

The samples are added up in Gram matrices, chunk by chunk. The pull towards the prior is measured in
units of the inputs' own size, so one `ridge` fits all layers.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from quickfit.errors import ModelError, UsageError

# Strong enough to keep directions that the samples do not show at the prior, weak enough to leave
# the others alone: accuracies of refitted models do not change from 1e-4 to 1e-2.
RIDGE = 1e-3
CHUNK_ROWS = 8192

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class LeastSquaresFit:
    """Weights that fit the targets best.

    Args:
        weights: (features, outputs), in double precision.
        bias: (outputs,), or None where none was asked for.
        error: what is left, relative to the targets (around their mean, with a bias): 0 is a
            perfect fit, 1 no better than a constant.
    """

    weights: Array
    bias: Array | None
    error: float


class LeastSquares:
    """A least squares problem that grows by chunks of samples.

    Args:
        bias: whether a constant is fitted too; nothing pulls at it.
    """

    def __init__(self, *, bias: bool = False) -> None:
        self.has_bias = bias
        self.rows = 0
        self._shift: tuple[Array, Array] | None = None

    def add(self, inputs: npt.ArrayLike, targets: npt.ArrayLike) -> None:
        """Add samples: (rows, features) and what should come out, (rows, outputs)."""
        x, y = np.asarray(inputs, np.float64), np.asarray(targets, np.float64)
        self._check(x, y)
        if not len(x):
            return
        with np.errstate(invalid="ignore", over="ignore"):  # told when it is to be solved
            self._sum_up(x, y)

    def solution(self, prior: npt.ArrayLike | None = None, ridge: float = RIDGE) -> LeastSquaresFit:
        """Return the best weights for all samples so far.

        Args:
            prior: the weights to stay near to, (features, outputs); by default zero.
            ridge: how strongly, in units of the mean square of the inputs; 0 leaves only directions
                that the samples do not show at the prior.

        Raises:
            ModelError: there are no samples, or values that are not finite.
            UsageError: `ridge` is negative, or the prior has another shape.
        """
        gram, cross, squared = self._moments()
        start = self._prior(prior, cross.shape)
        if not ridge >= 0:
            raise UsageError(f"ridge must be 0 or more, and {ridge!r} came.")
        weights = start + _prior_correction(gram, cross - gram @ start, ridge)
        left = (
            squared - 2 * float((weights * cross).sum()) + float((weights * (gram @ weights)).sum())
        )
        return LeastSquaresFit(weights, self._bias(weights), _relative_rest(left, squared))

    def _sum_up(self, x: Array, y: Array) -> None:
        if self._shift is None:
            self._start(x, y)
        x, y = x - self._shift[0], y - self._shift[1]  # type: ignore[index]  # set by _start
        self._gram += x.T @ x
        self._cross += x.T @ y
        self._sum_x += x.sum(axis=0)
        self._sum_y += y.sum(axis=0)
        self._squared_y += float((y * y).sum())
        self.rows += len(x)

    def _start(self, x: Array, y: Array) -> None:
        # Numbers near their mean keep their digits when they are squared and added up.
        middle = (x.mean(axis=0), y.mean(axis=0))
        self._shift = (
            middle if self.has_bias else (np.zeros_like(middle[0]), np.zeros_like(middle[1]))
        )
        self._gram = np.zeros((x.shape[1], x.shape[1]))
        self._cross = np.zeros((x.shape[1], y.shape[1]))
        self._sum_x, self._sum_y = np.zeros(x.shape[1]), np.zeros(y.shape[1])
        self._squared_y = 0.0

    def _check(self, x: Array, y: Array) -> None:
        if x.ndim != 2 or y.ndim != 2 or len(x) != len(y):
            raise UsageError(
                "Least squares needs (rows, features) and (rows, outputs) with as many rows, and "
                f"{x.shape} and {y.shape} came."
            )
        if self._shift is not None and (x.shape[1], y.shape[1]) != self._cross.shape:
            raise UsageError(
                f"Chunks of one problem must be alike: the first had {self._cross.shape[0]} "
                f"features and {self._cross.shape[1]} outputs, this one has {x.shape[1]} and "
                f"{y.shape[1]}."
            )

    def _moments(self) -> tuple[Array, Array, float]:
        if not self.rows:
            raise ModelError("There are no samples to fit weights to: give calibration data.")
        gram, cross, squared = self._gram, self._cross, self._squared_y
        if self.has_bias:
            with np.errstate(invalid="ignore", over="ignore"):
                gram = gram - np.outer(self._sum_x, self._sum_x) / self.rows
                cross = cross - np.outer(self._sum_x, self._sum_y) / self.rows
                squared -= float((self._sum_y**2).sum()) / self.rows
        if not (np.isfinite(gram).all() and np.isfinite(cross).all()):
            raise ModelError(
                "Weights cannot be fitted: the calibration data, or what the model makes of them, "
                "hold values that are not finite (NaN or infinity). Look for them in the data with "
                "numpy.isfinite, and in the model's output for a few samples."
            )
        return gram, cross, squared

    def _prior(self, prior: npt.ArrayLike | None, shape: tuple[int, ...]) -> Array:
        if prior is None:
            return np.zeros(shape)
        start = np.asarray(prior, np.float64)
        if start.shape != shape:
            raise UsageError(f"The prior has the shape {start.shape}, and {shape} is needed.")
        return start

    def _bias(self, weights: Array) -> Array | None:
        if not self.has_bias or self._shift is None:
            return None
        mean_x, mean_y = self._sum_x / self.rows, self._sum_y / self.rows
        bias: Array = (mean_y + self._shift[1]) - (mean_x + self._shift[0]) @ weights
        return bias


def solve_least_squares(
    inputs: npt.ArrayLike,
    targets: npt.ArrayLike,
    prior: npt.ArrayLike | None = None,
    ridge: float = RIDGE,
    *,
    bias: bool = False,
) -> LeastSquaresFit:
    """Return the weights that make `targets` of `inputs`, near to `prior`; see `Squares`."""
    squares = LeastSquares(bias=bias)
    x, y = np.asarray(inputs), np.asarray(targets)
    for start in range(0, max(len(x), len(y), 1), CHUNK_ROWS):
        squares.add(x[start : start + CHUNK_ROWS], y[start : start + CHUNK_ROWS])
    return squares.solution(prior, ridge)


def _prior_correction(gram: Array, rest: Array, ridge: float) -> Array:
    """Return what has to be added to the prior."""
    pull = ridge * float(np.trace(gram)) / len(gram) if len(gram) else 0.0
    if pull > 0:
        try:
            return np.asarray(np.linalg.solve(gram + pull * np.eye(len(gram)), rest), np.float64)
        except np.linalg.LinAlgError:
            pass  # so small a ridge does not help so singular a matrix
    return np.asarray(np.linalg.lstsq(gram, rest, rcond=None)[0], np.float64)


def _relative_rest(left: float, whole: float) -> float:
    if whole <= 0:
        return 0.0
    return float(np.sqrt(max(left, 0.0) / whole))
