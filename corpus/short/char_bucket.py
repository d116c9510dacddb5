"""Small transformer tagger. Sentences are padded to the longest of their batch."""
import numpy as np
import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers

VOCAB, TAGS, DIM = 120, 9, 48
rng = np.random.default_rng(5)


def corpus(n):
    sents = []
    for _ in range(n):
        length = int(rng.integers(8, 70))
        toks = rng.integers(1, VOCAB, length)
        sents.append((toks, toks % TAGS))
    return sents


def padded_batches(sents, size):
    for i in range(0, len(sents), size):
        part = sents[i : i + size]
        longest = max(len(t) for t, _ in part)
        x = np.zeros((len(part), longest), "int32")
        y = np.zeros((len(part), longest), "int32")
        for row, (t, g) in enumerate(part):
            x[row, : len(t)] = t
            y[row, : len(t)] = g
        yield x, y


def build():
    inp = layers.Input((None,), dtype="int32")
    h = layers.Embedding(VOCAB, DIM)(inp)
    for _ in range(4):
        a = layers.MultiHeadAttention(4, DIM // 4)(h, h)
        h = layers.LayerNormalization()(h + a)
        f = layers.Dense(DIM * 2, activation="gelu")(h)
        h = layers.LayerNormalization()(h + layers.Dense(DIM)(f))
    return keras.Model(inp, layers.Dense(TAGS)(h))


model = build()
optimizer = keras.optimizers.Adam(1e-3)
optimizer.build(model.trainable_variables)
loss_fn = keras.losses.SparseCategoricalCrossentropy(from_logits=True)


@tf.function
def train_step(x, y):
    with tf.GradientTape() as tape:
        logits = model(x, training=True)
        loss = loss_fn(y, logits)
    grads = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(grads, model.trainable_variables))
    return loss


sentences = sorted(corpus(88), key=lambda s: len(s[0]))
batches = list(padded_batches(sentences, 8))
for epoch in range(1):
    for step, (x, y) in enumerate(batches):
        loss = train_step(tf.constant(x), tf.constant(y))
        print("epoch", epoch, "step", step, "len", x.shape[1], "loss %.3f" % float(loss))
