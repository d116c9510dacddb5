"""Which counter belongs to which layer."""

from functools import cache
from typing import Any

from quickfit.compression.counting import sequences, simple, weighted
from quickfit.compression.counting.sizes import Shape, activated, size
from quickfit.compression.walking.kinds import calls_its_own_way


def operations(layer: Any, given: list[Shape], made: list[Shape]) -> int | None:
    """Return how many operations a call takes; None where its kind is not known.

    Args:
        layer: a layer or an operation.
        given: the shapes of the tensors that go in, with the batch.
        made: the shapes of those that come out.
    """
    import keras

    if not isinstance(layer, keras.Layer):
        return simple.operation(layer, given, made)
    if calls_its_own_way(layer):
        return None
    if isinstance(layer, keras.layers.Bidirectional):
        return sequences.bidirectional(layer, given, made, operations)
    if isinstance(layer, keras.layers.TimeDistributed):
        return sequences.each_step(layer, given, made, operations)
    if isinstance(layer, keras.layers.Activation):
        return activated(layer, size(made[0]))
    return next((n(layer, given, made) for kind, n in _table() if isinstance(layer, kind)), None)


@cache
def _table() -> list[tuple[Any, Any]]:
    """Return kinds of layers with their counters; the first that fits counts."""
    names = {
        weighted.transposed: "Conv1DTranspose Conv2DTranspose Conv3DTranspose",
        weighted.depthwise: "DepthwiseConv1D DepthwiseConv2D",
        weighted.separable: "SeparableConv1D SeparableConv2D",
        weighted.convolution: "Conv1D Conv2D Conv3D",
        weighted.dense: "Dense",
        weighted.einsum_dense: "EinsumDense",
        sequences.lstm: "LSTM",
        sequences.gru: "GRU",
        sequences.simple_rnn: "SimpleRNN",
        sequences.multi_head: "MultiHeadAttention",
        sequences.dot_attention: "Attention AdditiveAttention",
        simple.pooling: "MaxPooling1D MaxPooling2D MaxPooling3D "
        "AveragePooling1D AveragePooling2D AveragePooling3D",
        simple.each_input: "GlobalMaxPooling1D GlobalMaxPooling2D GlobalMaxPooling3D "
        "GlobalAveragePooling1D GlobalAveragePooling2D GlobalAveragePooling3D",
        simple.softmax: "Softmax",
        simple.each_output: "ReLU LeakyReLU PReLU ELU",
        simple.scaling: "BatchNormalization Rescaling Normalization",
        simple.layer_norm: "LayerNormalization GroupNormalization RMSNormalization "
        "UnitNormalization",
        simple.merge: "Add Subtract Multiply Average Maximum Minimum",
        simple.free: "Concatenate Flatten Reshape Permute RepeatVector Identity Embedding Masking "
        "ZeroPadding1D ZeroPadding2D ZeroPadding3D Cropping1D Cropping2D Cropping3D UpSampling1D "
        "UpSampling3D InputLayer Dropout SpatialDropout1D SpatialDropout2D SpatialDropout3D "
        "GaussianNoise GaussianDropout AlphaDropout ActivityRegularization RandomFlip "
        "RandomRotation RandomZoom RandomTranslation RandomContrast RandomBrightness RandomShear "
        "RandomHue RandomSaturation RandomSharpness RandomColorJitter RandomColorDegeneration "
        "RandomGrayscale RandomPosterization RandomErasing RandomGaussianBlur RandomInvert "
        "RandomPerspective RandomElasticTransform RandAugment AugMix MixUp CutMix",
    }
    return [(kind, n) for n, text in names.items() for kind in _classes(text)]


def _classes(text: str) -> list[Any]:
    """Return the layers of these names that this release of Keras has."""
    import keras

    found = [getattr(keras.layers, name, None) for name in text.split()]
    return [kind for kind in found if kind is not None]
