"""Which optimizers leave updates out, and how it shows."""

import subprocess
import sys

import pytest

from quickfit.tuning.numerics import skips


def test_asking_for_a_guard_loads_no_keras():
    code = (
        "import sys; from quickfit.tuning.numerics import lookout, skips\n"
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
    assert skips.leaves_out(optimizer)
    assert not skips.leaves_out(inner)
    optimizer.build([weight])
    answers = []
    for gradient in (1.0, 1.0, 1.0, float("nan"), float("inf"), 1.0):
        before = skips.state_of(optimizer)
        optimizer.apply([tf.constant([gradient])], [weight])
        answers.append(bool(skips.was_left_out(optimizer, before)))
    assert answers == [False, False, False, True, True, False]


@pytest.mark.loads_tf
def test_a_scale_of_zero_is_still_left_out(tf):
    import keras

    weight = keras.Variable([1.0])
    optimizer = keras.optimizers.LossScaleOptimizer(keras.optimizers.SGD(0.1))
    optimizer.build([weight])
    optimizer.dynamic_scale.assign(0.0)
    before = skips.state_of(optimizer)
    optimizer.apply([tf.constant([float("nan")])], [weight])
    assert bool(skips.was_left_out(optimizer, before))
