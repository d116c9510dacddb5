# EXPECT none
# NOTE predictions are image-shaped on purpose: the labels are masks of the same size (one without channel axis, which Keras losses expand)
# SEEN fine, exit 0; last line: (2, 16, 16, 1) (2, 16, 16)
import numpy as np
import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers


def shapes(n, seed):
    rng = np.random.default_rng(seed)
    mask = np.zeros((n, 16, 16), "float32")
    for m in mask:
        r, c = rng.integers(0, 10, 2)
        m[r:r + 6, c:c + 6] = 1
    image = mask[..., None] * 0.7 + rng.normal(0, 0.2, (n, 16, 16, 1))
    return image.astype("float32"), mask


def unet():
    inp = keras.Input((16, 16, 1))
    d = layers.Conv2D(8, 3, padding="same", activation="relu")(inp)
    p = layers.MaxPooling2D()(d)
    b = layers.Conv2D(16, 3, padding="same", activation="relu")(p)
    u = layers.UpSampling2D()(b)
    m = layers.Concatenate()([u, d])
    out = layers.Dense(1)(m)          # per-pixel
    return keras.Model(inp, out)


x, y = shapes(96, 0)
ds = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(96).batch(16)
model = unet()
model.compile("adam", "mse")
model.fit(ds, epochs=2, verbose=2)
print(model.predict(x[:2], verbose=0).shape, y[:2].shape)
