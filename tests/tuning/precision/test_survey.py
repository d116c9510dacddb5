"""Tests of what a model itself says about 16 bits."""

import pytest

from quickfit.tuning.precision.survey import layer_costs, step_flops, survey_model, survey_speed

pytestmark = pytest.mark.loads_tf


def dense(*sizes, inputs=64, **options):
    import keras

    layers = [keras.layers.Dense(size, name=f"d{n}", **options) for n, size in enumerate(sizes)]
    return keras.Sequential([keras.Input((inputs,)), *layers])


def told(reasons):
    return {reason.topic: reason.text for reason in reasons}


def test_nothing_is_said_where_all_is_well(models):
    model = dense(4096, 4096, 8, inputs=4096)
    model.compile("adam", "mse")
    assert survey_model(model, "mixed_float16") == []
    assert survey_speed(model, batch=32) == []


def test_float16_layers_without_loss_scaling_are_found_in_a_float32_model(models):
    model = dense(8, 8, dtype="mixed_float16")
    model.compile("adam", "mse")  # Keras wraps nothing: the model itself is float32
    text = told(survey_model(model, "mixed_float16"))["loss scale"]
    assert text.startswith("float16 without loss scaling (d0, d1): small gradients become 0")
    assert "LossScaleOptimizer(optimizer)" in text


@pytest.mark.parametrize("is_static", [True, False])
def test_loss_scaling_that_is_there_is_seen(models, is_static):
    import keras

    inner = keras.optimizers.Adam(loss_scale_factor=1024.0 if is_static else None)
    model = dense(8, 8, dtype="mixed_float16")
    model.compile(inner if is_static else keras.optimizers.LossScaleOptimizer(inner), "mse")
    assert "loss scale" not in told(survey_model(model, "mixed_float16"))


def test_ids_that_keras_would_round_are_told(models):
    import keras

    model = keras.Sequential([keras.layers.Embedding(5000, 2, name="lookup")])
    text = told(survey_model(model, "mixed_bfloat16"))["ids"]
    assert "begins with 'lookup' (Embedding) and does not say that ids go into it" in text
    assert 'keras.Input((None,), dtype="int32")' in text


def test_an_output_in_16_bits_is_found(models):
    text = told(survey_model(dense(8, 3, dtype="mixed_bfloat16"), "mixed_bfloat16"))["output"]
    assert "the output comes from d1 in 16 bits" in text
    assert 'dtype="float32"' in text


def test_a_loss_in_float16_is_found(models):
    import keras

    model = dense(8)
    model.compile("sgd", keras.losses.MeanSquaredError(dtype="float16"))
    assert (
        "MeanSquaredError is computed in float16"
        in told(survey_model(model, "mixed_float16"))["loss"]
    )


def test_an_epsilon_that_is_0_in_float16_is_found_also_inside_a_class_of_its_own(models):
    model = models.OwnModel()
    model.part = models.Dividing(name="dividing")
    text = told(survey_model(model, "mixed_float16"))["epsilon"]
    assert "'dividing' (Dividing) has eps = 1e-12, which is 0 in float16" in text
    assert "epsilon" not in told(survey_model(model, "mixed_bfloat16"))


def test_other_types_are_told(models):
    import keras

    inputs = keras.Input((8,))
    x = keras.layers.Dense(8, dtype="float64", name="double")(inputs)
    x = keras.layers.Dense(8, dtype="float16", name="pure")(x)
    x = keras.layers.Dense(8, dtype="mixed_bfloat16", name="mixed")(x)
    reasons = survey_model(keras.Model(inputs, keras.layers.Dense(1)(x)), "mixed_bfloat16")
    texts = [reason.text for reason in reasons]
    assert "float64 is left as it is (double)" in texts
    assert "1 of 4 layers are in mixed_bfloat16 already" in texts
    assert any(
        "weights in float16, where small updates are lost (pure): use mixed_float16" in t
        for t in texts
    )


def test_a_layer_of_the_users_without_casting_is_told(models):
    import keras

    layer = models.Dividing(eps=1e-3, autocast=False, name="raw")
    model = keras.Sequential([keras.Input((8,)), layer, keras.layers.LayerNormalization()])
    assert "autocast is off (raw)" in told(survey_model(model, "mixed_float16"))["casting"]


def test_a_small_model_is_told_with_its_size(models):
    text = told(survey_speed(dense(16, 8), batch=16))["size"]
    assert "a step of 16 samples is about 0.1 million operations" in text
    assert "steps_per_execution" in text


def test_odd_sizes_are_told_with_their_share_and_the_head_is_not_blamed(models):
    found = told(survey_speed(dense(4096, 1021, 10, inputs=4096), batch=32))
    assert found["dimensions"].startswith("20 % of the multiplications are in layers whose units")
    assert found["dimensions"].endswith("d1 (1021)")


def test_few_odd_sizes_are_not_worth_a_word(models):
    assert "dimensions" not in told(survey_speed(dense(4096, 13, 10, inputs=4096)))


def test_an_odd_batch_is_told_with_a_better_one(models):
    assert told(survey_speed(dense(8), batch=30))["batch"].endswith("no multiple of 8: 32 is")
    assert "batch" not in told(survey_speed(dense(8), batch=32))


def test_a_model_that_is_not_built_says_so(models):
    import keras

    model = keras.Sequential([keras.layers.Dense(8)])
    assert "not built" in told(survey_speed(model))["size"]


def products(model):
    return {cost.layer.name: cost.products for cost in layer_costs(model)}


def test_dense_layers_multiply_once_and_convolutions_at_every_pixel(models):
    import keras

    layers = keras.layers
    model = keras.Sequential(
        [
            keras.Input((8, 8, 3)),
            layers.Conv2D(4, 3, strides=2, padding="same", name="conv"),
            layers.BatchNormalization(),
            layers.Conv2DTranspose(2, 3, strides=2, padding="same", name="up"),
            layers.Flatten(),
            layers.Dense(10, name="dense"),
        ]
    )
    expected = {"conv": 3 * 3 * 3 * 4 * 16, "up": 3 * 3 * 2 * 4 * 16, "dense": 128 * 10}
    assert products(model) == expected
    assert step_flops(layer_costs(model), 2) == 6 * 2 * sum(expected.values())


def test_recurrent_layers_multiply_at_every_step_and_lookups_never(models):
    import keras

    layers = keras.layers
    stack = [keras.Input((6,)), layers.Embedding(50, 8), layers.LSTM(4, name="lstm")]
    assert products(keras.Sequential(stack)) == {"lstm": (8 * 16 + 4 * 16) * 6}


def test_a_shared_layer_counts_every_time(models):
    import keras

    one, two = keras.Input((8,)), keras.Input((8,))
    shared = keras.layers.Dense(4, name="shared")
    model = keras.Model([one, two], shared(one) + shared(two))
    assert products(model) == {"shared": 2 * 32}


def test_layers_of_unknown_size_count_once(models):
    import keras

    stack = [keras.Input((None, None, 3)), keras.layers.Conv2D(4, 3, name="conv")]
    assert products(keras.Sequential(stack)) == {"conv": 108}


def test_a_model_of_its_own_class_is_counted_by_its_weights(models):
    import numpy as np

    model = models.OwnModel()
    assert products(model) == {}
    model(np.ones((1, 4), "float32"))
    assert sorted(products(model).values()) == [8, 32]
