"""A replay leaves no trace: not in variables, layers, nor in TensorFlow itself."""

import pytest

from quickfit.tuning.numerics.nan_step import Culprit, restore_variables, run_eagerly
from quickfit.tuning.numerics.op_watch import NumberTally, first_bad_op, listen_to_layers

from tuning.numerics.faulty_models import batch, layer, model


class Interrupt(BaseException):
    """What Ctrl-C is like."""


@pytest.mark.loads_tf
def test_variables_come_back_after_an_interrupt_also_those_of_tensorflows_own(tf):
    counting = layer("counting", lambda x: x)
    counting.calls = tf.Variable(3.0, trainable=False)
    made = model(counting)
    kernel = made.get_layer("first").kernel
    before = kernel.numpy()

    def interrupted():
        with restore_variables(made, made.optimizer):
            counting.calls.assign(7.0)
            kernel.assign(kernel * 2)
            raise Interrupt

    with pytest.raises(Interrupt):
        interrupted()
    assert float(counting.calls) == 3.0
    assert (kernel.numpy() == before).all()


@pytest.mark.loads_tf
def test_functions_are_compiled_again_after_an_interrupt(tf):
    with run_eagerly():
        assert tf.config.functions_run_eagerly()
    with pytest.raises(Interrupt), run_eagerly():
        raise Interrupt
    assert not tf.config.functions_run_eagerly()


@pytest.mark.loads_tf
def test_layers_are_heard_from_the_inside_out_and_not_any_more_after_an_interrupt(tf):
    import keras

    original = keras.Layer.__call__, keras.Operation.__call__
    made, heard = model(), []
    with listen_to_layers(lambda call: heard.append(call.path)):
        made(batch()[0])
    assert heard[-5:] == ["first", "norm", "drop", "last", "net"]
    with pytest.raises(Interrupt), listen_to_layers(heard.append):
        raise Interrupt
    assert (keras.Layer.__call__, keras.Operation.__call__) == original


@pytest.mark.loads_tf
def test_the_check_of_every_operation_is_off_after_any_error(tf):
    def fails():
        raise Interrupt

    assert first_bad_op(lambda: tf.math.log(tf.constant(2.0))) == (None, None)
    op, place = first_bad_op(lambda: tf.math.log(tf.constant(0.0)))
    assert op == "Log"
    assert place.startswith("test_nan_step.py:")
    with pytest.raises(Interrupt):
        first_bad_op(fails)
    tf.math.log(tf.constant(0.0))


BAD = NumberTally(nan=3, inf=0, size=64, low=-1.0, high=2.5, dtype="float32", first=(0, 7))
FINE = NumberTally(nan=0, inf=0, size=64, low=-2.0, high=0.0, dtype="float32")


def test_a_layer_reads_as_sentence_numbers_and_advice():
    culprit = Culprit(
        kind="layer",
        name="encoder/log",
        found=BAD,
        hint="log(0) is -Inf.",
        given=(("goes in", FINE),),
        op="Log",
        place="train.py:41",
    )
    assert str(culprit).splitlines() == [
        "the layer `encoder/log` went non-finite first, in the operation Log, at train.py:41",
        "  found    3 NaN of 64 float32 numbers, the first at [0, 7]; from -1 to 2.5",
        "  goes in  from -2 to 0 (float32)",
        "  log(0) is -Inf.",
    ]
    assert repr(culprit).startswith("<Culprit layer: the layer `encoder/log` went")


def test_what_was_bad_before_the_step_is_said_so():
    headline = Culprit("input", "x", BAD, "").headline
    assert headline == "the input `x` is not finite, before the step begins"


def test_a_gradient_names_the_first_weights_and_counts_the_others():
    weights = ("a/kernel", "a/bias", "b/kernel", "b/bias")
    culprit = Culprit("gradient", "norm", BAD, "Long advice. " * 12, weights=weights)
    lines = str(culprit).splitlines()
    assert lines[0] == "the gradient, going back through `norm`, went non-finite first"
    assert "  weights  a/kernel, a/bias, b/kernel and 1 more" in lines
    assert all(len(line) <= 100 for line in lines)
