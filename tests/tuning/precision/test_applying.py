"""`apply_precision` on models of every kind."""

import numpy as np
import pytest

from quickfit.errors import ModelError, UsageError
from quickfit.tuning.precision.applying import (
    HalfLossError,
    apply_precision,
    batch_for,
    failed_layer,
    rehearse_model,
    require_whole_losses,
    short_error,
)

KINDS = ("classifier", "functional", "nested", "words", "attention")


def compiled(kind):
    """Return a model of a kind, compiled, with its batch."""
    import keras

    model, x, y, loss = kind()
    schedule = keras.optimizers.schedules.ExponentialDecay(1e-2, 10, 0.9)
    model.compile(keras.optimizers.Adam(schedule, global_clipnorm=1.0), loss)
    return model, x, y


def outputs(model, x):
    import keras

    return [np.asarray(one) for one in keras.tree.flatten(model(x, training=False))]


def update(model, before):
    """Return how far all weights have moved."""
    pairs = zip(model.get_weights(), before, strict=True)
    return np.concatenate([np.ravel(now - then) for now, then in pairs])


@pytest.mark.loads_tf
@pytest.mark.parametrize("kind", KINDS)
def test_the_copy_has_the_same_weights_and_the_model_is_not_touched(models, kind):
    model, _, _ = compiled(getattr(models, kind))
    before = models.weights(model), models.policies(model), model.get_config()
    copied = apply_precision(model, "mixed_float16")
    assert (models.policies(model), model.get_config()) == before[1:]
    assert model.compiled
    after = models.weights(model)
    assert all(np.array_equal(after[path], value) for path, value in before[0].items())
    pairs = zip(model.weights, copied.weights, strict=True)
    assert all(np.array_equal(one.numpy(), two.numpy()) for one, two in pairs)
    assert {str(weight.dtype) for weight in copied.trainable_weights} == {"float32"}
    shared = {id(weight) for weight in model.weights} & {id(one) for one in copied.weights}
    assert not shared


@pytest.mark.loads_tf
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("policy", "error"), [("mixed_float16", 4e-3), ("mixed_bfloat16", 4e-2)])
def test_the_copy_computes_the_same_but_for_the_rounding(models, kind, policy, error):
    model, x, _, _ = getattr(models, kind)()
    copied = apply_precision(model, policy)
    pairs = list(zip(outputs(model, x), outputs(copied, x), strict=True))
    for exact, rounded in pairs:
        assert rounded.dtype == "float32"
        np.testing.assert_allclose(rounded, exact, rtol=error, atol=error)
    assert any(not np.array_equal(*pair) for pair in pairs)  # it does compute in 16 bits


@pytest.mark.loads_tf
@pytest.mark.parametrize("kind", KINDS)
def test_back_in_float32_it_computes_exactly_the_same(models, kind):
    model, x, _, _ = getattr(models, kind)()
    back = apply_precision(apply_precision(model, "mixed_float16"), "float32")
    assert set(models.policies(back).values()) == {"float32"}
    for exact, again in zip(outputs(model, x), outputs(back, x), strict=True):
        np.testing.assert_array_equal(exact, again)


@pytest.mark.loads_tf
@pytest.mark.parametrize("kind", ["classifier", "nested"])
def test_training_in_float16_makes_the_loss_fall(models, kind):
    import keras

    model, x, y = compiled(getattr(models, kind))
    copied = apply_precision(model, "mixed_float16")
    assert isinstance(copied.optimizer, keras.optimizers.LossScaleOptimizer)
    losses = [np.ravel(copied.train_on_batch(x, y))[0] for _ in range(20)]
    assert np.all(np.isfinite(losses))
    assert losses[-1] < 0.95 * losses[0]


@pytest.mark.loads_tf
def test_the_first_update_in_float16_is_that_of_float32_within_1_percent(models):
    import keras

    from quickfit.tuning.train_step.step import make_train_step

    model, x, y, loss = models.attention()
    model.compile(keras.optimizers.SGD(0.1), loss)
    copied = apply_precision(model, "mixed_float16")
    before = model.get_weights()
    make_train_step(model)(x, y)
    step = make_train_step(copied)
    while not np.any(update(copied, before)) and step.skipped < 12:
        step(x, y)  # the first ones are left out: the scale of the loss is too large at first
    exact, half = update(model, before), update(copied, before)
    assert np.linalg.norm(exact - half) < 0.01 * np.linalg.norm(exact)


