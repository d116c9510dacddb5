"""Tests of which policy every layer gets."""

from types import SimpleNamespace

import pytest

from quickfit.errors import UsageError
from quickfit.tuning.precision.planning import POLICIES, Plan, known_policy, plan_for


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
    assert Plan("float32").may_change("float16")
    assert not Plan("mixed_float16").may_change("float16")
    assert not Plan("float32").may_change("float64")
    assert not Plan("float32").may_change("int8_from_float32")


@pytest.mark.loads_tf
def test_a_list_of_layers_has_the_policy_of_its_first_since_it_casts_for_it(models):
    import keras

    layers = keras.layers
    plan = Plan("mixed_float16")
    assert plan.policy_of(keras.Sequential([layers.Dense(1)])) == "mixed_float16"
    assert plan.policy_of(keras.Sequential([layers.Embedding(9, 2)])) == "float32"
    assert plan.policy_of(keras.Sequential([layers.Dense(1, dtype="float64")])) == "float32"
    assert plan.policy_of(keras.Sequential([])) == "float32"


@pytest.mark.loads_tf
def test_float32_keeps_nothing_back(models):
    assert plan_for(models.classifier()[0], "float32").kept == {}
    assert plan_for(models.classifier()[0], "mixed_float16").kept
