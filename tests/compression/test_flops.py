"""Operations of models, against TensorFlow's own profiler and by hand."""

import pytest

from compression import models
from quickfit.compression.flops import flops, layer_operations
from quickfit.compression.graph import graph_of
from quickfit.errors import ModelError, UsageError

pytestmark = [pytest.mark.loads_tf, pytest.mark.usefixtures("tf")]


def profiled(tf, model, batch=1):
    """Return what TensorFlow's profiler counts for a prediction (2 per multiply-add)."""
    from tensorflow.python.framework.convert_to_constants import (
        convert_variables_to_constants_v2,
    )

    shape = (batch, *model.inputs[0].shape[1:])
    function = tf.function(lambda x: model(x, training=False))
    frozen = convert_variables_to_constants_v2(
        function.get_concrete_function(tf.TensorSpec(shape, tf.float32))
    )
    options = tf.compat.v1.profiler.ProfileOptionBuilder.float_operation()
    options["output"] = "none"
    return tf.compat.v1.profiler.profile(frozen.graph, options=options).total_float_ops


@pytest.mark.parametrize("batch", [1, 3])
def test_convolutions_and_dense_layers_are_counted_as_tensorflow_does(tf, batch):
    import keras

    kinds = keras.layers
    model = keras.Sequential(
        [
            keras.Input((16, 16, 3)),
            kinds.Conv2D(8, 3, padding="same"),
            kinds.Conv2D(8, 3, strides=2, use_bias=False),
            kinds.DepthwiseConv2D(3, depth_multiplier=2),
            kinds.SeparableConv2D(6, 3, padding="same"),
            kinds.Conv2DTranspose(4, 3, strides=2, padding="same"),
            kinds.Flatten(),
            kinds.Dense(10),
        ]
    )
    assert flops(model, batch).total == profiled(tf, model, batch)


def test_groups_and_dilation_are_counted_by_hand():
    import keras

    model = keras.Sequential(
        [
            keras.Input((10, 10, 4)),
            keras.layers.Conv2D(6, 3, groups=2, use_bias=False, name="groups"),
            keras.layers.Conv2D(5, 3, dilation_rate=2, activation="relu", name="dilated"),
        ]
    )
    assert flops(model).by_layer == {
        "groups": 2 * 8 * 8 * 6 * (3 * 3 * 2),
        "dilated": 2 * 4 * 4 * 5 * (3 * 3 * 6) + 2 * 4 * 4 * 5,  # bias and activation
    }


@pytest.mark.parametrize("build", models.ALL, ids=lambda build: build.__name__)
def test_every_model_is_counted_and_custom_layers_are_listed(build):
    counted = flops(build())
    custom = [name for name in counted.uncounted if name.startswith(("gate", "lambda"))]
    assert list(counted.uncounted) == custom
    assert counted.total == sum(counted.by_layer.values()) > 0
    assert bool(custom) == (build is models.custom)


def test_a_shared_layer_counts_as_often_as_it_is_called():
    counted = flops(models.shared())
    assert counted.by_layer["shared"] == 2 * (2 * 8 * 8 * 4 * 9 * 4 + 8 * 8 * 4)


def test_the_batch_is_a_factor():
    model = models.residual()
    assert flops(model, 5).total == 5 * flops(model).total
    assert flops(graph_of(model)).total == flops(model).total


def test_open_sizes_have_to_be_told():
    import keras

    x = keras.Input((None, None, 3), name="image")
    model = keras.Model(x, keras.layers.Conv2D(4, 1, use_bias=False)(x), name="any_size")
    with pytest.raises(ModelError) as caught:
        flops(model)
    assert "'any_size' depend on the size of its input 'image', which is open: (…, …, 3)" in str(
        caught.value
    )
    assert "size=(224, 224)" in str(caught.value)
    assert flops(model, size=(4, 6)).total == 2 * 4 * 6 * 4 * 3
    assert flops(model, size=4).total == 2 * 4 * 4 * 4 * 3
    with pytest.raises(ModelError, match=r"\(\(4, 5, 6\) came\)"):
        flops(model, size=(4, 5, 6))


def test_a_batch_of_nothing_is_told():
    with pytest.raises(UsageError, match="1 or more, and 0 came"):
        flops(models.flattened(), 0)


def test_a_nested_model_that_stays_whole_is_counted_too():
    import keras

    inner = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3)], name="inner")
    x = keras.Input((4, 1))
    assert flops(keras.Model(x, inner(x))).by_layer == {"inner": 2 * 4 * 3 + 3}


