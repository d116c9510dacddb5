"""A compiled training step that is right on Keras 3, for loops written by hand."""

from quickfit.tuning.stepping.making import make_train_step
from quickfit.tuning.stepping.step import TrainStep

__all__ = ["TrainStep", "make_train_step"]
