"""How much a model is: its parameters, and the file that it is saved to."""

from __future__ import annotations

import math
import tempfile
import warnings
from pathlib import Path
from typing import Any

from quickfit.errors import ModelError


def file_bytes(model: Any) -> int:
    """Return the size of the `.keras` file of a model, with the state of its optimizer if any.

    Args:
        model: not compiled, as a copy is, for the size of the model alone.

    Raises:
        ModelError: it cannot be saved.
    """
    with tempfile.TemporaryDirectory(prefix="quickfit-") as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that a Lambda will not be loaded everywhere
        path = Path(folder) / "model.keras"
        try:
            model.save(path)
        except (OSError, TypeError, ValueError, NotImplementedError) as error:
            raise ModelError(
                f"The model '{model.name}' cannot be saved, so its size is not known "
                f"({type(error).__name__}: {str(error).strip().splitlines()[0] or 'no reason'})."
            ) from error
        return path.stat().st_size


def parameters(model: Any) -> int:
    """Return the number of weights of a model."""
    return sum(math.prod(weight.shape) for weight in model.weights)


def weights_bytes(model: Any) -> int:
    """Return what the weights of a model take in memory."""
    return sum(math.prod(one.shape) * _width(str(one.dtype)) for one in model.weights)


def _width(dtype: str) -> int:
    digits = "".join(char for char in dtype if char.isdigit())
    if dtype.startswith("float8"):
        return 1  # float8_e4m3fn
    return max(1, int(digits) // 8) if digits else 1
