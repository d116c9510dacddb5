# EXPECT mixed-precision-nan line=14
# NOTE separate Activation("softmax") from a head helper whose dtype parameter defaults to None (= policy); probabilities below 6e-8 are 0 in float16, the own focal loss takes their log: NaN (with dtype="float32" it trains); line of the helper, the call in build() would do too
# SEEN runs; losses [nan, nan, nan]; with dtype="float32" on the head [5.33, 1.93, 1.00]
import keras
import numpy as np
from keras import layers, ops


def classification_head(features, classes, *, hidden=None, dtype=None):
    x = features
    if hidden:
        x = layers.Dense(hidden, activation="relu")(x)
    x = layers.Dense(classes)(x)
    return layers.Activation("softmax", dtype=dtype, name="probs")(x)


def focal_loss(y_true, y_pred, gamma=2.0):
    y_true = ops.cast(y_true, y_pred.dtype)
    logp = ops.log(y_pred)
    return -ops.mean(ops.sum(y_true * (1.0 - y_pred) ** gamma * logp, axis=-1))


def build(dims, classes):
    inputs = keras.Input((dims,))
    x = layers.Dense(64, activation="relu")(inputs)
    return keras.Model(inputs, classification_head(x, classes, hidden=32))


def run():
    keras.utils.set_random_seed(0)
    keras.config.set_dtype_policy("mixed_float16")
    rng = np.random.default_rng(0)
    x = 20 * rng.normal(size=(256, 10)).astype("float32")
    y = keras.utils.to_categorical(rng.integers(0, 4, 256), 4)

    model = build(10, 4)
    model.compile(keras.optimizers.Adam(1e-2), loss=focal_loss)
    history = model.fit(x, y, epochs=3, batch_size=32, verbose=0)
    print("losses", history.history["loss"])


if __name__ == "__main__":
    run()
