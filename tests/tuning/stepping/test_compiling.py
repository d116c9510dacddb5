"""What XLA refuses is said with the way out."""

import pytest

from quickfit.errors import UsageError
from quickfit.tuning import make_train_step
from quickfit.tuning.stepping.compiling import explained

pytestmark = pytest.mark.loads_tf


def test_says_how_to_do_without_xla(tf):
    import keras

    class Words(keras.layers.Layer):
        def call(self, x):
            return x + tf.cast(tf.strings.length(tf.strings.as_string(x)), x.dtype)

    inputs = keras.Input((4,))
    model = keras.Model(inputs, keras.layers.Dense(1)(Words()(inputs)))
    step = make_train_step(model, "mse", "sgd", jit=True)
    with pytest.raises(UsageError, match=r"XLA cannot compile.*(?s:.)*jit=False"):
        step(tf.ones((2, 4)), tf.ones((2, 1)))


def test_other_errors_stay_as_they_are(tf):
    with pytest.raises(tf.errors.InvalidArgumentError, match="plain"), explained(jit=True):
        raise tf.errors.InvalidArgumentError(None, None, "plain")