def test_recurrent_layers_and_attention_are_counted_by_hand():
    import keras

    kinds = keras.layers
    x = keras.Input((7, 12))
    y = kinds.LSTM(5, return_sequences=True, name="lstm")(x)
    y = kinds.TimeDistributed(kinds.Dense(4), name="each")(y)
    y = kinds.EinsumDense("abc,cd->abd", (None, 6), bias_axes="d", name="einsum")(y)
    y = kinds.MultiHeadAttention(2, 5, name="heads")(y, y)
    y = kinds.Bidirectional(kinds.GRU(3), name="both")(y)
    counted = flops(keras.Model(x, y))
    assert counted.uncounted == ()
    assert counted.by_layer == {
        "lstm": 7 * (2 * 4 * 5 * (12 + 5) + 2 * 4 * 5 + 4 * 5),
        "each": 7 * (2 * 5 * 4 + 4),
        "einsum": 7 * (2 * 4 * 6 + 6),
        "heads": 2 * 7 * 6 * 10 * 4 + 3 * 70 + 42 + 2 * 49 * (10 + 5 + 10),
        "both": 2 * 7 * (2 * 3 * 3 * (6 + 3) + 2 * 3 * 3 + 5 * 3),
    }


def test_attention_counts_the_same_by_place_and_by_name():
    import keras

    x, y, m = keras.Input((3, 4)), keras.Input((5, 4)), keras.Input((3, 5), dtype="bool")
    totals = []
    for settings in ({"value": y}, {"key": y, "value": y, "attention_mask": m}):
        heads = keras.layers.MultiHeadAttention(2, 2)
        totals.append(flops(keras.Model([x, y, m], heads(query=x, **settings))).total)
    assert totals[0] == totals[1]


def test_one_dimension_and_three_are_counted_too():
    import keras

    for kind, shape, places in [("Conv1D", (9, 2), 7), ("Conv3D", (4, 4, 4, 2), 8)]:
        layer = getattr(keras.layers, kind)(3, 3, use_bias=False)
        model = keras.Sequential([keras.Input(shape), layer])
        assert flops(model).total == 2 * places * 3 * 3 ** (len(shape) - 1) * 2


SHAPE = (1, 4, 4, 2)


def test_layers_that_only_move_values_are_free():
    import keras

    for layer in (keras.layers.Dropout(0.5), keras.layers.Flatten(), keras.layers.RandomFlip()):
        assert layer_operations(layer, [SHAPE], [SHAPE]) == 0


def test_layers_that_work_value_by_value_are_counted_per_value():
    import keras

    kinds = keras.layers
    for layer, per_value in [
        (kinds.ReLU(), 1),
        (kinds.Activation("tanh"), 1),
        (kinds.Activation("linear"), 0),
        (kinds.BatchNormalization(), 2),
        (kinds.LayerNormalization(), 7),
        (kinds.Softmax(), 5),
    ]:
        assert layer_operations(layer, [SHAPE], [SHAPE]) == per_value * 32
    assert layer_operations(kinds.Add(), [SHAPE] * 3, [SHAPE]) == 2 * 32
    assert layer_operations(kinds.MaxPooling2D(2), [SHAPE], [(1, 2, 2, 2)]) == 8 * 4
    assert layer_operations(kinds.GlobalAveragePooling2D(), [SHAPE], [(1, 2)]) == 32


def test_a_layer_with_its_own_call_is_not_guessed():
    import keras

    class Odd(keras.layers.Dense):
        def call(self, x):
            return super().call(x) ** 2

    assert layer_operations(Odd(3), [(1, 4)], [(1, 3)]) is None
    assert layer_operations(keras.layers.Resizing(2, 2), [SHAPE], [SHAPE]) is None
    wrapped = keras.layers.TimeDistributed(Odd(3))
    assert layer_operations(wrapped, [(1, 5, 4)], [(1, 5, 3)]) is None


def test_operations_of_keras_are_known_by_name():
    import keras

    x = keras.Input((4, 2))
    made = [x + 1.0, keras.ops.reshape(x, (-1, 8)), keras.ops.sum(x, axis=1), x @ x[:, :2], x / 2]
    nodes = keras.Model(x, made)
    counts = {
        type(op).__name__: layer_operations(op, [(1, 4, 2)], [(1, 4, 2)])
        for op in nodes.operations
        if not isinstance(op, keras.Layer)
    }
    assert counts == {
        "Add": 8,
        "Reshape": 0,
        "Sum": 8,
        "GetItem": 0,
        "Matmul": 2 * 8 * 2,
        "TrueDivide": 8,
    }
    added_up = keras.ops.cumsum(x)
    odd = keras.Model(x, added_up).operations[-1]
    assert layer_operations(odd, [(1, 4, 2)], [(1, 4, 2)]) is None
