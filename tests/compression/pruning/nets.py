"""Small models of every shape that channels are followed through, with room to remove some."""

import numpy as np

from compression.models import settled


def normalized():
    """Return convolutions with batch normalization, one without scale, and pooling."""
    keras, layers = _keras()
    x = inputs = keras.Input((8, 8, 3))
    x = layers.Conv2D(8, 3, padding="same", use_bias=False, name="first")(x)
    x = layers.ReLU()(layers.BatchNormalization(name="norm")(x))
    x = layers.AveragePooling2D(2)(layers.ZeroPadding2D(1)(x))
    x = layers.Conv2D(8, 3, strides=2, padding="same", activation="gelu", name="second")(x)
    x = layers.BatchNormalization(scale=False)(layers.Dropout(0.1)(x))
    return _ended(inputs, layers.GlobalMaxPooling2D()(x))


def mobile():
    """Return depthwise convolutions (two results per channel), separable and transposed ones."""
    keras, layers = _keras()
    x = inputs = keras.Input((8, 8, 3))
    x = layers.Conv2D(6, 1, name="first")(x)
    x = layers.DepthwiseConv2D(3, padding="same", depth_multiplier=2, name="depthwise")(x)
    x = layers.ReLU(6.0)(layers.BatchNormalization()(x))
    x = layers.SeparableConv2D(8, 3, depth_multiplier=2, name="separable")(x)
    x = layers.LeakyReLU()(layers.BatchNormalization()(x))
    x = layers.Conv2DTranspose(6, 3, strides=2, name="transposed")(x)
    x = layers.PReLU(shared_axes=[1, 2], name="shared_slope")(layers.Cropping2D(1)(x))
    x = layers.PReLU(name="slope")(layers.UpSampling2D(2)(x))
    return _ended(inputs, layers.Conv2D(4, 3, dilation_rate=2, name="last")(x))


def branches():
    """Return two branches of different width, concatenated and added to a third one."""
    keras, layers = _keras()
    inputs = keras.Input((6, 6, 3))
    left = layers.Conv2D(4, 1, activation="relu", name="left")(inputs)
    right = layers.Conv2D(8, 3, padding="same", activation="relu", name="right")(inputs)
    x = layers.Concatenate()([left, right])
    other = layers.Conv2D(12, 3, padding="same", name="other")(inputs)
    x = layers.Add()([x, other])
    x = layers.Concatenate(axis=1)([x, layers.Conv2D(12, 1, name="below")(inputs)])
    return _ended(inputs, layers.Conv2D(6, 3, name="last")(x))


def residual():
    """Return a residual block with `+`, squeezed and excited, averages and maxima."""
    keras, layers = _keras()
    inputs = keras.Input((6, 6, 3))
    stem = layers.Conv2D(8, 3, padding="same", activation="relu", name="stem")(inputs)
    x = layers.Conv2D(8, 3, padding="same", name="conv")(stem)
    scale = layers.GlobalAveragePooling2D(keepdims=True)(x)
    scale = layers.Dense(4, activation="relu", name="squeeze")(scale)
    scale = layers.Dense(8, activation="sigmoid", name="excite")(scale)
    x = keras.ops.relu(layers.Multiply()([x, scale]) + stem * 0.5)
    gate = layers.Conv2D(1, 1, activation="sigmoid", name="gate")(x)
    x = layers.Multiply()([x, gate])
    flat = layers.GlobalAveragePooling2D()(x)
    x = layers.Maximum()([layers.Average()([x, stem]), x])
    x = layers.Subtract()([x, layers.Reshape((1, 1, 8))(flat)])
    return _ended(inputs, layers.Conv2D(4, 3, name="last")(x))


def flattened():
    """Return maps flattened in three ways into Dense layers."""
    keras, layers = _keras()
    inputs = keras.Input((4, 4, 3))
    x = layers.Conv2D(6, 3, activation="relu", name="conv")(inputs)
    ways = [
        layers.Flatten()(x),
        layers.Reshape((24,))(x),
        layers.Flatten()(layers.Permute((3, 1, 2))(x)),
        layers.GlobalAveragePooling1D()(layers.Reshape((-1, 6))(x)),
    ]
    return _ended(inputs, layers.Concatenate()([layers.Dense(8)(way) for way in ways]))


def shared():
    """Return a convolution and a normalization called on two branches."""
    keras, layers = _keras()
    inputs = keras.Input((8, 8, 3))
    conv = layers.Conv2D(8, 3, padding="same", name="shared")
    norm = layers.BatchNormalization(name="shared_norm")
    left = norm(conv(layers.Conv2D(8, 3, padding="same", name="left")(inputs)))
    right = norm(conv(layers.Conv2D(8, 1, name="right")(inputs)))
    x = layers.Subtract()([left, right])
    return settled(keras.Model(inputs, layers.Dense(2)(layers.Flatten()(x))))