@pytest.mark.loads_tf
@pytest.mark.filterwarnings("ignore:__array__:DeprecationWarning")  # by Keras, when it saves
def test_a_saved_copy_is_loaded_with_its_policies_and_its_loss_scaling(models, tmp_path):
    import keras

    model, x, y = compiled(models.classifier)
    copied = apply_precision(model, "mixed_float16")
    copied.train_on_batch(x, y)
    copied.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    layers = [layer.name for layer in copied.layers]
    assert [models.policies(loaded)[name] for name in layers] == [
        models.policies(copied)[name] for name in layers
    ]
    assert isinstance(loaded.optimizer, keras.optimizers.LossScaleOptimizer)
    np.testing.assert_array_equal(outputs(loaded, x)[0], outputs(copied, x)[0])


@pytest.mark.loads_tf
def test_head_softmax_and_input_stay_in_float32(models):
    copied = apply_precision(models.classifier()[0], "mixed_bfloat16")
    found = models.policies(copied)
    assert (found["scaled"], found["classes"]) == ("float32", "float32")
    assert (found["hidden"], found["logits"]) == ("mixed_bfloat16", "mixed_bfloat16")
    assert copied.outputs[0].dtype == "float32"


@pytest.mark.loads_tf
def test_numbers_that_float16_cannot_hold_reach_the_layer_that_scales_them(models):
    model, x, _, _ = models.classifier()
    assert x.max() > 65504
    assert np.all(np.isfinite(outputs(apply_precision(model, "mixed_float16"), x)[0]))


@pytest.mark.loads_tf
def test_a_layer_that_float16_breaks_stays_in_float32_with_its_parts(models):
    found = models.policies(apply_precision(models.functional()[0], "mixed_float16"))
    assert found["dividing"] == found["last"] == "float32"
    assert found["first"] == "mixed_float16"
    model = apply_precision(models.functional()[0], "mixed_float16")
    assert model.get_layer("dividing").part.dtype_policy.name == "float32"


@pytest.mark.loads_tf
def test_bfloat16_has_the_range_of_float32_so_that_layer_may_use_it(models):
    model = apply_precision(models.functional()[0], "mixed_bfloat16")
    assert model.get_layer("dividing").part.dtype_policy.name == "mixed_bfloat16"


@pytest.mark.loads_tf
def test_layers_that_were_kept_in_float32_on_purpose_stay_so(models):
    import keras

    inputs = keras.Input((8,))
    x = keras.layers.Dense(8, dtype="mixed_bfloat16", name="half")(inputs)
    x = keras.layers.Dense(8, dtype="float32", name="chosen")(x)
    model = keras.Model(inputs, keras.layers.Dense(1, dtype="float32")(x))
    found = models.policies(apply_precision(model, "mixed_float16"))
    assert (found["half"], found["chosen"]) == ("mixed_float16", "float32")


@pytest.mark.loads_tf
def test_double_precision_is_left_alone(models):
    import keras

    inputs = keras.Input((8,))
    x = keras.layers.Dense(8, dtype="float64", name="double")(inputs)
    model = keras.Model(inputs, keras.layers.Dense(1)(keras.layers.Dense(4, name="other")(x)))
    found = models.policies(apply_precision(model, "mixed_float16"))
    assert (found["double"], found["other"]) == ("float64", "mixed_float16")


@pytest.mark.loads_tf
def test_a_model_that_is_not_built_gets_the_policy_too(models):
    import keras

    model = keras.Sequential([keras.layers.Dense(8), keras.layers.Dense(1)])
    model.compile("adam", "mse")
    copied = apply_precision(model, "mixed_float16")
    assert [layer.dtype_policy.name for layer in copied.layers] == ["mixed_float16", "float32"]
    assert np.isfinite(copied.train_on_batch(np.ones((4, 3)), np.ones((4, 1))))
    assert not model.built


@pytest.mark.loads_tf
@pytest.mark.parametrize("is_built", [True, False])
def test_ids_are_looked_up_exactly_whether_the_model_is_built_or_not(models, is_built):
    import keras

    rows = keras.initializers.Constant(np.arange(5000.0)[:, None] % 97)
    layers = [keras.layers.Embedding(5000, 1, rows), keras.layers.Flatten(name="rows")]
    model = keras.Sequential([*layers, keras.layers.Dense(1)])
    ids = np.array([[4001]])
    if is_built:
        model(ids)
    copied = apply_precision(model, "mixed_float16")
    copied(ids)
    found = keras.Model(copied.inputs[0], copied.layers[0].output)(ids)
    assert found.numpy().ravel() == 4001 % 97
    assert str(copied.inputs[0].dtype) == "float32"


