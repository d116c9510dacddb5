"""Operations of layers for sequences: recurrent ones, attention, and wrappers of other layers."""

from collections.abc import Callable
from typing import Any

from quickfit.compression.counting.simple import SOFTMAX_OPERATIONS
from quickfit.compression.counting.sizes import Shape, size

# Products and sums per unit and step beside the gates themselves.
LSTM_EXTRA, GRU_EXTRA = 4, 5
Counter = Callable[[Any, list[Shape], list[Shape]], int | None]


def lstm(layer: Any, given: list[Shape], made: list[Shape]) -> int:
    """Count an LSTM: four gates and a state."""
    return _recurrent(layer, given[0], gates=4, extra=LSTM_EXTRA)


def gru(layer: Any, given: list[Shape], made: list[Shape]) -> int:
    """Count a GRU: three gates."""
    return _recurrent(layer, given[0], gates=3, extra=GRU_EXTRA)


def simple_rnn(layer: Any, given: list[Shape], made: list[Shape]) -> int:
    """Count a SimpleRNN."""
    return _recurrent(layer, given[0], gates=1, extra=0)


def _recurrent(layer: Any, given: Shape, *, gates: int, extra: int) -> int:
    batch, steps, features = given
    units = layer.units
    products = 2 * gates * units * (features + units)
    values = gates * units * (2 if layer.use_bias else 1)  # the bias, and an activation per gate
    return int(batch * steps * (products + values + extra * units))


def bidirectional(layer: Any, given: list[Shape], made: list[Shape], count: Counter) -> int | None:
    """Count both directions of a recurrent layer; joining them is free but for sums."""
    ways = [count(part, given, made) for part in (layer.forward_layer, layer.backward_layer)]
    if any(way is None for way in ways):
        return None
    joined = size(made[0]) if layer.merge_mode in ("sum", "mul", "ave") else 0
    return sum(way or 0 for way in ways) + joined


def each_step(layer: Any, given: list[Shape], made: list[Shape], count: Counter) -> int | None:
    """Count a TimeDistributed: its steps are so many samples more."""
    before, after = ([(s[0] * s[1], *s[2:])] for s in (given[0], made[0]))
    return count(layer.layer, before, after)


def dot_attention(layer: Any, given: list[Shape], made: list[Shape]) -> int:
    """Count Attention and AdditiveAttention: query · key, softmax, times value."""
    query, value = given[0], given[1]
    pairs = query[0] * query[1] * value[1]
    return pairs * (2 * query[2] + SOFTMAX_OPERATIONS + 2 * value[2])


def multi_head(layer: Any, given: list[Shape], made: list[Shape]) -> int | None:
    """Count a MultiHeadAttention on sequences: projections, scores, softmax, sums, projection."""
    query, value = given[0], given[1]
    key = given[2] if len(given) > 2 else value
    if len(query) != 3 or len(value) != 3:
        return None
    heads, key_size, value_size = layer.num_heads, layer.key_dim, layer.value_dim or layer.key_dim
    inner = heads * (query[1] * query[2] + key[1] * key[2]) * key_size
    inner += heads * (value[1] * value[2] + query[1] * made[0][2]) * value_size
    pairs = heads * query[1] * value[1]
    scores = pairs * (2 * key_size + SOFTMAX_OPERATIONS + 2 * value_size)
    bias = heads * (key_size * (query[1] + key[1]) + value_size * value[1]) + size(made[0][1:])
    return int(query[0] * (2 * inner + scores + (bias if layer.use_bias else 0)))
