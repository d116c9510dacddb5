# EXPECT none
# NOTE LearningRateScheduler, ReduceLROnPlateau and the history read at the end
import numpy as np
import tensorflow.keras as K


def warm(epoch, lr):
    return 1e-3 * min(1.0, (epoch + 1) / 3)


def train():
    np.random.seed(6)
    X = np.random.uniform(-1, 1, (30000, 45)).astype(np.float32)
    T = np.stack([np.cos(X[:, 0]), X[:, 1] * X[:, 2]], axis=1).astype(np.float32)
    m = K.models.Sequential([K.layers.Input((45,)), K.layers.Dense(512, "relu"), K.layers.Dense(512, "relu"), K.layers.Dense(2)])
    m.compile("adam", "mse", metrics=["mae", "mape"])
    cbs = [K.callbacks.LearningRateScheduler(warm), K.callbacks.ReduceLROnPlateau(monitor="loss", patience=2, factor=0.5)]
    return m.fit(X, T, batch_size=60, epochs=14, callbacks=cbs, verbose=0)


h = train().history
for i, (l, a, r) in enumerate(zip(h["loss"], h["mae"], h["learning_rate"])):
    print("%2d %.5f %.5f lr=%.5f" % (i, l, a, r))
