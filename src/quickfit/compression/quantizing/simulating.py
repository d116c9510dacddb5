"""`fake_quantised`: a model that computes as its int8 file will, to be trained for that."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from quickfit.compression.graph import graph_of, rebuilt
from quickfit.compression.made import Made, Skipped
from quickfit.compression.norms.folding import folded
from quickfit.compression.quantizing.feeding import batches, finite_samples
from quickfit.compression.quantizing.leftover_norms import norms_as_convolutions
from quickfit.compression.quantizing.placing import Placing
from quickfit.compression.quantizing.precision import in_float32
from quickfit.compression.quantizing.standing_in import plain_like, take_weights
from quickfit.compression.walking.call import Call
from quickfit.compression.walking.copies import copy_state, fresh
from quickfit.errors import UsageError

if TYPE_CHECKING:
    from quickfit.compression.calibration import Samples

# Models are `Any`: Keras has no types of its own.

# Enough to see the ends of the ranges; training moves them on.
CALIBRATION_SAMPLES = 256
_BATCH = 64
# Two bits are -1, 0 and 1; more than eight are not int8.
_LEAST_BITS, _MOST_BITS = 2, 8


def fake_quantised(model: Any, calibration: Any, *, bits: int = 8, weight_bits: int = 8) -> Made:
    """Return a model that rounds as int8 does, and that learns to live with it in `fit`.

        made = fake_quantised(model, images)
        made.model.compile(keras.optimizers.Adam(1e-4), loss, metrics=["accuracy"])
        made.model.fit(images, labels, epochs=1)
        exported(made.model, "digits.tflite", "int8")

    Batch normalisation is folded into the layers before it. Kernels are rounded to `weight_bits`
    per output channel, what comes out of a layer to `bits`, in ranges that follow the data. Layers
    it does not know are kept as they are; those with weights are listed in `skipped`.

    Args:
        model: functional or Sequential; it is not changed.
        calibration: some samples as the model takes them, without labels. The first ranges are
            learned from them.
        bits: of activations, 2 to 8. The file has 8 in any case.
        weight_bits: of kernels, 2 to 8. Fewer than 8 make the file smaller only when it is
            compressed: LiteRT keeps them as int8.

    Raises:
        UsageError: bits or samples are wrong.
        ModelError: the model has no graph, such as a subclassed one.
    """
    for name, value in (("bits", bits), ("weight_bits", weight_bits)):
        if not _LEAST_BITS <= value <= _MOST_BITS:
            raise UsageError(f"{name}={value}: it takes {_LEAST_BITS} to {_MOST_BITS}.")
    samples = finite_samples(model, calibration, CALIBRATION_SAMPLES)
    source = folded(in_float32(model))
    graph = graph_of(norms_as_convolutions(source.model))
    placing = Placing(graph, bits=bits, weight_bits=weight_bits)
    made = rebuilt(graph, placing, name=model.name)
    watch(made, samples)
    skipped = tuple(
        Skipped(one.layer, source.kept.get(one.layer, one.reason)) for one in placing.skipped
    )
    return Made(made, _notes(skipped), skipped)


def watch(model: Any, samples: Samples) -> None:
    """Learn the ranges of activations from samples."""
    layers = _roundings(model)
    for layer in layers:
        layer.is_watching = True
    try:
        for batch in batches(model, samples, _BATCH):
            model(batch, training=False)
    finally:
        for layer in layers:
            layer.is_watching = False


def is_fake_quantised(model: Any) -> bool:
    """Tell whether a model came from `fake_quantised`."""
    return bool(_roundings(model))


def stripped(model: Any) -> Any:
    """Return a trained model of `fake_quantised` as a plain one: its kernels hold rounded numbers.

    It has no layers of quickfit in it, and its accuracy is nearly that of the int8 file.

    Raises:
        UsageError: the model is not from `fake_quantised`.
    """
    if not is_fake_quantised(model):
        raise UsageError(
            f"The model '{model.name}' has nothing to strip: it is not from fake_quantised()."
        )
    return rebuilt(graph_of(model), _Plain())


def with_ranges(model: Any) -> Any:
    """Return a plain model with the roundings of activations in it: what the converter reads."""
    return rebuilt(graph_of(model), _Plain(keeps_ranges=True))


class _Plain:
    """Makes plain layers of those with rounded kernels; given to `rebuilt`.

    Args:
        keeps_ranges: whether activations stay rounded, to the 8 bits that a file has.
    """

    def __init__(self, *, keeps_ranges: bool = False) -> None:
        self._keeps_ranges = keeps_ranges
        self._layers: dict[int, Any] = {}

    def __call__(self, call: Call, tensors: tuple[Any, ...]) -> Any:
        from quickfit.compression.quantizing.fake_activations import FakeQuant
        from quickfit.compression.quantizing.fake_kernels import PLAIN

        if isinstance(call.layer, FakeQuant):
            return self._range(call, tensors) if self._keeps_ranges else tensors[0]
        if type(call.layer) not in PLAIN:
            return None
        known = self._layers.get(id(call.layer))
        layer = known or plain_like(call.layer)
        result = call.replay(layer, tensors)
        if known is None:
            self._layers[id(call.layer)] = layer
            take_weights(layer, call.layer)
        return result

    def _range(self, call: Call, tensors: tuple[Any, ...]) -> Any:
        layer = fresh(call.layer, name=call.name, bits=_MOST_BITS)
        result = call.replay(layer, tensors)
        copy_state(call.layer, layer)
        return result


def _roundings(model: Any) -> list[Any]:
    # Looked for by name first: most models have none, and the class needs Keras.
    named = [one for one in getattr(model, "layers", []) if type(one).__name__ == "FakeQuant"]
    if not named:
        return []
    from quickfit.compression.quantizing.fake_activations import FakeQuant

    return [one for one in named if isinstance(one, FakeQuant)]


def _notes(skipped: tuple[Skipped, ...]) -> tuple[str, ...]:
    if not skipped:
        return ()
    return (f"These layers stay in float: {', '.join(one.layer for one in skipped)}.",)
