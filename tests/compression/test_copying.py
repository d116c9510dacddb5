"""Fresh copies of layers, and errors about layers that cannot be copied."""

import numpy as np
import pytest

from compression import models
from quickfit.compression.copying import copied, copy_state, fresh_layer, rebuild_graph
from quickfit.compression.graph import graph_of
from quickfit.errors import ModelError

pytestmark = [pytest.mark.loads_tf, pytest.mark.usefixtures("tf")]


def model_of(layer, shape=(4,), dtype=None):
    import keras

    x = keras.Input(shape, dtype=dtype)
    return keras.Model(x, layer(x))


def test_a_fresh_layer_differs_only_where_it_is_told_to():
    import keras

    layer = keras.layers.Conv2D(8, 3, padding="same", activation="relu", name="conv")
    copy = fresh_layer(layer, filters=5, name="other")
    assert (copy.filters, copy.kernel_size, copy.padding) == (5, (3, 3), "same")
    assert copy.activation is layer.activation
    assert (copy.name, copy.built) == ("other", False)
    assert fresh_layer(layer).name == "conv"


def test_a_function_of_the_user_is_used_as_it_is():
    import keras

    def relu(x):
        return x - 1

    assert fresh_layer(keras.layers.Dense(2, activation=relu)).activation is relu


def test_an_attribute_that_only_shares_its_name_with_an_argument_is_not_handed_on():
    import keras

    class Chosen(keras.layers.Layer):
        def __init__(self, mode="double", scale=2.0, **settings):
            super().__init__(**settings)
            self.mode = {"double": lambda x: 2 * x}[mode]
            self.factor = scale

        def scale(self, x):
            return x * self.factor

        def call(self, x):
            return self.scale(self.mode(x))

        def get_config(self):
            return {**super().get_config(), "mode": "double", "scale": self.factor}

    assert fresh_layer(Chosen(scale=3.0)).factor == 3.0


def test_a_function_of_a_users_class_is_not_mistaken_for_that_of_keras():
    import keras

    def relu(x):
        return x - 1

    class Own(keras.layers.Layer):
        def __init__(self, activation, **settings):
            super().__init__(**settings)
            self.activation = keras.activations.get(activation)

        def call(self, x):
            return self.activation(x)

        def get_config(self):
            name = self.activation.__name__
            return {**super().get_config(), "activation": name}

    assert fresh_layer(Own(relu)).activation is relu


def test_classes_that_nobody_registered_are_found_inside_wrappers():
    import keras

    class Odd(keras.layers.Layer):
        def call(self, x):
            return 2 * x

    class Ones(keras.initializers.Initializer):
        def __call__(self, shape, dtype=None):
            return keras.ops.ones(shape, dtype)

    wrapped = keras.layers.TimeDistributed(Odd())
    assert type(fresh_layer(wrapped).layer) is Odd
    assert isinstance(
        fresh_layer(keras.layers.Dense(2, kernel_initializer=Ones())).kernel_initializer, Ones
    )


def test_what_adapt_learned_is_copied():
    import keras

    norm = keras.layers.Normalization()
    norm.adapt(np.arange(40.0).reshape(10, 4))
    model = model_of(norm)
    data = models.data_for(model)
    copy = rebuild_graph(graph_of(model))
    np.testing.assert_array_equal(models.results(copy, data), models.results(model, data))


def test_a_vocabulary_is_copied(tf):
    import keras

    lookup = keras.layers.StringLookup()
    lookup.adapt(["cat", "dog", "dog"])
    model = model_of(lookup, shape=(2,), dtype="string")
    words = tf.constant([["dog", "cow"], ["cat", "dog"]])
    copy = rebuild_graph(graph_of(model))
    np.testing.assert_array_equal(models.results(copy, words), models.results(model, words))


def test_flags_of_layers_inside_a_layer_are_copied():
    model = models.custom()
    gate = next(layer for layer in model.layers if type(layer).__name__ == "Gate")
    gate.dense.trainable = False
    copy = rebuild_graph(graph_of(model))
    assert len(copy.trainable_variables) == len(model.trainable_variables)


