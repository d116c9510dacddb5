"""Tests of which policy every layer gets."""

import ast
from types import SimpleNamespace

import pytest

from quickfit.errors import UsageError
from quickfit.tuning.precision.policies import (
    KEEP_HEAD,
    KEEP_IDS,
    KEEP_INPUT,
    KEEP_REGULARIZER,
    KEEP_SOFTMAX,
    POLICIES,
    PolicyPlan,
    every_layer,
    graph_layers,
    head_layers,
    is_functional,
    is_graph,
    is_sequential,
    kept_layers,
    known_policy,
    layer_label,
    own_behaviour,
    plan_for,
    policy_lines,
    rounded_lookups,
)


@pytest.mark.parametrize("policy", POLICIES)
def test_known_policies_are_taken_by_name_and_as_objects(policy):
    assert known_policy(policy) == policy
    assert known_policy(SimpleNamespace(name=policy)) == policy


@pytest.mark.parametrize("policy", ["half", "", None, 16, ["float32"]])
def test_another_policy_is_refused_with_those_that_are_known(policy):
    with pytest.raises(UsageError) as caught:
        known_policy(policy)
    assert str(caught.value) == (
        f"{policy!r} is no policy that quickfit applies. Give one of: mixed_float16, "
        "mixed_bfloat16, float32."
    )


@pytest.mark.parametrize("name", ["float16", "bfloat16"])
def test_weights_in_16_bits_are_refused_with_the_reason(name):
    with pytest.raises(UsageError, match=f"the weights lose small updates; mixed_{name} keeps"):
        known_policy(name)


def test_weights_in_16_bits_can_be_widened_and_not_the_other_way():
    assert PolicyPlan("float32").may_change("float16")
    assert not PolicyPlan("mixed_float16").may_change("float16")
    assert not PolicyPlan("float32").may_change("float64")
    assert not PolicyPlan("float32").may_change("int8_from_float32")


@pytest.mark.loads_tf
def test_a_list_of_layers_has_the_policy_of_its_first_since_it_casts_for_it(models):
    import keras

    layers = keras.layers
    plan = PolicyPlan("mixed_float16")
    assert plan.policy_of(keras.Sequential([layers.Dense(1)])) == "mixed_float16"
    assert plan.policy_of(keras.Sequential([layers.Embedding(9, 2)])) == "float32"
    assert plan.policy_of(keras.Sequential([layers.Dense(1, dtype="float64")])) == "float32"
    assert plan.policy_of(keras.Sequential([])) == "float32"


@pytest.mark.loads_tf
def test_float32_keeps_nothing_back(models):
    assert plan_for(models.classifier()[0], "float32").kept == {}
    assert plan_for(models.classifier()[0], "mixed_float16").kept


def names(layers):
    return {layer.name for layer in layers}


def kept(model, policy="mixed_float16"):
    reasons = kept_layers(model, policy)
    flat = model._flatten_layers()
    return {layer.name: reasons[id(layer)] for layer in flat if id(layer) in reasons}


@pytest.mark.loads_tf
def test_an_activation_at_the_end_is_enough(models):
    assert names(head_layers(models.classifier()[0])) == {"classes"}


@pytest.mark.loads_tf
def test_a_head_reaches_back_through_operations_to_a_layer_with_weights(models):
    assert names(head_layers(models.functional()[0])) == {"last"}


@pytest.mark.loads_tf
def test_every_output_has_its_head_also_inside_a_model(models):
    assert names(head_layers(models.nested()[0])) == {"softmax", "value"}


@pytest.mark.loads_tf
def test_a_head_reaches_back_through_layers_without_weights(models):
    import keras

    layers = keras.layers
    model = keras.Sequential(
        [
            keras.Input((8,)),
            layers.Dense(4, name="hidden"),
            layers.Dense(4, name="last"),
            layers.Dropout(0.5, name="dropout"),
            layers.Reshape((2, 2), name="shaped"),
        ]
    )
    assert names(head_layers(model)) == {"last", "dropout", "shaped"}
    functional = keras.Model(model.inputs, model.outputs)
    assert names(head_layers(functional)) == {"last", "dropout", "shaped"}


@pytest.mark.loads_tf
def test_a_head_is_known_before_a_model_is_built(models):
    import keras

    layers = keras.layers
    model = keras.Sequential([layers.Dense(4, name="a"), layers.Dense(1, name="b"), layers.ReLU()])
    assert "a" not in names(head_layers(model))


@pytest.mark.loads_tf
def test_an_output_that_is_an_input_ends_there(models):
    import keras

    inputs = keras.Input((8,), name="given")
    model = keras.Model(inputs, [inputs * 2, keras.layers.Dense(1, name="last")(inputs)])
    assert names(head_layers(model)) == {"given", "last"}


