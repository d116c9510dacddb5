"""Weights fitted to rows of a layer's inputs, with care where there are few rows.

A Dense layer on a flattened map has thousands of weights per output, and as many rows as there are
samples. Fitted to them without restraint it would learn the samples by heart. So the pull towards
the old weights is then the one that does best on samples that were held out.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from quickfit.compression.squares import CHUNK_ROWS, RIDGE, Array, Fit, Squares
from quickfit.errors import ModelError

# With so many rows per weight there is nothing to learn by heart.
ENOUGH = 5
# The strongest leaves the old weights as they are.
PULLS = (RIDGE, 3e-2, 1.0, 3e1, 1e3)
HELD_OUT = 4  # every fourth sample
# A matrix of this size is solved in seconds.
MOST_ROWS = 4096


@dataclass(frozen=True)
class Rows:
    """A least squares problem.

    Args:
        inputs: (rows, weights per output).
        targets: (rows, outputs).
        samples: the sample that each row is from; rows of one sample are alike.
        bias: whether a constant is fitted too.
    """

    inputs: npt.NDArray[np.float32]
    targets: Array
    samples: npt.NDArray[np.int64]
    bias: bool

    def some(self, chosen: npt.NDArray[np.bool_]) -> "Rows":
        """Return some of the rows."""
        parts = (self.inputs[chosen], self.targets[chosen], self.samples[chosen])
        return Rows(*parts, self.bias)


def fitted(rows: Rows, prior: Array, name: str) -> Fit:
    """Return the weights that make the targets of the inputs, near to `prior`.

    Raises:
        ModelError: there are values that are not finite.
    """
    if not (np.isfinite(rows.inputs).all() and np.isfinite(rows.targets).all()):
        raise ModelError(
            f"'{name}' cannot be refitted: what goes into it holds values that are not finite (NaN "
            "or infinity). Look for them in the calibration data with numpy.isfinite, and in the "
            "model's output for a few samples."
        )
    count, weights = rows.inputs.shape
    pull = RIDGE if count >= ENOUGH * weights else best_pull(rows, prior)
    return solver(rows, prior)(pull)


def best_pull(rows: Rows, prior: Array) -> float:
    """Return the pull that does best on samples that the weights were not fitted to."""
    is_held = rows.samples % HELD_OUT == HELD_OUT - 1
    if not is_held.any() or is_held.all():
        return PULLS[-1]
    taught, asked = solver(rows.some(~is_held), prior), rows.some(is_held)
    errors = [_error(asked, taught(pull)) for pull in PULLS]
    return PULLS[int(np.argmin(errors))]


def solver(rows: Rows, prior: Array) -> Callable[[float], Fit]:
    """Return what gives the best weights for a pull."""
    if len(rows.inputs) < rows.inputs.shape[1]:
        return _through_rows(rows, prior)
    squares = Squares(bias=rows.bias)
    for start in range(0, len(rows.inputs), CHUNK_ROWS):
        chunk = slice(start, start + CHUNK_ROWS)
        squares.add(rows.inputs[chunk], rows.targets[chunk])
    return lambda pull: squares.solution(prior, pull)


def _through_rows(rows: Rows, prior: Array) -> Callable[[float], Fit]:
    """Solve a problem with fewer rows than weights: its matrix is one of rows."""
    step = -(-len(rows.inputs) // MOST_ROWS)
    x, y = rows.inputs[::step].astype(np.float64), rows.targets[::step]
    middle = (x.mean(axis=0), y.mean(axis=0)) if rows.bias else (0.0, 0.0)
    x, y = x - middle[0], y - middle[1]
    gram, rest = x @ x.T, y - x @ prior

    def best(pull: float) -> Fit:
        weight = pull * float(np.trace(gram)) / x.shape[1]
        weights = prior
        if weight > 0:
            weights = prior + x.T @ np.linalg.solve(gram + weight * np.eye(len(gram)), rest)
        bias: Array | None = middle[1] - middle[0] @ weights if rows.bias else None
        return Fit(weights, bias, _error(rows, Fit(weights, bias, 0.0)))

    return best


def _error(rows: Rows, fit: Fit) -> float:
    """Return what is left of the targets, as a share of them."""
    made = rows.inputs @ fit.weights + (0.0 if fit.bias is None else fit.bias)
    around = rows.targets.mean(axis=0) if rows.bias else 0.0
    whole = float(((rows.targets - around) ** 2).sum())
    left = float(((rows.targets - made) ** 2).sum())
    return float(np.sqrt(left / whole)) if whole > 0 else 0.0
