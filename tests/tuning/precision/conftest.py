"""The models that dtype policies are set on."""

import pytest


@pytest.fixture
def models(tf):
    """Return the module of models, imported after TensorFlow; nothing global is left changed."""
    import keras

    from tuning.precision import models as module

    before = keras.config.dtype_policy()
    keras.utils.set_random_seed(0)
    yield module
    assert keras.config.dtype_policy() == before
