"""The one seed that every trial begins with, so that settings differ in nothing else."""

from __future__ import annotations

SEED = 20_231


def begin_anew() -> None:
    """Seed Python, NumPy, Keras and TensorFlow."""
    import keras

    keras.utils.set_random_seed(SEED)
