"""Layers refitted to the inputs that are left."""

import numpy as np
import pytest

from compression import models
from compression.pruning import nets
from quickfit.compression.calibration import samples_of
from quickfit.compression.copying import copied
from quickfit.compression.graph import graph_of
from quickfit.compression.least_squares import solve_least_squares
from quickfit.compression.pruning.channel_removal import channel_groups, cut_channels, plan_removal
from quickfit.compression.pruning.channels import trace_channels
from quickfit.compression.pruning.refitting import (
    MOST_WORK,
    PULLS,
    ROWS_PER_WEIGHT,
    SHARED_LAYER,
    FitRows,
    affordable_rows,
    best_pull,
    fit_weights,
    matrix_of,
    pick_places,
    refit_order,
    refit_pruned,
    ridge_solver,
    rows_of,
    same_tensors,
    set_matrix,
)
from quickfit.errors import ModelError


@pytest.mark.parametrize("weights", [1, 9, 500, 2000, 3000, 3634, 3700, 5000, 25088, 10**6])
def test_wide_layers_get_fewer_rows_so_that_the_work_is_bounded(weights):
    rows = affordable_rows(weights)
    assert 1 <= rows <= ROWS_PER_WEIGHT
    assert min(rows, weights) ** 2 * max(rows, weights) <= 1.01 * MOST_WORK


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_it_tells_how_well_each_layer_is_reproduced_and_which_could_not_be():
    model = nets.nested()
    trace = trace_channels(graph_of(model))
    plan = plan_removal(trace, channel_groups(trace), 0.5, 1)
    student = cut_channels(plan)
    done = refit_pruned(plan, student, samples_of(model, models.data_for(model, 50)))
    assert list(done.errors) == ["head"]
    assert 0 < done.errors["head"] < 1.5
    assert done.left == {"inside": SHARED_LAYER, "back": SHARED_LAYER}


def problem(count, features, noise=0.0, bias=True):
    """Return rows whose targets are a weighted sum of them, and the weights of that sum."""
    draw = np.random.default_rng(0)
    x = draw.normal(size=(count, features)).astype("float32") + 1
    weights = draw.normal(size=(features, 2))
    y = x @ weights + (3.0 if bias else 0.0) + noise * draw.normal(size=(count, 2))
    return FitRows(x, y, np.arange(count), bias), weights


@pytest.mark.parametrize("bias", [True, False])
def test_many_rows_find_the_weights(bias):
    rows, weights = problem(600, 8, bias=bias)
    fit = fit_weights(rows, np.zeros((8, 2)), "layer")
    np.testing.assert_allclose(fit.weights, weights, atol=0.02)
    assert (fit.bias is None) is not bias
    assert fit.error < 0.01


@pytest.mark.parametrize("bias", [True, False])
def test_through_rows_the_answer_is_the_one_of_least_squares(bias):
    rows, weights = problem(12, 30, noise=0.1, bias=bias)
    prior = weights * 0.9
    expected = solve_least_squares(rows.inputs, rows.targets, prior, 0.1, bias=bias)
    fit = ridge_solver(rows, prior)(0.1)
    np.testing.assert_allclose(fit.weights, expected.weights, atol=1e-6)
    assert fit.error == pytest.approx(expected.error, abs=1e-6)
    if bias:
        np.testing.assert_allclose(fit.bias, expected.bias, atol=1e-6)


def test_few_noisy_rows_leave_good_old_weights_nearly_as_they_are():
    rows, weights = problem(40, 60, noise=10.0)
    fit = fit_weights(rows, weights, "layer")
    careless = ridge_solver(rows, weights)(PULLS[0])
    errors = [np.abs(one.weights - weights).max() for one in (fit, careless)]
    assert errors[0] < 0.1 * errors[1]


def test_few_clean_rows_are_learned_from():
    rows, _ = problem(200, 60)
    assert best_pull(rows, np.zeros((60, 2))) == PULLS[0]


def test_one_sample_is_too_few_to_hold_any_out():
    rows, weights = problem(1, 5)
    assert best_pull(rows, weights) == PULLS[-1]


def test_rows_of_one_sample_are_held_out_together():
    rows, weights = problem(40, 30, noise=1.0)
    one_sample = FitRows(rows.inputs, rows.targets, np.full(40, 3), bias=True)
    assert best_pull(one_sample, weights) == PULLS[-1]


def test_constant_rows_keep_the_old_weights():
    rows = FitRows(np.zeros((3, 5), "float32"), np.zeros((3, 2)), np.arange(3), bias=True)
    prior = np.ones((5, 2))
    np.testing.assert_array_equal(fit_weights(rows, prior, "layer").weights, prior)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_values_that_are_not_finite_name_the_layer(value):
    rows, weights = problem(10, 4)
    rows.inputs[0, 0] = value
    with pytest.raises(ModelError) as error:
        fit_weights(rows, weights, "conv_3")
    assert "'conv_3' cannot be refitted" in str(error.value)
    assert "numpy.isfinite" in str(error.value)


