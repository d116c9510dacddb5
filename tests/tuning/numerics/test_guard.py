"""The guard in the graph: what counts as finite, and that nothing moves when it is not."""

import numpy as np
import pytest

from quickfit.tuning.numerics.guard import apply_if_finite, is_finite

pytestmark = pytest.mark.loads_tf

NAN, INF = float("nan"), float("inf")


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


def test_half_precision_has_room_for_its_squares(tf):
    gradient = tf.constant([60000.0], tf.float16)
    assert bool(is_finite(tf.constant(1.0, tf.float16), [gradient]))
    assert not bool(is_finite(None, [gradient * 2]))
    assert bool(is_finite(None, [tf.constant([1e30], tf.bfloat16) * 1e-15]))


def test_slices_complex_double_and_whole_numbers_are_understood(tf):
    def rows(value):
        return tf.IndexedSlices(tf.constant([[value]]), tf.constant([0]), tf.constant([4, 1]))

    assert bool(is_finite(None, [rows(1.0), tf.constant([1 + 2j]), tf.constant([7])]))
    assert bool(is_finite(None, [tf.constant([1e100], tf.float64), rows(2.0)]))
    assert not bool(is_finite(None, [rows(NAN)]))
    assert not bool(is_finite(None, [tf.constant([complex(NAN, 0)])]))


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
