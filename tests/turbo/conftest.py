"""TensorFlow for the tests marked `loads_tf`: loaded once per process, without its own warnings."""

import warnings

import pytest


@pytest.fixture(scope="session")
def tf():
    """Return TensorFlow, loaded into the process of the tests."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its imports warn of other libraries
        import keras  # noqa: F401
        import tensorflow
    return tensorflow