def order_of(model):
    trace = trace_channels(graph_of(model))
    layers, looping = refit_order(plan_removal(trace, channel_groups(trace), 0.5, 1))
    return [calls[0].name for calls in layers], looping


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_layers_are_refitted_after_those_that_their_inputs_come_through():
    names, looping = order_of(nets.residual())
    # What reads nothing but the model's input has nothing to be refitted to.
    assert set(names) == {"conv", "squeeze", "excite", "gate", "last", "head"}
    assert names.index("conv") < names.index("squeeze") < names.index("excite")
    assert names[-1] == "head"
    assert not looping


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_a_shared_layer_comes_after_the_layers_of_all_its_calls():
    import keras

    layers = keras.layers
    inputs = keras.Input((6,))
    shared = layers.Dense(6, name="shared")
    early = shared(layers.Dense(6, name="a")(inputs))
    late = layers.Dense(6, name="c")(layers.Dense(6, name="b")(inputs))
    x = layers.Concatenate()([early, shared(late)])
    names, _ = order_of(keras.Model(inputs, layers.Dense(2, name="head")(x)))
    assert names == ["c", "shared", "head"]


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_a_layer_that_reads_its_own_results_is_left_and_others_go_on():
    names, looping = order_of(nets.nested())
    assert sorted(looping) == ["back", "inside"]
    assert names == ["head"]


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
@pytest.mark.parametrize("net", [models.nested_twice, nets.nested, nets.shared, models.named])
def test_tensors_are_found_again(net):
    model = net()
    graph, other = graph_of(model), graph_of(copied(model))
    numbers = same_tensors(graph, other)
    assert [numbers[tensor] for tensor in graph.outputs] == list(other.outputs)
    for call in graph.calls:
        producer = other.producer(numbers[call.outputs[0]])
        assert producer.name == call.name
        assert producer.inputs == tuple(numbers[tensor] for tensor in call.inputs)


def layers():
    from keras import layers

    return [
        (layers.Dense(4), (5, 3)),
        (layers.Dense(4), (5, 6, 3)),
        (layers.Conv1D(4, 3), (5, 9, 3)),
        (layers.Conv1D(4, 3, padding="causal", dilation_rate=2), (5, 9, 3)),
        (layers.Conv1D(4, 3, padding="causal", strides=2), (5, 9, 3)),
        (layers.Conv2D(4, (3, 2), padding="same"), (5, 7, 6, 3)),
        (layers.Conv2D(4, 3, padding="same", strides=2), (5, 7, 6, 3)),
        (layers.Conv2D(4, 3, padding="same", strides=(3, 2)), (5, 8, 7, 3)),
        (layers.Conv2D(4, 1, padding="same", strides=2), (5, 7, 6, 3)),
        (layers.Conv2D(4, (2, 3), strides=2), (5, 7, 8, 3)),
        (layers.Conv2D(4, 3, padding="same", dilation_rate=(2, 1)), (5, 7, 6, 3)),
        (layers.Conv3D(4, 2, padding="same"), (2, 4, 5, 3, 3)),
        (layers.SeparableConv1D(4, 3, padding="same", depth_multiplier=2), (5, 9, 3)),
        (layers.SeparableConv2D(4, 3, padding="same", strides=2), (5, 7, 8, 3)),
        (layers.SeparableConv2D(4, 3, depth_multiplier=2), (5, 7, 8, 3)),
    ]


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
@pytest.mark.parametrize("number", range(15))
def test_rows_times_the_kernel_are_what_the_layer_makes(number):
    layer, shape = layers()[number]
    values = np.random.default_rng(0).normal(size=shape).astype("float32")
    expected = np.asarray(layer(values)).reshape(-1, 4)
    places = pick_places(layer, shape, len(expected), np.random.default_rng(0))
    made = rows_of(layer, values, places) @ matrix_of(layer)
    np.testing.assert_allclose(made, expected, atol=1e-5)


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_some_places_are_drawn_where_there_are_many():
    from keras import layers

    layer = layers.Conv2D(4, 3, strides=2)
    values = np.random.default_rng(0).normal(size=(6, 9, 9, 3)).astype("float32")
    expected = np.asarray(layer(values)).reshape(-1, 4)
    places = pick_places(layer, values.shape, 10, np.random.default_rng(0))
    assert len(places) == len(set(places.tolist())) == 10
    made = rows_of(layer, values, places) @ matrix_of(layer)
    np.testing.assert_allclose(made, expected[places], atol=1e-5)


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_channels_may_come_first():
    from keras import layers

    values = np.random.default_rng(0).normal(size=(5, 6, 7, 3)).astype("float32")
    first = layers.Conv2D(4, 3, padding="same", data_format="channels_first")
    last = layers.Conv2D(4, 3, padding="same", data_format="channels_last")
    first.build((None, 3, 6, 7))
    last.build((None, 6, 7, 3))
    shape = (5, 3, 6, 7)
    places = pick_places(first, shape, 100, np.random.default_rng(0))
    np.testing.assert_array_equal(
        places, pick_places(last, values.shape, 100, np.random.default_rng(0))
    )
    np.testing.assert_array_equal(
        rows_of(first, np.moveaxis(values, -1, 1), places), rows_of(last, values, places)
    )


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_a_matrix_is_given_back_to_the_layer():
    from keras import layers

    layer = layers.Conv2D(4, (3, 2))
    layer.build((None, 5, 5, 3))
    matrix = np.random.default_rng(0).normal(size=(18, 4))
    set_matrix(layer, matrix, np.arange(4.0))
    np.testing.assert_allclose(matrix_of(layer), matrix, rtol=1e-6)
    np.testing.assert_array_equal(layer.bias, np.arange(4.0))
