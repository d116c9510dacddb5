"""What a model itself says about 16 bits: sizes, epsilons, policies and outputs."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from quickfit import units
from quickfit.tuning.precision.policies import (
    every_layer,
    graph_layers,
    head_layers,
    is_graph,
    layer_label,
    policy_name,
    rounded_lookups,
    unsafe_epsilon,
)
from quickfit.tuning.train_step.optimizer import float16_layers, scaler_in

# Models and layers of Keras are `Any`: Keras has no types of its own.

# What Tensor Cores take at a time in 16 bits.
MULTIPLE = 8
# Less of the work than this is not worth a sentence.
MIN_SHARE = 0.1
# An estimate, not measured: at 10 TFLOPS this is 0.1 ms, about what starting a few dozen kernels
# takes on a GPU.
MIN_STEP_FLOPS = 1_000_000_000
_USUAL_BATCH = 32
_MOST_NAMES = 4
_SIXTEEN = ("float16", "bfloat16")


@dataclass(frozen=True)
class SurveyReason:
    """A fact that speaks about 16 bits.

    Args:
        topic: what it is about, a word or two.
        text: the fact with its figure, a sentence.
    """

    topic: str
    text: str


def survey_model(model: Any, policy: str) -> list[SurveyReason]:
    """Return what the model says about a policy; nothing where all is well."""
    return [
        *_of_loss_scale(model),
        *_of_ids(model),
        *_of_outputs(model),
        *_of_losses(model),
        *_of_own_types(model),
        *(_of_epsilons(model) if policy == "mixed_float16" else ()),
        *_of_casting(model),
    ]


def survey_speed(model: Any, batch: int | None = None) -> list[SurveyReason]:
    """Return what keeps units for 16 bits from being used: small or odd sizes."""
    costs = layer_costs(model)
    if not costs:
        return [
            SurveyReason("size", "the model is not built, so the sizes of its layers are not known")
        ]
    return [*_of_size(costs, batch), *_of_dimensions(model, costs), *_of_batch(batch)]


def _of_loss_scale(model: Any) -> Iterator[SurveyReason]:
    layers = float16_layers(model)
    optimizer = getattr(model, "optimizer", None)
    if not layers or optimizer is None:
        return
    if scaler_in(optimizer) is None and optimizer.loss_scale_factor is None:
        yield SurveyReason(
            "loss scale",
            f"float16 without loss scaling ({_list_names(layers)}): small gradients become 0. "
            "Keras scales by itself only where the whole model is mixed_float16: compile with "
            "keras.optimizers.LossScaleOptimizer(optimizer)",
        )


def _of_ids(model: Any) -> Iterator[SurveyReason]:
    for layer in rounded_lookups(model):
        yield SurveyReason(
            "ids",
            f"the model begins with {layer_label(layer)} and does not say that ids go into it, so "
            "with a 16-bit policy Keras rounds them, and other rows are looked up (from 257 on in "
            "bfloat16, from 2,049 on in float16): begin the model with "
            'keras.Input((None,), dtype="int32")',
        )


def _of_outputs(model: Any) -> Iterator[SurveyReason]:
    if not is_graph(model):
        return
    layers = [layer.name for layer in head_layers(model) if layer.compute_dtype in _SIXTEEN]
    if layers:
        yield SurveyReason(
            "output",
            f"the output comes from {_list_names(layers)} in 16 bits, and so does what the loss "
            "gets: "
            'give the last layer dtype="float32"',
        )


def _of_losses(model: Any) -> Iterator[SurveyReason]:
    import keras

    given = getattr(model, "loss", None)
    losses = [one for one in keras.tree.flatten(given) if getattr(one, "dtype", "") in _SIXTEEN]
    if losses:
        yield SurveyReason(
            "loss",
            f"the loss {type(losses[0]).__name__} is computed in {losses[0].dtype}, which adds up "
            'a batch badly: give it dtype="float32"',
        )


def _of_own_types(model: Any) -> Iterator[SurveyReason]:
    by_name: dict[str, list[str]] = {}
    for layer in every_layer(model):
        by_name.setdefault(policy_name(layer) or "several policies", []).append(layer.name)
    for name, layers in by_name.items():
        if name == "float64":
            yield SurveyReason("float64", f"float64 is left as it is ({_list_names(layers)})")
        elif name in _SIXTEEN:
            yield SurveyReason(
                "policies",
                f"weights in {name}, where small updates are lost ({_list_names(layers)}): use "
                f"mixed_{name}",
            )
        elif name != "float32" and len(by_name) > 1:
            count = sum(map(len, by_name.values()))
            yield SurveyReason("policies", f"{len(layers)} of {count} layers are in {name} already")


def _of_epsilons(model: Any) -> Iterator[SurveyReason]:
    for layer in every_layer(model):
        unsafe = unsafe_epsilon(layer)
        if unsafe is not None and layer.compute_dtype != "float64":
            yield SurveyReason(
                "epsilon",
                f"the layer {layer_label(layer)} has {unsafe[0]} = {unsafe[1]:g}, which is 0 in "
                "float16 "
                'and makes NaN: give it dtype="float32" (apply_precision does)',
            )


def _of_casting(model: Any) -> Iterator[SurveyReason]:
    # Layers of Keras that do not cast know why: they compute in float32 inside.
    layers = [
        layer.name
        for layer in every_layer(model)
        if not layer.autocast and not type(layer).__module__.startswith("keras.")
    ]
    if layers:
        yield SurveyReason(
            "casting",
            f"autocast is off ({_list_names(layers)}): what is computed there has the type of what "
            "comes in, and may mix types",
        )


def _of_size(costs: list[LayerCost], batch: int | None) -> Iterator[SurveyReason]:
    flops = step_flops(costs, batch or _USUAL_BATCH)
    if flops < MIN_STEP_FLOPS:
        yield SurveyReason(
            "size",
            f"the model is small: a step of {batch or _USUAL_BATCH} samples is about "
            f"{flops / 1e6:,.1f} million operations, and starting them may cost a GPU more; "
            "steps_per_execution or a larger batch gain more there",
        )


def _of_dimensions(model: Any, costs: list[LayerCost]) -> Iterator[SurveyReason]:
    heads = {id(layer) for layer in head_layers(model)} if is_graph(model) else set()
    total = sum(cost.products for cost in costs)
    odd = [
        cost
        for cost in costs
        if id(cost.layer) not in heads and _layer_width(cost.layer) % MULTIPLE
    ]
    odd.sort(key=lambda cost: -cost.products)
    share = sum(cost.products for cost in odd) / total
    if share < MIN_SHARE:
        return
    names = [f"{cost.layer.name} ({_layer_width(cost.layer)})" for cost in odd]
    yield SurveyReason(
        "dimensions",
        f"{units.share(share)} of the multiplications are in layers whose units or channels are no "
        f"multiple of {MULTIPLE}, which Tensor Cores use badly: {_list_names(names)}",
    )


def _of_batch(batch: int | None) -> Iterator[SurveyReason]:
    if batch is not None and batch % MULTIPLE:
        yield SurveyReason(
            "batch", f"the batch of {batch} is no multiple of {MULTIPLE}: {_round_batch(batch)} is"
        )


def _round_batch(batch: int) -> int:
    return max(round(batch / MULTIPLE), 1) * MULTIPLE


def _layer_width(layer: Any) -> int:
    """Return the units or channels that a layer makes; 0 where it does not say."""
    for name in ("units", "filters"):
        value = getattr(layer, name, None)
        if isinstance(value, int):
            return value
    return 0


def _list_names(names: list[str]) -> str:
    rest = len(names) - _MOST_NAMES
    return ", ".join(names[:_MOST_NAMES]) + (f" and {rest} more" if rest > 0 else "")


# Models, layers and tensors of Keras are `Any`: Keras has no types of its own.

# A multiplication and an addition, forward once and backward twice.
STEP_FLOPS = 6


@dataclass(frozen=True)
class LayerCost:
    """One layer and its multiplications for one sample."""

    layer: Any
    products: int


def layer_costs(model: Any) -> list[LayerCost]:
    """Return the layers that multiply with weights; in a model of its own class, by weights alone.

    Lookups such as Embedding multiply nothing.
    """
    layers = list(graph_layers(model)) if is_graph(model) else every_layer(model)
    costs = [LayerCost(layer, _layer_products(layer, is_known=is_graph(model))) for layer in layers]
    return [cost for cost in costs if cost.products]


def step_flops(costs: list[LayerCost], batch: int) -> int:
    """Return the floating point operations of one training step."""
    return STEP_FLOPS * batch * sum(cost.products for cost in costs)


def _layer_products(layer: Any, *, is_known: bool) -> int:
    if "Embedding" in type(layer).__name__:
        return 0
    # The parts of a layer have no calls of their own in the graph; its weights include theirs.
    weights = layer.weights if is_known else _own_weights(layer)
    products: int = sum(math.prod(weight.shape) for weight in weights if len(weight.shape) >= 2)
    return products * _weight_uses(layer) if is_known else products


def _own_weights(layer: Any) -> list[Any]:
    parts = {id(weight) for part in every_layer(layer) for weight in part.weights}
    return [weight for weight in layer.weights if id(weight) not in parts]


def _weight_uses(layer: Any) -> int:
    """Return how often the weights are used for one sample: pixels, or steps in time."""
    kind = type(layer).__name__
    is_convolution = "Conv" in kind and "Transpose" not in kind
    total = 0
    for node in layer._inbound_nodes:
        tensors = node.outputs if is_convolution else node.input_tensors
        sizes = tensors[0].shape[1:-1] if tensors and len(tensors[0].shape) > 2 else ()
        total += math.prod(size or 1 for size in sizes)
    return max(total, 1)
