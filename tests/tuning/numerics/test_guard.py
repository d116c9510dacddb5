"""`guard_model` and what it follows in `fit`."""

import subprocess
import sys

import numpy as np
import pytest

from quickfit.errors import UsageError
from quickfit.tuning.numerics import guard
from quickfit.tuning.numerics.guard import (
    apply_if_finite,
    follow_model,
    guard_model,
    is_finite,
    require_tensorflow,
)

from tuning.numerics.faulty_models import are_equal, batch, model


def held(made):
    """Return what must not move when an update is left out."""
    return [one.numpy() for one in (*made.weights, *made.optimizer.inner_optimizer.variables)]


@pytest.mark.loads_tf
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
    optimizer, follower = guard_model(made), follow_model(made)
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


@pytest.mark.loads_tf
def test_guarding_twice_or_compiling_again_does_no_harm(tf):
    x, y = batch()
    made = model()
    optimizer = guard_model(made)
    assert guard_model(made) is optimizer
    made.compile("sgd", "mse")
    made.fit(x, y, verbose=0)  # not guarded any more
    assert follow_model(made).batch is None
    assert guard_model(made) is not optimizer
    made.train_on_batch(x * np.nan, y)
    assert follow_model(made).skipped == 1


@pytest.mark.loads_tf
def test_a_model_without_optimizer_is_refused(tf):
    import keras

    bare = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)], name="bare")
    with pytest.raises(UsageError, match=r"'bare' has no optimizer.*Call model\.compile"):
        guard_model(bare)


@pytest.mark.loads_tf
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


NAN, INF = float("nan"), float("inf")


@pytest.mark.loads_tf
@pytest.mark.parametrize(
    ("loss", "gradients", "finite"),
    [
        pytest.param(1.0, [[1.0, -2.0]], True, id="all is fine"),
        pytest.param(NAN, [[1.0]], False, id="the loss is NaN"),
        pytest.param([1.0, INF], [[1.0]], False, id="one of several losses is Inf"),
        pytest.param(1.0, [[1.0], [2.0, NAN]], False, id="one gradient is NaN"),
        pytest.param(1.0, [[INF, -INF]], False, id="infinities that would add up to nothing"),
        pytest.param(None, [None, [1.0]], True, id="without loss and one gradient"),
        pytest.param(None, [None], True, id="nothing at all"),
        pytest.param(1.0, [[1e20]], False, id="a square that Adam could not keep"),
        pytest.param(1.0, [[1e18]], True, id="large, but it can be kept"),
    ],
)
def test_is_finite_where(tf, loss, gradients, finite):
    tensors = [None if one is None else tf.constant(one) for one in gradients]
    assert bool(is_finite(None if loss is None else tf.constant(loss), tensors)) is finite


@pytest.mark.loads_tf
def test_half_precision_has_room_for_its_squares(tf):
    gradient = tf.constant([60000.0], tf.float16)
    assert bool(is_finite(tf.constant(1.0, tf.float16), [gradient]))
    assert not bool(is_finite(None, [gradient * 2]))
    assert bool(is_finite(None, [tf.constant([1e30], tf.bfloat16) * 1e-15]))


@pytest.mark.loads_tf
def test_slices_complex_double_and_whole_numbers_are_understood(tf):
    def rows(value):
        return tf.IndexedSlices(tf.constant([[value]]), tf.constant([0]), tf.constant([4, 1]))

    assert bool(is_finite(None, [rows(1.0), tf.constant([1 + 2j]), tf.constant([7])]))
    assert bool(is_finite(None, [tf.constant([1e100], tf.float64), rows(2.0)]))
    assert not bool(is_finite(None, [rows(NAN)]))
    assert not bool(is_finite(None, [tf.constant([complex(NAN, 0)])]))


@pytest.mark.loads_tf
@pytest.mark.parametrize("way", ["eager", "graph", "xla"])
def test_weights_slots_and_iterations_are_bit_identical_after_a_bad_batch(tf, way):
    import keras

    weight = keras.Variable(np.array([1.0, -0.0], "float32"))
    optimizer = keras.optimizers.Adam(0.1)
    optimizer.build([weight])
    skipped = tf.Variable(0, dtype=tf.int64)

    def step(gradient):
        finite = is_finite(tf.reduce_sum(gradient), [gradient])
        apply_if_finite(lambda: optimizer.apply([gradient], [weight]), finite, skipped)

    run = step if way == "eager" else tf.function(step, jit_compile=way == "xla")
    held = [weight, *optimizer.variables]
    run(tf.constant([1.0, 2.0]))
    before = [one.numpy().tobytes() for one in held]
    run(tf.constant([1.0, NAN]))
    assert [one.numpy().tobytes() for one in held] == before
    assert int(skipped) == 1
    run(tf.constant([1.0, 2.0]))
    assert int(optimizer.iterations) == 2
    assert int(skipped) == 1
    assert weight.numpy().tobytes() != before[0]


def test_asking_for_a_guard_loads_no_keras():
    code = (
        "import sys; from quickfit.tuning.numerics import loss_scale as lookout, guard as skips\n"
        "print(skips.is_guarded(object()), 'keras' in sys.modules, 'numpy' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False False False\n"


@pytest.mark.loads_tf
def test_a_scale_that_grows_is_not_taken_for_one_that_was_halved(tf):
    import keras

    weight = keras.Variable([1.0])
    inner = keras.optimizers.SGD(0.1)
    optimizer = keras.optimizers.LossScaleOptimizer(inner, dynamic_growth_steps=2)
    assert guard.leaves_out(optimizer)
    assert not guard.leaves_out(inner)
    optimizer.build([weight])
    answers = []
    for gradient in (1.0, 1.0, 1.0, float("nan"), float("inf"), 1.0):
        before = guard.skip_state(optimizer)
        optimizer.apply([tf.constant([gradient])], [weight])
        answers.append(bool(guard.was_left_out(optimizer, before)))
    assert answers == [False, False, False, True, True, False]


@pytest.mark.loads_tf
def test_a_scale_of_zero_is_still_left_out(tf):
    import keras

    weight = keras.Variable([1.0])
    optimizer = keras.optimizers.LossScaleOptimizer(keras.optimizers.SGD(0.1))
    optimizer.build([weight])
    optimizer.dynamic_scale.assign(0.0)
    before = guard.skip_state(optimizer)
    optimizer.apply([tf.constant([float("nan")])], [weight])
    assert bool(guard.was_left_out(optimizer, before))


def test_keras_on_another_backend_is_refused_with_the_way_out():
    require_tensorflow("find_nan", "tensorflow")
    said = "find_nan works .* this is Keras on jax. Set KERAS_BACKEND=tensorflow before keras is"
    with pytest.raises(UsageError, match=said):
        require_tensorflow("find_nan", "jax")