@pytest.mark.loads_tf
def test_the_reason_is_told(models):
    import keras

    layers = keras.layers
    model = keras.Sequential(
        [
            keras.Input((8,)),
            layers.Rescaling(1 / 255, name="rescaled"),
            layers.Dense(8, activation="softmax", name="gate"),
            layers.UnitNormalization(name="unit"),
            layers.Dense(4, activity_regularizer="l2", name="sparse"),
            layers.LayerNormalization(epsilon=1e-12, name="safe"),
            layers.Dense(1, name="last"),
        ]
    )
    found = kept(model)
    assert set(found) == {"rescaled", "gate", "unit", "sparse", "last"}
    assert (found["rescaled"], found["gate"], found["last"]) == (
        KEEP_INPUT,
        KEEP_SOFTMAX,
        KEEP_HEAD,
    )
    assert found["unit"] == "its epsilon of 1e-12 is 0 in float16"
    assert found["sparse"] == KEEP_REGULARIZER
    assert kept(model, "mixed_bfloat16")["sparse"] == KEEP_REGULARIZER


@pytest.mark.loads_tf
def test_bfloat16_has_the_range_of_float32(models):
    import keras

    layers = [keras.Input((8,)), keras.layers.UnitNormalization(), keras.layers.Dense(1, name="a")]
    assert kept(keras.Sequential(layers), "mixed_bfloat16") == {"a": KEEP_HEAD}


@pytest.mark.loads_tf
def test_an_epsilon_of_a_layer_of_the_users_is_seen(models):
    assert kept(models.functional()[0])["dividing"] == "its eps of 1e-12 is 0 in float16"


def lookup():
    import keras

    return [keras.layers.Embedding(5000, 2, name="lookup"), keras.layers.Dense(1, name="last")]


@pytest.mark.loads_tf
def test_ids_that_keras_would_round_keep_their_lookup_in_float32(models):
    import keras

    model = keras.Sequential(lookup())
    assert kept(model, "mixed_bfloat16") == {"lookup": KEEP_IDS, "last": KEEP_HEAD}
    assert kept(keras.Sequential([model]), "mixed_bfloat16")["lookup"] == KEEP_IDS


@pytest.mark.loads_tf
@pytest.mark.parametrize("dtype", ["int32", "float32"])
def test_ids_of_a_type_that_holds_them_are_safe(models, dtype):
    import keras

    model = keras.Sequential([keras.Input((4,), dtype=dtype), *lookup()])
    assert rounded_lookups(model) == []


@pytest.mark.loads_tf
def test_an_input_in_16_bits_is_not_safe(models):
    import keras

    model = keras.Sequential([keras.Input((4,), dtype="bfloat16"), *lookup()])
    assert names(rounded_lookups(model)) == {"lookup"}


@pytest.mark.loads_tf
def test_the_kinds_of_models_are_told_apart(models):
    import keras

    functional, sequential = models.functional()[0], models.classifier()[0]
    assert is_functional(functional)
    assert not is_sequential(functional)
    assert is_sequential(sequential)
    assert not is_graph(models.OwnModel())
    assert not is_graph(keras.layers.Dense(1))


@pytest.mark.loads_tf
def test_graph_layers_enter_models_but_not_layers(models):
    found = [layer.name for layer in graph_layers(models.nested()[0])]
    assert {"softmax", "value"} <= set(found)
    assert "shared" not in found


@pytest.mark.loads_tf
def test_every_layer_enters_layers_too(models):
    kinds = {type(layer).__name__ for layer in every_layer(models.words()[0])}
    assert {"Bidirectional", "LSTM", "LSTMCell", "TimeDistributed", "Dense"} <= kinds
    assert not {"InputLayer", "Sequential"} & kinds


@pytest.mark.loads_tf
def test_own_behaviour_is_what_a_class_changes(models):
    import keras

    inputs = keras.Input((4,))
    assert own_behaviour(keras.Model(inputs, inputs * 2)) == []
    assert own_behaviour(models.classifier()[0]) == []
    assert own_behaviour(models.CountingModel(inputs, inputs * 2)) == ["train_step"]


@pytest.mark.loads_tf
def test_a_layer_is_named_with_its_class(models):
    import keras

    assert layer_label(keras.layers.Dense(1, name="last")) == "'last' (Dense)"


@pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16", "float32"])
def test_the_lines_are_python_and_name_the_policy(policy):
    ast.parse("\n".join(policy_lines(policy)))
    assert policy in policy_lines(policy)[0]


def test_16_bits_come_with_a_head_in_float32():
    assert any('dtype="float32"' in line for line in policy_lines("mixed_bfloat16"))
    assert len(policy_lines("float32")) == 1


def test_only_float16_comes_with_loss_scaling():
    assert "LossScaleOptimizer" in "\n".join(policy_lines("mixed_float16"))
    assert "LossScaleOptimizer" not in "\n".join(policy_lines("mixed_bfloat16"))
