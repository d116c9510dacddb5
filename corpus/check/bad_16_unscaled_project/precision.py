import os

import keras


def setup(name=None):
    """Choose the dtype policy; PRECISION in the environment wins."""
    name = name or os.environ.get("PRECISION", "mixed_float16")
    keras.config.set_dtype_policy(name)
    return name
