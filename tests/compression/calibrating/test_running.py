"""Inner tensors of a model, computed call by call."""

import numpy as np
import pytest

from compression import models
from quickfit.compression.calibration import Running, activations, samples_of
from quickfit.compression.graph import copied, graph_of
from quickfit.errors import UsageError

pytestmark = [pytest.mark.loads_tf, pytest.mark.usefixtures("tf")]


@pytest.mark.parametrize("build", models.ALL, ids=lambda build: build.__name__)
def test_the_outputs_are_those_of_the_model(build):
    model = build()
    graph = graph_of(model)
    data = models.data_for(model)
    samples = samples_of(graph, data)
    batches = list(activations(graph, graph.outputs, samples, batch=5))
    assert [len(next(iter(batch.values()))) for batch in batches] == [5, 5, 2]
    expected = models.results(model, data, training=False)
    for tensor, theirs in zip(graph.outputs, expected, strict=True):
        ours = np.concatenate([batch[tensor] for batch in batches])
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)


def test_inner_tensors_are_those_of_the_layers():
    import keras

    model = models.residual()
    graph = graph_of(model)
    samples = samples_of(graph, models.data_for(model))
    tensors = [graph.call_named(name).outputs[0] for name in ("conv_a", "add")]
    (batch,) = activations(model, tensors, samples)
    for tensor, name in zip(tensors, ("conv_a", "add"), strict=True):
        inner = keras.Model(model.input, model.get_layer(name).output)
        np.testing.assert_allclose(batch[tensor], inner(samples.arrays[0]), atol=1e-5)


def test_a_layer_that_got_new_weights_on_the_way_uses_them():
    model = copied(models.residual())
    graph = graph_of(model)
    samples = samples_of(graph, models.data_for(model))
    call, last = graph.call_named("conv_b"), graph.outputs[0]
    running = Running(graph, samples, [call.inputs[0], last], batch=5)
    before = running.until(call.inputs[0])
    assert before.shape == (12, 8, 8, 8)
    call.layer.set_weights([np.zeros_like(w) for w in call.layer.get_weights()])
    np.testing.assert_allclose(running.until(last), model(samples.arrays[0]), atol=1e-5)


def test_only_what_is_still_needed_is_kept():
    graph = graph_of(models.residual())
    samples = samples_of(graph, np.zeros((2, 8, 8, 3)))
    shortcut, conv = graph.call_named("stem_act").outputs[0], graph.call_named("conv_a")
    running = Running(graph, samples, [conv.outputs[0], graph.outputs[0]])
    running.until(conv.outputs[0])
    assert set(running._values[0]) == {shortcut, conv.outputs[0]}
    running.until(graph.outputs[0])
    assert running._values[0] == {}


def test_what_was_not_announced_is_not_there():
    graph = graph_of(models.residual())
    samples = samples_of(graph, np.zeros((2, 8, 8, 3)))
    running = Running(graph, samples, [graph.outputs[0]])
    with pytest.raises(UsageError, match="The tensor 3 is not there: name it in `wanted`"):
        running.until(3)
    running.until(graph.outputs[0])
    with pytest.raises(UsageError, match="as often as you ask"):
        running.until(graph.outputs[0])


def test_nothing_sticks_to_the_layers_of_the_model():
    import keras

    x = keras.Input((3,))
    y = keras.layers.Dense(4, activity_regularizer="l2")(x)
    y = keras.layers.Dropout(0.5)(keras.layers.BatchNormalization()(y), training=True)
    model = keras.Model(x, y)
    before = [np.asarray(variable).copy() for variable in model.variables]
    graph = graph_of(model)
    list(activations(graph, graph.outputs, samples_of(graph, np.ones((4, 3)))))
    assert model.losses == []
    for variable, value in zip(model.variables, before, strict=True):
        np.testing.assert_array_equal(variable, value)
