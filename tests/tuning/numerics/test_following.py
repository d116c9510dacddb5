"""`guard_model` and what it follows in `fit`."""

import numpy as np
import pytest

from quickfit.errors import UsageError
from quickfit.tuning.numerics.following import follow, guard_model

from tuning.numerics.faulty_models import are_equal, batch, model

pytestmark = pytest.mark.loads_tf


def held(made):
    """Return what must not move when an update is left out."""
    return [one.numpy() for one in (*made.weights, *made.optimizer.inner_optimizer.variables)]


@pytest.mark.parametrize(
    "options",
    [
        pytest.param({}, id="as fit does it"),
        pytest.param({"jit_compile": True}, id="xla"),
        pytest.param({"steps_per_execution": 4}, id="four steps per execution"),
        pytest.param({"run_eagerly": True}, id="eagerly"),
    ],
)
def test_a_bad_batch_changes_nothing_and_the_others_are_learnt(tf, options):
    x, y = batch(32)
    made = model(optimizer="adam", **options)
    optimizer, follower = guard_model(made), follow(made)
    first = made.fit(x, y, batch_size=8, verbose=0, shuffle=False)
    assert np.isfinite(first.history["loss"]).all()
    assert (optimizer.skipped, int(optimizer.iterations)) == (0, 4)

    x[9] = np.inf  # in the second of four batches
    spoiled = made.fit(x, y, batch_size=8, verbose=0, shuffle=False)
    assert np.isfinite(spoiled.history["loss"]).all()
    assert (optimizer.skipped, follower.skipped, follower.in_a_row) == (1, 1, 0)
    assert int(optimizer.iterations) == 7

    before = held(made)
    alone = made.fit(x[8:16], y[8:16], batch_size=8, verbose=0, shuffle=False)
    assert are_equal(before, held(made))
    assert (follower.skipped, follower.in_a_row) == (2, 1)
    assert np.isnan(alone.history["loss"]).all(), "no good batch: a loss of 0 would be a lie"
    seen_x, seen_y = follower.batch
    assert are_equal([x[8:16], y[8:16]], [seen_x.numpy(), seen_y.numpy()])


def test_guarding_twice_or_compiling_again_does_no_harm(tf):
    x, y = batch()
    made = model()
    optimizer = guard_model(made)
    assert guard_model(made) is optimizer
    made.compile("sgd", "mse")
    made.fit(x, y, verbose=0)  # not guarded any more
    assert follow(made).batch is None
    assert guard_model(made) is not optimizer
    made.train_on_batch(x * np.nan, y)
    assert follow(made).skipped == 1


def test_a_model_without_optimizer_is_refused(tf):
    import keras

    bare = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)], name="bare")
    with pytest.raises(UsageError, match=r"'bare' has no optimizer.*Call model\.compile"):
        guard_model(bare)


def test_a_step_of_the_users_own_on_a_model_without_weights_yet_is_guarded(tf):
    import keras

    class Own(keras.Model):
        def __init__(self):
            super().__init__()
            self.norm, self.head = keras.layers.BatchNormalization(), keras.layers.Dense(1)
            self.mean = keras.metrics.Mean(name="mine")

        def call(self, x, training=False):
            return self.head(self.norm(x, training=training))

        def train_step(self, data):
            x, y = data
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean((self(x, training=True) - y) ** 2)
            gradients = tape.gradient(loss, self.trainable_variables)
            self.optimizer.apply_gradients(zip(gradients, self.trainable_variables, strict=True))
            self.mean.update_state(loss)
            return {"mine": self.mean.result()}

    x, y = batch(32)
    x[9] = np.nan
    made = Own()
    made.compile("sgd")
    optimizer = guard_model(made)
    history = made.fit(x, y, batch_size=8, epochs=2, shuffle=False, verbose=0).history
    assert list(history) == ["mine"]
    assert np.isfinite(history["mine"]).all()
    assert (optimizer.skipped, int(optimizer.iterations)) == (2, 6)
    assert all(np.isfinite(one).all() for one in made.get_weights())
