"""A function that makes a model, with data that were given beside it."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from pathlib import Path

from quickfit.tuning.trials.building import Built
from quickfit.tuning.trials.saving import load_data


@dataclass(frozen=True)
class Beside:
    """Builds in a child what the user gave in two parts.

    Args:
        payload: the user's function, pickled.
        folder: holds samples of the data.
    """

    payload: bytes
    folder: Path

    def __call__(self) -> Built:
        """Return the model, made anew, and the samples."""
        return Built(pickle.loads(self.payload)(), load_data(self.folder))
