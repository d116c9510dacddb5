"""Numerical settings shared by all experiments of the group."""
import keras


def setup(seed):
    keras.utils.set_random_seed(seed)
    # round-off was suspected in the Jacobian tests
    keras.config.set_dtype_policy("float64")