@pytest.mark.loads_tf
def test_inner_lists_of_layers_pass_16_bits_on_without_casting(models):
    import keras

    layers = keras.layers
    block = keras.Sequential([layers.Dense(8), layers.ReLU()], name="block")
    inputs = keras.Input((4,))
    x = block(layers.Dense(8, name="before")(inputs))
    copied = apply_precision(keras.Model(inputs, layers.Dense(1)(x)), "mixed_float16")
    assert copied.get_layer("block").input_dtype == "float16"
    assert copied.inputs[0].dtype == "float32"


@pytest.mark.loads_tf
def test_what_is_not_trainable_stays_so(models):
    model, _, _, _ = models.nested()
    model.get_layer("shared").trainable = False
    model.get_layer("shared").layers[1].trainable = True
    copied = apply_precision(model, "mixed_float16")
    assert len(copied.trainable_weights) == len(model.trainable_weights)
    assert not copied.get_layer("shared").layers[0].trainable


@pytest.mark.loads_tf
def test_shared_layers_stay_shared(models):
    model, _, _, _ = models.nested()
    assert apply_precision(model).count_params() == model.count_params()


@pytest.mark.loads_tf
def test_a_model_with_a_step_of_its_own_keeps_it(models):
    import keras

    inputs = keras.Input((8,))
    x = keras.layers.Dense(8)(inputs)
    model = models.CountingModel(inputs, keras.layers.Dense(1)(x))
    model.compile("sgd", "mse")
    copied = apply_precision(model, "mixed_bfloat16")
    assert type(copied) is models.CountingModel
    logs = copied.train_on_batch(np.ones((4, 8)), np.ones((4, 1)), return_dict=True)
    assert logs["own"] == 7.0


@pytest.mark.loads_tf
def test_a_vocabulary_is_carried_over(models):
    import keras

    lookup = keras.layers.StringLookup(output_mode="multi_hot")
    lookup.adapt(np.array(["a", "b", "c"]))
    inputs = keras.Input((1,), dtype="string")
    hidden = keras.layers.Dense(4)(lookup(inputs))
    model = keras.Model(inputs, keras.layers.Dense(2)(hidden))
    copied = apply_precision(model, "mixed_float16")
    found = next(one for one in copied.layers if isinstance(one, keras.layers.StringLookup))
    assert found.get_vocabulary() == lookup.get_vocabulary()


@pytest.mark.loads_tf
def test_a_model_of_its_own_class_is_refused_with_the_lines_to_paste(models):
    with pytest.raises(ModelError) as caught:
        apply_precision(models.OwnModel(name="mine"), "mixed_float16")
    text = str(caught.value)
    assert "'mine' (OwnModel) is a class of its own" in text
    assert '    keras.config.set_dtype_policy("mixed_float16")  # before the model is built' in text


@pytest.mark.loads_tf
def test_a_layer_that_does_not_work_in_16_bits_stays_in_float32_with_a_warning(models):
    import keras

    inputs = keras.Input((8,))
    x = models.Stubborn(name="stubborn")(keras.layers.Dense(8, name="first")(inputs))
    model = keras.Model(inputs, keras.layers.Dense(1)(x))
    message = (
        r"'stubborn' \(Stubborn\) does not work in mixed_float16 and stays in float32: TypeErr"
    )
    with pytest.warns(UserWarning, match=message):
        copied = apply_precision(model, "mixed_float16")
    found = models.policies(copied)
    assert (found["first"], found["stubborn"]) == ("mixed_float16", "float32")
    assert np.all(np.isfinite(outputs(copied, np.ones((2, 8)))[0]))


@pytest.mark.loads_tf
def test_a_layer_that_works_in_no_type_is_an_error_of_the_model(models):
    import keras

    class Broken(keras.layers.Layer):
        def call(self, x):
            if keras.config.dtype_policy().name != "float32":
                raise ValueError("not today")
            return x

    layers = [keras.layers.Dense(8), Broken(), keras.layers.Dense(1)]
    model = keras.Sequential([keras.Input((8,)), *layers])
    with pytest.warns(UserWarning, match="not today"), pytest.raises(ModelError) as caught:
        apply_precision(model)
    assert "cannot be made again in mixed_float16: ValueError: " in str(caught.value)
    assert "set_dtype_policy" in str(caught.value)


@pytest.mark.loads_tf
def test_a_layer_without_a_config_is_named(models):
    import keras

    model = keras.Sequential([keras.Input((8,)), models.Unnamed(np.tanh), keras.layers.Dense(1)])
    with pytest.raises(ModelError, match="Unnamed"):
        apply_precision(model, "mixed_float16")
    assert not model.compiled