@pytest.mark.filterwarnings("ignore:__array__ implementation")  # inside Keras
def test_quantized_and_low_rank_layers_are_copied():
    import keras

    model = model_of(keras.layers.Dense(6))
    model.layers[-1].quantize("int8")
    low = model_of(keras.layers.Dense(6))
    low.layers[-1].enable_lora(2)
    low.layers[-1].lora_kernel_b.assign(np.ones((2, 6)))
    for one in (model, low):
        data = models.data_for(one)
        copy = rebuild_graph(graph_of(one))
        np.testing.assert_array_equal(models.results(copy, data), models.results(one, data))


def test_a_layer_without_a_configuration_is_named_with_the_reason():
    import keras

    class Secret(keras.layers.Layer):
        def __init__(self, table):
            super().__init__(name="secret")
            self.table = table

        def call(self, x):
            return x * self.table

    with pytest.raises(ModelError) as caught:
        rebuild_graph(graph_of(model_of(Secret(np.ones(4, "float32")))))
    assert "'secret' (Secret) cannot be copied" in str(caught.value)
    assert "Give Secret a get_config()" in str(caught.value)


def test_a_layer_whose_constructor_fails_is_named_with_the_reason():
    import keras

    class Picky(keras.layers.Layer):
        made = False

        def __init__(self, units=2, **settings):
            super().__init__(**settings)
            if Picky.made:
                raise ValueError("only one of a kind")
            Picky.made = True

        def call(self, x):
            return x

    with pytest.raises(ModelError, match=r"cannot be copied: .*only one of a kind"):
        rebuild_graph(graph_of(model_of(Picky())))


def test_a_copy_with_other_weights_is_an_error():
    import keras

    class Forgetful(keras.layers.Layer):
        def __init__(self, units=2, **settings):
            super().__init__(**settings)
            self.units = units

        def build(self, shape):
            self.kernel = self.add_weight(shape=(shape[-1], self.units))

        def call(self, x):
            return x @ self.kernel

        def get_config(self):
            return super().get_config()  # the units are missing

    layer = Forgetful(5, name="forgetful")
    model = model_of(layer)
    with pytest.raises(
        ModelError, match=r"'forgetful'.*\[\(4, 2\)\], the layer itself \[\(4, 5\)\]"
    ):
        rebuild_graph(graph_of(model))
    with pytest.raises(ModelError, match="cannot be copied"):
        copy_state(layer, keras.layers.Dense(2))


def test_losses_of_the_user_and_settings_are_kept():
    import keras

    def loss(y, p):
        return keras.ops.mean((y - p) ** 2, axis=-1)

    model = models.flattened()
    metric = keras.metrics.MeanAbsoluteError(name="mae")
    model.compile(keras.optimizers.SGD(0.25, momentum=0.5), loss, metrics=[metric])
    copy = copied(model)
    assert (float(copy.optimizer.learning_rate), copy.optimizer.momentum) == (0.25, 0.5)
    assert copy.loss is loss
    data, labels = models.data_for(model), np.zeros((12, 3))
    expected = model.evaluate(data, labels, verbose=0)
    assert copy.evaluate(data, labels, verbose=0) == expected
    assert copy.metrics[1] is not metric


def test_losses_by_output_name_survive_dissolved_models():
    model = models.nested_sequential()
    model.compile("sgd", loss={"head": "mse"})
    copy = copied(model)
    assert copy.evaluate(models.data_for(model), np.zeros((12, 2)), verbose=0) > 0


def test_an_optimizer_that_cannot_be_copied_is_named():
    import keras

    class Odd(keras.optimizers.SGD):
        def __init__(self, secret, **settings):
            super().__init__(**settings)

    model = models.flattened()
    model.compile(Odd(object()), "mse")
    with pytest.raises(ModelError, match=r"its Odd '.*' cannot be copied"):
        copied(model)
