"""Which dtype policy every layer of a model gets."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from quickfit.errors import UsageError
from quickfit.tuning.precision.keeping import kept_layers
from quickfit.tuning.precision.layers import every_layer, is_graph, is_sequential, policy_name

# Models and layers of Keras are `Any`: Keras has no types of its own.

FLOAT32 = "float32"
POLICIES = ("mixed_float16", "mixed_bfloat16", FLOAT32)


def known_policy(policy: object) -> str:
    """Return the name of a policy that can be applied.

    Raises:
        UsageError: it is none of those.
    """
    name = getattr(policy, "name", policy)
    if isinstance(name, str) and name in POLICIES:
        return name
    hint = ""
    if name in ("float16", "bfloat16"):
        hint = (
            f" In pure {name} the weights lose small updates; mixed_{name} keeps them in float32."
        )
    raise UsageError(
        f"{name!r} is no policy that quickfit applies.{hint} Give one of: {', '.join(POLICIES)}."
    )


@dataclass(frozen=True)
class Plan:
    """The policy of every layer, by its `id`.

    Args:
        policy: the one that was asked for.
        kept: layers that stay in float32, by `id`, with the reason.
        is_mixed: whether the model has 16-bit layers already, so that float32 was chosen on
            purpose where it is.
    """

    policy: str
    kept: dict[int, str] = field(default_factory=dict)
    is_mixed: bool = False

    def policy_of(self, layer: Any) -> str:
        """Return the policy for a layer; empty to leave a policy of its own as it is."""
        if is_sequential(layer):
            return self._of_first(layer)
        own = policy_name(layer)
        if not self.may_change(own) and not is_graph(layer):
            return ""
        if id(layer) in self.kept or (self.is_mixed and own == FLOAT32):
            return FLOAT32
        return self.policy

    def may_change(self, own: str) -> bool:
        """Tell whether a policy is one to change: float64 and quantized layers are left alone."""
        # Weights in 16 bits can be widened and nothing is lost, but not the other way.
        return own in POLICIES or (self.policy == FLOAT32 and own in ("float16", "bfloat16"))

    def _of_first(self, model: Any) -> str:
        """Return the policy for a list of layers, which casts what its first layer gets."""
        first = model.layers[0] if model.layers else None
        if first is None or not first.autocast:
            return FLOAT32  # such as token ids for an Embedding, which 16 bits would change
        return self.policy_of(first) or FLOAT32


def plan_for(model: Any, policy: str) -> Plan:
    """Return the policy of every layer of a model."""
    if policy == FLOAT32:
        return Plan(policy)
    names = {policy_name(layer) for layer in every_layer(model)}
    is_mixed = any(name.startswith("mixed_") for name in names)
    return Plan(policy, kept_layers(model, policy), is_mixed)