def nested():
    """Return a model in which another one is called twice."""
    keras, layers = _keras()
    inner = keras.Sequential(
        [
            keras.Input((6, 6, 4)),
            layers.Conv2D(8, 3, padding="same", activation="relu", name="inside"),
            layers.Conv2D(4, 1, name="back"),
        ],
        name="block",
    )
    inputs = keras.Input((6, 6, 3))
    x = layers.Conv2D(4, 1, name="first")(inputs)
    return _ended(inputs, inner(layers.ReLU()(inner(x))))


def outputs():
    """Return a model with two outputs, one of them from the middle."""
    keras, layers = _keras()
    inputs = keras.Input((8,), name="values")
    x = layers.Dense(8, activation="relu", name="first")(inputs)
    middle = layers.Dense(6, name="middle")(x)
    x = layers.Dense(8, activation="silu", name="second")(layers.ReLU()(middle))
    return settled(keras.Model(inputs, {"middle": middle, "end": layers.Dense(3, name="end")(x)}))


def words():
    """Return an embedding with one-dimensional convolutions, plain, separable and causal."""
    keras, layers = _keras()
    inputs = keras.Input((12,), dtype="int32")
    x = layers.Embedding(20, 8, name="embedding")(inputs)
    x = layers.Conv1D(8, 3, padding="causal", activation="tanh", name="causal")(x)
    x = layers.MaxPooling1D(2)(x)
    x = layers.SeparableConv1D(6, 3, padding="same", name="separable")(x)
    x = layers.DepthwiseConv1D(3, name="depthwise")(x)
    x = layers.Dense(6, activation="relu", name="dense")(layers.Conv1DTranspose(8, 3)(x))
    return _ended(inputs, layers.Flatten()(x))


def volumes():
    """Return three-dimensional convolutions."""
    keras, layers = _keras()
    inputs = keras.Input((4, 4, 4, 2))
    x = layers.Conv3D(6, 3, padding="same", strides=2, name="first")(inputs)
    x = layers.Conv3DTranspose(6, 2, strides=2, name="up")(layers.BatchNormalization()(x))
    x = layers.Conv3D(6, 2, name="last")(x)
    return _ended(inputs, layers.GlobalAveragePooling3D()(x))


GOLDEN = [
    normalized,
    mobile,
    branches,
    residual,
    flattened,
    shared,
    nested,
    outputs,
    words,
    volumes,
]


def stuck():
    """Return a model whose channels reach layers that need all of them."""
    keras, layers = _keras()
    inputs = keras.Input((8, 6), name="steps")
    x = layers.Conv1D(6, 3, padding="same", name="to_input")(inputs)
    x = layers.Add(name="add")([x, inputs])
    x = layers.Conv1D(8, 3, groups=2, name="grouped")(x)
    x = layers.Dense(8, name="to_norm")(x)
    x = layers.LayerNormalization(name="layer_norm")(x)
    x = layers.Dense(8, activation="softmax", name="attention")(x)
    x = layers.Dense(8, name="to_slice")(x)
    x = layers.LSTM(8, name="lstm")(x[:, :, :4])
    return settled(keras.Model(inputs, layers.Dense(4, name="head")(x)))


def _ended(inputs, x):
    keras, layers = _keras()
    x = layers.Flatten()(x) if len(x.shape) > 2 else x
    return settled(keras.Model(inputs, layers.Dense(3, name="head")(x)))


def masked(model, plan):
    """Return a copy of a model in which nothing reads the channels of a plan."""
    from quickfit.compression.copying import copied
    from quickfit.compression.graph import graph_of

    copy = copied(model)
    layers = {call.name: call.layer for call in graph_of(copy).calls}
    trace = plan.trace
    for call in trace.calls_with(trace.made):
        if id(call.layer) in trace.read:
            read = trace.read[id(call.layer)]
            gone = np.setdiff1d(np.arange(len(read.atoms)), plan.kept(read))
            silence(layers[call.name], gone)
    return copy


def silence(layer, gone):
    """Set the weights of a layer for some of its inputs to zero."""
    name = "depthwise_kernel" if hasattr(layer, "depthwise_kernel") else "kernel"
    variable = getattr(layer, name)
    kernel = variable.numpy().copy()
    if "Transpose" in type(layer).__name__:
        kernel[..., gone] = 0
    else:
        kernel[(..., gone, slice(None))] = 0
    variable.assign(kernel)


def _keras():
    import keras

    return keras, keras.layers