@pytest.mark.loads_tf
def test_a_class_that_a_copy_would_lose_is_refused(models):
    import keras

    class Fixed(keras.Sequential):
        def train_step(self, data):
            return super().train_step(data)

    with pytest.raises(ModelError, match=r"has its own `train_step`, and its class cannot be made"):
        apply_precision(Fixed([keras.Input((8,)), keras.layers.Dense(1)]))


@pytest.mark.loads_tf
def test_something_that_is_no_model_is_refused(models):
    with pytest.raises(UsageError, match=r"was given a builtins\.str\. Give the model itself"):
        apply_precision("model.keras")


@pytest.mark.loads_tf
@pytest.mark.parametrize("policy", ["float8", None, 16])
def test_a_policy_that_nobody_knows_is_refused_with_those_that_are(models, policy):
    with pytest.raises(UsageError, match="Give one of: mixed_float16, mixed_bfloat16, float32"):
        apply_precision(models.classifier()[0], policy)


@pytest.mark.loads_tf
def test_pure_float16_is_refused_with_the_reason(models):
    with pytest.raises(UsageError, match="mixed_float16 keeps them in float32"):
        apply_precision(models.classifier()[0], "float16")


def with_one(layer):
    """Return a model with a layer between two others, compiled."""
    import keras

    layers = [keras.layers.Dense(8, name="first"), layer, keras.layers.Dense(1)]
    model = keras.Sequential([keras.Input((8,)), *layers])
    model.compile("sgd", "mse")
    return model


def one_of(models, kind):
    """Return a layer that does not train in 16 bits."""
    import keras

    makers = {
        "activation": lambda: keras.layers.Dense(8, activation=models.add_one, name="one"),
        "added loss": lambda: models.Penalty(name="one"),
        "no self": lambda: models.Shifted(name="one"),
        "lambda": lambda: keras.layers.Lambda(models.add_one, name="one"),
        "gradient": lambda: models.WideGradient(name="one"),
    }
    return makers[kind]()


@pytest.mark.loads_tf
@pytest.mark.parametrize("kind", ["activation", "added loss", "no self", "lambda", "gradient"])
@pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16"])
def test_what_does_not_train_in_16_bits_stays_in_float32_and_the_copy_trains(models, kind, policy):
    model = with_one(one_of(models, kind))
    before = models.weights(model)
    with pytest.warns(UserWarning, match=f"'one' .* does not work in {policy} and stays") as said:
        copied = apply_precision(model, policy)
    found = models.policies(copied)
    assert (found["first"], found["one"]) == (policy, "float32")
    assert len(said) == 1
    assert all(np.array_equal(models.weights(model)[path], one) for path, one in before.items())
    assert np.isfinite(copied.train_on_batch(np.ones((4, 8)), np.ones((4, 1))))


@pytest.mark.loads_tf
def test_the_reason_of_a_lambda_is_its_own_error(models):
    with pytest.warns(UserWarning, match=r"stays in float32: TypeError: Input 'y' of 'AddV2'"):
        apply_precision(with_one(one_of(models, "lambda")))


@pytest.mark.loads_tf
def test_the_reason_of_an_added_loss_is_told(models):
    with pytest.warns(UserWarning, match="float32: it adds a loss in bfloat16, and Keras sums"):
        apply_precision(with_one(one_of(models, "added loss")), "mixed_bfloat16")


@pytest.mark.loads_tf
@pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16"])
def test_a_layer_with_an_activity_regularizer_trains(models, policy):
    import keras

    regularized = keras.layers.Dense(8, activity_regularizer="l2")
    copied = apply_precision(with_one(regularized), policy)
    assert np.isfinite(copied.train_on_batch(np.ones((4, 8)), np.ones((4, 1))))


@pytest.mark.loads_tf
def test_tracebacks_of_keras_are_cut_again_afterwards(models):
    import keras

    apply_precision(models.classifier()[0])
    assert keras.config.is_traceback_filtering_enabled()


class Part:
    """Stands for a layer: it may hold others, and fails where it is told to."""

    def __init__(self, *parts, fails=False):
        self.parts, self.fails = parts, fails

    def _flatten_layers(self):
        return [self, *(inner for part in self.parts for inner in part._flatten_layers())]

    def call(self):
        if self.fails:
            raise TypeError("two types")
        for part in self.parts:
            part.call()


class Other(Part):
    """Its author does not write `self`."""

    def call(this):  # noqa: N805
        raise TypeError("two types")


