"""A replay leaves no trace: not in variables, layers, nor in TensorFlow itself."""

import pytest

from quickfit.tuning.numerics.blame import first_bad_op
from quickfit.tuning.numerics.listening import listening
from quickfit.tuning.numerics.replay import eagerly, unchanged

from tuning.numerics.faulty_models import batch, layer, model

pytestmark = pytest.mark.loads_tf


class Interrupt(BaseException):
    """What Ctrl-C is like."""


def test_variables_come_back_after_an_interrupt_also_those_of_tensorflows_own(tf):
    counting = layer("counting", lambda x: x)
    counting.calls = tf.Variable(3.0, trainable=False)
    made = model(counting)
    kernel = made.get_layer("first").kernel
    before = kernel.numpy()

    def interrupted():
        with unchanged(made, made.optimizer):
            counting.calls.assign(7.0)
            kernel.assign(kernel * 2)
            raise Interrupt

    with pytest.raises(Interrupt):
        interrupted()
    assert float(counting.calls) == 3.0
    assert (kernel.numpy() == before).all()


def test_functions_are_compiled_again_after_an_interrupt(tf):
    with eagerly():
        assert tf.config.functions_run_eagerly()
    with pytest.raises(Interrupt), eagerly():
        raise Interrupt
    assert not tf.config.functions_run_eagerly()


def test_layers_are_heard_from_the_inside_out_and_not_any_more_after_an_interrupt(tf):
    import keras

    original = keras.Layer.__call__, keras.Operation.__call__
    made, heard = model(), []
    with listening(lambda call: heard.append(call.path)):
        made(batch()[0])
    assert heard[-5:] == ["first", "norm", "drop", "last", "net"]
    with pytest.raises(Interrupt), listening(heard.append):
        raise Interrupt
    assert (keras.Layer.__call__, keras.Operation.__call__) == original


def test_the_check_of_every_operation_is_off_after_any_error(tf):
    def fails():
        raise Interrupt

    assert first_bad_op(lambda: tf.math.log(tf.constant(2.0))) == (None, None)
    op, place = first_bad_op(lambda: tf.math.log(tf.constant(0.0)))
    assert op == "Log"
    assert place.startswith("test_replay.py:")
    with pytest.raises(Interrupt):
        first_bad_op(fails)
    tf.math.log(tf.constant(0.0))
