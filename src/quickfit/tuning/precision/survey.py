"""What a model itself says about 16 bits: sizes, epsilons, policies and outputs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from quickfit import units
from quickfit.tuning.precision.costs import Cost, costs_of, step_flops
from quickfit.tuning.precision.keeping import head_layers, rounded_lookups, unsafe_epsilon
from quickfit.tuning.precision.layers import every_layer, is_graph, named, policy_name
from quickfit.tuning.stepping.optimizer import scaler_in
from quickfit.tuning.stepping.weights import float16_layers

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
class Reason:
    """A fact that speaks about 16 bits.

    Args:
        topic: what it is about, a word or two.
        text: the fact with its figure, a sentence.
    """

    topic: str
    text: str


def survey(model: Any, policy: str) -> list[Reason]:
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


def survey_speed(model: Any, batch: int | None = None) -> list[Reason]:
    """Return what keeps units for 16 bits from being used: small or odd sizes."""
    costs = costs_of(model)
    if not costs:
        return [Reason("size", "the model is not built, so the sizes of its layers are not known")]
    return [*_of_size(costs, batch), *_of_dimensions(model, costs), *_of_batch(batch)]


def _of_loss_scale(model: Any) -> Iterator[Reason]:
    layers = float16_layers(model)
    optimizer = getattr(model, "optimizer", None)
    if not layers or optimizer is None:
        return
    if scaler_in(optimizer) is None and optimizer.loss_scale_factor is None:
        yield Reason(
            "loss scale",
            f"float16 without loss scaling ({_listed(layers)}): small gradients become 0. Keras "
            "scales by itself only where the whole model is mixed_float16: compile with "
            "keras.optimizers.LossScaleOptimizer(optimizer)",
        )


def _of_ids(model: Any) -> Iterator[Reason]:
    for layer in rounded_lookups(model):
        yield Reason(
            "ids",
            f"the model begins with {named(layer)} and does not say that ids go into it, so with a "
            "16-bit policy Keras rounds them, and other rows are looked up (from 257 on in "
            "bfloat16, from 2,049 on in float16): begin the model with "
            'keras.Input((None,), dtype="int32")',
        )


def _of_outputs(model: Any) -> Iterator[Reason]:
    if not is_graph(model):
        return
    layers = [layer.name for layer in head_layers(model) if layer.compute_dtype in _SIXTEEN]
    if layers:
        yield Reason(
            "output",
            f"the output comes from {_listed(layers)} in 16 bits, and so does what the loss gets: "
            'give the last layer dtype="float32"',
        )


def _of_losses(model: Any) -> Iterator[Reason]:
    import keras

    given = getattr(model, "loss", None)
    losses = [one for one in keras.tree.flatten(given) if getattr(one, "dtype", "") in _SIXTEEN]
    if losses:
        yield Reason(
            "loss",
            f"the loss {type(losses[0]).__name__} is computed in {losses[0].dtype}, which adds up "
            'a batch badly: give it dtype="float32"',
        )


def _of_own_types(model: Any) -> Iterator[Reason]:
    by_name: dict[str, list[str]] = {}
    for layer in every_layer(model):
        by_name.setdefault(policy_name(layer) or "several policies", []).append(layer.name)
    for name, layers in by_name.items():
        if name == "float64":
            yield Reason("float64", f"float64 is left as it is ({_listed(layers)})")
        elif name in _SIXTEEN:
            yield Reason(
                "policies",
                f"weights in {name}, where small updates are lost ({_listed(layers)}): use "
                f"mixed_{name}",
            )
        elif name != "float32" and len(by_name) > 1:
            count = sum(map(len, by_name.values()))
            yield Reason("policies", f"{len(layers)} of {count} layers are in {name} already")


def _of_epsilons(model: Any) -> Iterator[Reason]:
    for layer in every_layer(model):
        unsafe = unsafe_epsilon(layer)
        if unsafe is not None and layer.compute_dtype != "float64":
            yield Reason(
                "epsilon",
                f"the layer {named(layer)} has {unsafe[0]} = {unsafe[1]:g}, which is 0 in float16 "
                'and makes NaN: give it dtype="float32" (apply_precision does)',
            )


def _of_casting(model: Any) -> Iterator[Reason]:
    # Layers of Keras that do not cast know why: they compute in float32 inside.
    layers = [
        layer.name
        for layer in every_layer(model)
        if not layer.autocast and not type(layer).__module__.startswith("keras.")
    ]
    if layers:
        yield Reason(
            "casting",
            f"autocast is off ({_listed(layers)}): what is computed there has the type of what "
            "comes in, and may mix types",
        )


def _of_size(costs: list[Cost], batch: int | None) -> Iterator[Reason]:
    flops = step_flops(costs, batch or _USUAL_BATCH)
    if flops < MIN_STEP_FLOPS:
        yield Reason(
            "size",
            f"the model is small: a step of {batch or _USUAL_BATCH} samples is about "
            f"{flops / 1e6:,.1f} million operations, and starting them may cost a GPU more; "
            "steps_per_execution or a larger batch gain more there",
        )


def _of_dimensions(model: Any, costs: list[Cost]) -> Iterator[Reason]:
    heads = {id(layer) for layer in head_layers(model)} if is_graph(model) else set()
    total = sum(cost.products for cost in costs)
    odd = [cost for cost in costs if id(cost.layer) not in heads and _width(cost.layer) % MULTIPLE]
    odd.sort(key=lambda cost: -cost.products)
    share = sum(cost.products for cost in odd) / total
    if share < MIN_SHARE:
        return
    names = [f"{cost.layer.name} ({_width(cost.layer)})" for cost in odd]
    yield Reason(
        "dimensions",
        f"{units.share(share)} of the multiplications are in layers whose units or channels are no "
        f"multiple of {MULTIPLE}, which Tensor Cores use badly: {_listed(names)}",
    )


def _of_batch(batch: int | None) -> Iterator[Reason]:
    if batch is not None and batch % MULTIPLE:
        yield Reason(
            "batch", f"the batch of {batch} is no multiple of {MULTIPLE}: {_rounded(batch)} is"
        )


def _rounded(batch: int) -> int:
    return max(round(batch / MULTIPLE), 1) * MULTIPLE


def _width(layer: Any) -> int:
    """Return the units or channels that a layer makes; 0 where it does not say."""
    for name in ("units", "filters"):
        value = getattr(layer, name, None)
        if isinstance(value, int):
            return value
    return 0


def _listed(names: list[str]) -> str:
    rest = len(names) - _MOST_NAMES
    return ", ".join(names[:_MOST_NAMES]) + (f" and {rest} more" if rest > 0 else "")
