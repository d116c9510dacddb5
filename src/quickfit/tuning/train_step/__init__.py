"""A compiled training step that is right on Keras 3, for loops written by hand."""

from quickfit.tuning.train_step.step import TrainStep, make_train_step

__all__ = [
    "TrainStep",
    "make_train_step",
]
