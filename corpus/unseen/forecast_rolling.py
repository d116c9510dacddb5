# rolling-origin forecast of hourly load, one step per origin
import numpy as np
import tensorflow as tf
from tensorflow.keras import layers

rng = np.random.default_rng(3)
t = np.arange(6000)
series = np.sin(t / 24 * 2 * np.pi) + 0.3 * np.sin(t / 168 * 2 * np.pi) + rng.normal(0, 0.1, t.shape)
series = series.astype("float32")

WINDOW = 48
encoder = tf.keras.Sequential([layers.Input((WINDOW, 1)), layers.GRU(48), layers.Dense(48, activation="tanh")])
cell = layers.GRUCell(48)
head = layers.Dense(1)
cell.build((None, 1))
head.build((None, 48))
opt = tf.keras.optimizers.Adam(1e-3)


def make_batch(origin, horizon, n=64):
    starts = rng.integers(0, origin - WINDOW - horizon, n)
    x = np.stack([series[s:s + WINDOW] for s in starts])[..., None]
    y = np.stack([series[s + WINDOW:s + WINDOW + horizon] for s in starts])
    return x, y


@tf.function
def train(x, y, horizon):
    with tf.GradientTape() as tape:
        h = encoder(x, training=True)
        last = x[:, -1]
        preds = []
        for _ in range(horizon):
            h, _s = cell(last, [h])
            last = head(h)
            preds.append(last)
        pred = tf.concat(preds, axis=1)
        loss = tf.reduce_mean((pred - y) ** 2)
    vs = encoder.trainable_variables + cell.trainable_variables + head.trainable_variables
    opt.apply_gradients(zip(tape.gradient(loss, vs), vs))
    return loss


opt.build(encoder.trainable_variables + cell.trainable_variables + head.trainable_variables)
for i, origin in enumerate(range(3000, 5700, 300)):
    horizon = 12 + 2 * i          # look further ahead as we know more
    x, y = make_batch(origin, horizon)
    loss = train(tf.constant(x), tf.constant(y), horizon)
    print("origin", origin, "horizon", horizon, "mse", float(loss))
