"""Tests of configs with another dtype policy."""

from quickfit.tuning.precision.configs import with_policy


def serialized(name, kind="DTypePolicy"):
    return {"module": "keras", "class_name": kind, "config": {"name": name}}


def test_a_layer_gets_the_policy():
    config = {"name": "dense", "units": 4, "dtype": serialized("float32")}
    changed = with_policy(config, "mixed_float16")
    assert changed["dtype"]["config"] == {"name": "mixed_float16"}
    assert changed["units"] == 4


def test_the_given_config_stays_as_it_is():
    config = {"dtype": serialized("float32"), "layers": [{"dtype": serialized("float32")}]}
    with_policy(config, "mixed_float16")
    assert config["dtype"] == config["layers"][0]["dtype"] == serialized("float32")


def test_layers_named_inside_get_it_too():
    inner = {"class_name": "LSTM", "config": {"units": 2, "dtype": serialized("mixed_float16")}}
    changed = with_policy({"layer": inner, "cells": (inner, [inner])}, "float32")
    found = (changed["layer"], changed["cells"][0], changed["cells"][1][0])
    assert [one["config"]["dtype"]["config"]["name"] for one in found] == ["float32"] * 3


def test_a_policy_that_is_only_a_name_is_changed_for_the_layer_itself():
    assert with_policy({"dtype": "float32"}, "mixed_float16") == {"dtype": "mixed_float16"}
    assert with_policy({"dtype": "int32"}, "mixed_float16") == {"dtype": "int32"}
    inner = {"initializer": {"config": {"dtype": "float32"}}}
    assert with_policy(inner, "mixed_float16") == inner


def test_quantized_and_double_precision_policies_are_left_alone():
    for one in (serialized("float64"), serialized("int8", "QuantizedDTypePolicy")):
        assert with_policy({"dtype": one}, "mixed_float16") == {"dtype": one}
