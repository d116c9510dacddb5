"""Next character, small transformer, own loop."""
import numpy as np
import tensorflow as tf
from tensorflow.keras import layers

text = "the quick brown fox jumps over the lazy dog and runs away from the bear that sleeps . " * 1500
chars = sorted(set(text))
ids = np.array([chars.index(c) for c in text], "int32")
T = 64


def block(x, dim, heads):
    a = layers.MultiHeadAttention(heads, dim // heads)(x, x, use_causal_mask=True)
    x = layers.LayerNormalization()(x + a)
    f = layers.Dense(dim * 4, activation="gelu")(x)
    return layers.LayerNormalization()(x + layers.Dense(dim)(f))


inp = layers.Input((T,), dtype="int32")
x = layers.Embedding(len(chars), 96)(inp)
x = x + layers.Embedding(T, 96)(tf.range(T))
for _ in range(2):
    x = block(x, 96, 4)
model = tf.keras.Model(inp, layers.Dense(len(chars))(x))
opt = tf.keras.optimizers.AdamW(1e-3)
ce = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
mean = tf.keras.metrics.Mean()

windows = np.lib.stride_tricks.sliding_window_view(ids, T + 1)[::17]
ds = tf.data.Dataset.from_tensor_slices(np.ascontiguousarray(windows)).shuffle(8000).batch(64, drop_remainder=True).prefetch(2)


@tf.function
def step(w):
    with tf.GradientTape() as tape:
        loss = ce(w[:, 1:], model(w[:, :-1], training=True))
    opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    mean.update_state(loss)


for epoch in range(2):
    for w in ds:
        step(w)
    print("epoch", epoch, "loss", mean.result().numpy())
    mean.reset_state()
