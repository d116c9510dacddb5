"""Central settings, shared by training and evaluation."""
from dataclasses import dataclass, field

import tensorflow as tf

AUTO = tf.data.AUTOTUNE


@dataclass
class LoaderOptions:
    batch_size: int = 16
    parallel_calls: int = AUTO
    shuffle_window: int = AUTO
    prefetch: int = AUTO
    seed: int = 7


@dataclass
class Settings:
    epochs: int = 2
    classes: int = 3
    features: int = 8
    loader: LoaderOptions = field(default_factory=LoaderOptions)