def failure_of(part):
    try:
        part.call()
    except TypeError as error:
        return error
    raise AssertionError("nothing failed")


def test_the_innermost_layer_is_found():
    inner = Part(fails=True)
    model = Part(Part(), inner)
    assert failed_layer(failure_of(model), [("the model", model), ("inner", inner)]) == "inner"


def test_a_part_of_a_layer_stands_for_the_layer():
    layer = Part(Part(Part(fails=True)))
    assert failed_layer(failure_of(layer), [("layer", layer)]) == "layer"


def test_a_layer_is_found_whatever_its_author_calls_it():
    layer = Other()
    assert failed_layer(failure_of(layer), [("layer", layer)]) == "layer"


def test_what_a_lambda_failed_with_is_told_instead_of_a_shape_that_is_not_known():
    error = NotImplementedError("We could not automatically infer the shape")
    error.__context__ = TypeError("float32 and float16")
    assert short_error(error) == "TypeError: float32 and float16"
    assert short_error(NotImplementedError("alone")) == "NotImplementedError: alone"


def test_an_error_from_elsewhere_is_in_no_layer():
    assert failed_layer(failure_of(Part(fails=True)), [("layer", Part())]) is None
    assert failed_layer(TypeError("never raised"), []) is None


def test_an_error_is_told_without_colours_and_arguments():
    text = "Exception in call().\n\n\x1b[1mTypes differ.\x1b[0m\n\nArguments received by X:\n  a=1"
    assert short_error(TypeError(text)) == "TypeError: Exception in call().\nTypes differ."


def test_a_long_error_is_cut():
    assert short_error(ValueError("\n".join("abcdefgh"))) == "ValueError: a\nb\nc\nd"


FAILURES = (ValueError, TypeError)


@pytest.mark.loads_tf
@pytest.mark.parametrize("kind", KINDS)
def test_a_batch_is_found_and_nothing_is_changed(models, kind):
    model, _, _, _ = getattr(models, kind)()
    before = [np.array(one.numpy()) for one in model.variables]
    batch = batch_for(model, FAILURES)
    assert batch is not None
    rehearse_model(model, batch)
    after = [one.numpy() for one in model.variables]
    assert all(one.tobytes() == two.tobytes() for one, two in zip(before, after, strict=True))


@pytest.mark.loads_tf
def test_axes_of_any_length_are_made_longer_where_poolings_need_it(models):
    import keras
    import tensorflow as tf

    inputs = keras.Input((None, None, 3))
    x = keras.layers.AveragePooling2D(8)(inputs)
    x = keras.layers.Conv2D(2, 3)(x)
    model = keras.Model(inputs, keras.layers.GlobalMaxPooling2D()(x))
    assert batch_for(model, (*FAILURES, tf.errors.OpError)).shape == (2, 64, 64, 3)


@pytest.mark.loads_tf
def test_a_fixed_batch_size_is_kept_and_ids_are_zeros(models):
    import keras

    inputs = keras.Input(batch_shape=(5, 3), dtype="int32")
    model = keras.Model(inputs, keras.layers.Embedding(1, 2)(inputs))
    assert np.array_equal(batch_for(model, FAILURES), np.zeros((5, 3)))


@pytest.mark.loads_tf
def test_a_model_that_is_not_built_or_never_works_has_no_batch(models):
    import keras

    class Never(keras.layers.Layer):
        def call(self, x, training=False):
            if training:
                raise ValueError("never")
            return x

    assert batch_for(keras.Sequential([keras.layers.Dense(1)]), FAILURES) is None
    assert batch_for(keras.Sequential([keras.Input((2,)), Never()]), FAILURES) is None


@pytest.mark.loads_tf
def test_what_layers_add_to_the_loss_is_not_left_behind(models):
    import keras

    model = keras.Sequential([keras.Input((8,)), models.Penalty(), keras.layers.Dense(1)])
    assert batch_for(model, FAILURES) is not None
    assert model.losses == []
    rehearse_model(model, np.ones((2, 8), "float32"))
    require_whole_losses([(one, one) for one in model.layers])


@pytest.mark.loads_tf
def test_a_loss_in_16_bits_names_its_layer(models):
    import keras

    model = keras.Sequential([keras.Input((8,)), models.Penalty(dtype="mixed_bfloat16")])
    rehearse_model(model, np.ones((2, 8), "float32"))
    with pytest.raises(HalfLossError, match="adds a loss in bfloat16, and Keras sums") as caught:
        require_whole_losses([("the model's", model.layers[0])])
    assert caught.value.layer == "the model's"
