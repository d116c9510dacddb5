"""Where a model is rounded."""

import pytest

from compression import models
from compression.quantizing import nets
from quickfit.compression.graph import graph_of, rebuilt
from quickfit.compression.norms.folding import folded
from quickfit.compression.quantizing.placing import Placing

pytestmark = [pytest.mark.loads_tf, pytest.mark.usefixtures("tf")]


def placed(model):
    """Return the names of the layers in order, and the layers that were skipped."""
    graph = graph_of(model)
    placing = Placing(graph, bits=8, weight_bits=8)
    names = [call.name for call in graph_of(rebuilt(graph, placing)).calls]
    return names, [one.layer for one in placing.skipped]


def test_a_relu_is_rounded_together_with_what_is_before_it():
    names, skipped = placed(folded(models.residual()).model)
    assert names == [
        "input_quant",
        *("stem", "stem_act", "stem_act_quant"),
        *("conv_a", "act_a", "act_a_quant"),
        *("conv_b", "conv_b_quant"),
        *("add", "act", "act_quant"),
        *("pool", "pool_quant", "head", "head_quant"),
    ]
    assert skipped == []


def test_every_kind_of_place_is_rounded_as_the_runtime_does():
    names, skipped = placed(nets.branches())
    assert skipped == ["late_norm"]  # folded or replaced before, in `fake_quantised`
    for name in ("first", "squeeze", "gate", "gated", "joined", "separable", "leaky", "head"):
        assert names.count(f"{name}_quant") == 1
    assert names.index("up_quant") < names.index("up_activation") < names.index("up_quant_2")
    assert names.index("gate_quant") < names.index("gate_activation") < names.index("gate_quant_2")
    assert names.index("separable_depthwise_quant") < names.index("separable")
    # Numbers that only move, and what leaves the model, are not rounded again.
    assert not {"down_quant", "flat_quant", "head_activation_quant"} & set(names)


def test_a_layer_that_is_called_twice_is_one_with_two_roundings():
    names, _ = placed(models.shared())
    assert names.count("shared") == 2
    assert {"shared_quant", "shared_quant_2"} <= set(names)


def test_unknown_layers_with_weights_are_listed():
    names, skipped = placed(models.masked())
    assert skipped[0].startswith("embedding")
    assert len(skipped) == 5
    assert any(name.startswith("dense") for name in names)
