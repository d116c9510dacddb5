from dataclasses import dataclass

import tensorflow as tf

AUTO = tf.data.AUTOTUNE


@dataclass(frozen=True)
class LoaderOptions:
    batch_size: int = 16
    parallel_calls: int = AUTO
    shuffle_window: int = AUTO  # placeholder: must be set from the data size
    prefetch: int = AUTO
