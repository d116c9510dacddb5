"""`GuardedOptimizer` in `fit` and on its own."""

import subprocess
import sys

import numpy as np
import pytest

from quickfit.errors import UsageError

from tuning.numerics.faulty_models import are_equal, batch, model


def guarded(inner="adam"):
    from quickfit.tuning import GuardedOptimizer

    return GuardedOptimizer(inner)


@pytest.mark.loads_tf
# Keras 3.15 saves with a call that NumPy 2 warns of.
@pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")
def test_a_guarded_model_trains_as_an_unguarded_one_and_can_be_saved(tf, tmp_path):
    import keras

    x, y = batch(32)
    plain, made = model(optimizer="adam"), model(optimizer=guarded())
    for one in (plain, made):
        one.fit(x, y, batch_size=8, verbose=0, shuffle=False)
    assert are_equal([w.numpy() for w in plain.weights], [w.numpy() for w in made.weights])
    assert int(made.optimizer.iterations) == 4
    made.save(tmp_path / "made.keras")
    loaded = keras.models.load_model(tmp_path / "made.keras")
    assert type(loaded.optimizer).__name__ == "GuardedOptimizer"
    slots, found = made.optimizer.inner_optimizer.variables, loaded.optimizer.inner_optimizer
    assert are_equal([v.numpy() for v in slots], [v.numpy() for v in found.variables])


@pytest.mark.loads_tf
def test_a_bad_gradient_changes_nothing_and_is_counted(tf):
    made = model(optimizer=guarded())
    weights = made.trainable_variables
    good = [tf.ones_like(one) for one in weights]
    made.optimizer.apply(good, weights)
    before = [w.numpy() for w in (*weights, *made.optimizer.inner_optimizer.variables)]
    made.optimizer.apply([good[0] * np.inf, *good[1:]], weights)
    after = [w.numpy() for w in (*weights, *made.optimizer.inner_optimizer.variables)]
    assert are_equal(before, after)
    assert (made.optimizer.skipped, int(made.optimizer.iterations)) == (1, 1)


@pytest.mark.loads_tf
def test_a_loss_that_is_nan_spoils_gradients_that_are_finite(tf):
    optimizer = guarded()
    weight = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        loss = weight * 3.0 + tf.stop_gradient(tf.constant(np.nan))
        scaled = optimizer.scale_loss(loss)
    assert np.isnan(tape.gradient(scaled, weight).numpy())
    assert float(optimizer.scale_loss(tf.constant(0.1))) == float(tf.constant(0.1))


@pytest.mark.loads_tf
def test_the_learning_rate_is_the_inner_ones(tf):
    optimizer = guarded()
    optimizer.learning_rate = 0.5
    assert float(optimizer.inner_optimizer.learning_rate) == 0.5
    assert float(optimizer.learning_rate) == 0.5


@pytest.mark.loads_tf
@pytest.mark.parametrize("given", [7, "no such optimizer"])
def test_what_is_no_optimizer_is_refused_with_an_example(tf, given):
    with pytest.raises(UsageError, match=rf"not {given!r}\. Such as: GuardedOptimizer\("):
        guarded(given)


@pytest.mark.loads_tf
def test_an_optimizer_that_guards_itself_is_refused(tf):
    import keras

    with pytest.raises(UsageError, match="a LossScaleOptimizer needs no GuardedOptimizer"):
        guarded(keras.optimizers.LossScaleOptimizer(keras.optimizers.SGD()))
    with pytest.raises(UsageError, match="a GuardedOptimizer needs no GuardedOptimizer"):
        guarded(guarded())


TWO_REPLICAS = """
import numpy as np, tensorflow as tf
cpu = tf.config.list_physical_devices("CPU")[0]
two = [tf.config.LogicalDeviceConfiguration()] * 2
tf.config.set_logical_device_configuration(cpu, two)
from quickfit.tuning import GuardedOptimizer
from quickfit.tuning.numerics import guard_model
from tuning.numerics.faulty_models import are_equal, batch, model
x, y = batch(32)
with tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"]).scope():
    plain, made = model(optimizer="adam"), model(optimizer=GuardedOptimizer("adam"))
    guard_model(made)
for one in (plain, made):
    one.fit(x, y, batch_size=16, verbose=0, shuffle=False)
print(are_equal(plain.get_weights(), made.get_weights()))
x[15] = np.nan  # the second replica's half
before = made.get_weights()
made.fit(x[:16], y[:16], batch_size=16, verbose=0)
print(are_equal(before, made.get_weights()), made.optimizer.skipped)
"""


@pytest.mark.tf
@pytest.mark.tf_any
def test_two_replicas_leave_an_update_out_together(pytestconfig):
    env = {"PYTHONPATH": str(pytestconfig.rootpath / "tests"), "TF_CPP_MIN_LOG_LEVEL": "2"}
    done = subprocess.run(
        [sys.executable, "-c", TWO_REPLICAS], env=env, capture_output=True, text=True, check=False
    )
    assert done.stdout == "True\nTrue 1\n", done.stderr
