"""Every private attribute of Keras that the walker reads is still there and means the same."""

import pytest

from compression import models
from quickfit.compression import keras_internals

pytestmark = [pytest.mark.loads_tf, pytest.mark.usefixtures("tf")]

GONE = "this release of Keras has changed `{}`: adapt quickfit.compression.keras_internals"


def test_a_tensor_knows_the_call_that_made_it():
    model = models.residual()
    tensor = model.outputs[0]
    assert hasattr(tensor, "_keras_history"), GONE.format("KerasTensor._keras_history")
    assert hasattr(model.layers[0], "_inbound_nodes"), GONE.format("Operation._inbound_nodes")
    node = keras_internals.node_of(tensor)
    assert node.operation is model.get_layer("head"), GONE.format("Node.operation")
    assert node.outputs[0] is tensor, GONE.format("Node.outputs")
    assert node.input_tensors[0] is model.get_layer("pool").output, GONE.format(
        "Node.input_tensors"
    )


def test_a_call_knows_its_arguments():
    import keras

    x = keras.Input((3,))
    y = keras.layers.Dropout(0.5)(x, training=True)
    args, kwargs = keras_internals.arguments_of(keras_internals.node_of(y))
    assert args == (x,), GONE.format("Node.arguments.args")
    assert kwargs["training"] is True, GONE.format("Node.arguments.kwargs")


def test_a_sequential_has_a_functional_model_inside():
    import keras

    model = models.sequential()
    assert hasattr(model, "_functional"), GONE.format("Sequential._functional")
    body = keras_internals.body_of(model)
    assert body.outputs[0] is model.outputs[0], GONE.format("Sequential._functional")
    assert keras_internals.body_of(keras.Sequential([keras.layers.Dense(2)])) is None
    assert keras_internals.body_of(keras.layers.Dense(2)) is None


def test_layers_take_training_and_operations_do_not():
    import keras

    layer = keras.layers.Dropout(0.5)
    assert keras_internals.takes_training(layer), GONE.format("Layer._call_context_args")
    assert not keras_internals.takes_training(models.with_operations().operations[2])


def test_a_twin_of_an_operation_shares_no_calls_with_it():
    model = models.with_operations()
    operation = next(op for op in model.operations if op.name.startswith("mean"))
    twin = keras_internals.twin_of(operation)
    assert twin._inbound_nodes == twin._outbound_nodes == [], GONE.format("Operation.*_nodes")
    assert len(operation._inbound_nodes) == 1
    assert (twin.name, twin.axis) == (operation.name, operation.axis)


def test_layers_inside_a_layer_are_found():
    import keras

    wrapper = keras.layers.TimeDistributed(keras.layers.Dense(2))
    assert hasattr(wrapper, "_flatten_layers"), GONE.format("Layer._flatten_layers")
    assert keras_internals.with_sublayers(wrapper) == [wrapper, wrapper.layer]


def test_a_lambda_remembers_its_output_shape():
    import keras

    layer = keras.layers.Lambda(lambda x: x, output_shape=(3,))
    assert hasattr(layer, "_output_shape"), GONE.format("Lambda._output_shape")
    assert keras_internals.output_shape_of_lambda(layer) == (3,)


def test_a_model_remembers_how_it_was_compiled():
    def loss(y, p):
        return (y - p) ** 2

    model = models.flattened()
    model.compile("sgd", loss, steps_per_execution=3)
    assert hasattr(model, "_compile_config"), GONE.format("Trainer._compile_config")
    arguments = keras_internals.compile_arguments(model)
    assert arguments["loss"] is loss, GONE.format("Trainer._compile_config.config")
    assert arguments["steps_per_execution"] == 3
