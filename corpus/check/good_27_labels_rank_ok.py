# EXPECT none
# NOTE (n,) labels against (n,1) predictions are aligned by Keras losses; the conv net ends in a 1x1 map that Reshape turns into (1,); the LSTM with return_sequences has sequence labels
# SEEN fine, exit 0; last line: 3/3 - 0s - 22ms/step - loss: 5.1635
import keras
import numpy as np
from keras import layers


def conv_regressor():
    i = keras.Input((8, 8, 1))
    h = layers.Conv2D(8, 3, strides=2, activation="relu")(i)   # 3x3
    h = layers.Conv2D(1, 3)(h)                                 # 1x1
    return keras.Model(i, layers.Reshape((1,))(h))


def pooled_regressor():
    return keras.Sequential([
        keras.Input((8, 8, 1)),
        layers.Conv2D(8, 3, activation="relu"),
        layers.Dense(8, activation="relu"),
        layers.GlobalAveragePooling2D(),
        layers.Dense(1),
    ])


def tagger():
    return keras.Sequential([
        keras.Input((12, 3)),
        layers.LSTM(8, return_sequences=True),
        layers.Dense(1),
    ])


rng = np.random.default_rng(0)
x = rng.normal(size=(64, 8, 8, 1)).astype("float32")
y = x.mean((1, 2, 3))
for build in (conv_regressor, pooled_regressor):
    model = build()
    model.compile("adam", "mse")
    model.fit(x, y, epochs=2, batch_size=16, verbose=2)
    assert model.predict(x, verbose=0).shape == (64, 1)

seq = rng.normal(size=(48, 12, 3)).astype("float32")
target = np.cumsum(seq[..., 0], axis=1)
model = tagger()
model.compile("adam", "mse")
model.fit(seq, target, epochs=2, batch_size=16, verbose=2)
