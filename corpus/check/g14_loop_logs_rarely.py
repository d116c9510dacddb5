# EXPECT none
# NOTE loss is read on the host every 100 steps and once per epoch; everything else stays in keras.metrics
# SEEN ran to the end (rc 0), no complaint of its own
"""Word2vec (skip-gram with negative sampling), hand-written loop."""
import time

import numpy as np
import tensorflow as tf
import keras
from keras import layers

VOCAB, DIM, NEG, BATCH = 400, 16, 4, 256
LOG_EVERY = 100
keras.utils.set_random_seed(123)


def corpus(n=20000):
    rng = np.random.default_rng(123)
    topic = np.repeat(rng.integers(0, 8, n // 20), 20)
    return (topic * 50 + rng.integers(0, 50, n)).astype("int32")


def pairs(words, window=2):
    centre, context = [], []
    for shift in range(1, window + 1):
        centre += [words[:-shift], words[shift:]]
        context += [words[shift:], words[:-shift]]
    return np.concatenate(centre), np.concatenate(context)


class SkipGram(keras.Model):
    def __init__(self, vocab, dim):
        super().__init__()
        self.target = layers.Embedding(vocab, dim)
        self.context = layers.Embedding(vocab, dim)

    def call(self, inputs):
        centre, ctx = inputs
        return tf.einsum("bd,bkd->bk", self.target(centre), self.context(ctx))


model = SkipGram(VOCAB, DIM)
optimizer = keras.optimizers.Adam(5e-3)
mean_loss = keras.metrics.Mean()


@tf.function
def train_step(centre, ctx):
    b = tf.shape(centre)[0]
    noise = tf.random.uniform((b, NEG), 0, VOCAB, dtype=tf.int32)
    labels = tf.concat([tf.ones((b, 1)), tf.zeros((b, NEG))], axis=1)
    with tf.GradientTape() as tape:
        logits = model([centre, tf.concat([ctx[:, None], noise], axis=1)])
        loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels, logits))
    grads = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(grads, model.trainable_variables))
    mean_loss.update_state(loss)
    return loss


centre, context = pairs(corpus())
ds = (
    tf.data.Dataset.from_tensor_slices((centre, context))
    .shuffle(len(centre), seed=1)
    .batch(BATCH, drop_remainder=True)
    .prefetch(tf.data.AUTOTUNE)
)

losses = []
step = 0
for epoch in range(2):
    mean_loss.reset_state()
    tic = time.time()
    for c, k in ds:
        loss = train_step(c, k)
        step += 1
        if step % LOG_EVERY == 0:
            print(f"step {step}  loss {loss.numpy():.4f}")
        elif step == 1:
            print("first loss", float(loss))
    losses.append(float(mean_loss.result()))
    print(f"epoch {epoch + 1}: mean {losses[-1]:.4f}  {time.time() - tic:.1f}s")

vectors = model.target.get_weights()[0]
vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
for word in (0, 120, 333):
    nearest = np.argsort(-vectors @ vectors[word])[1:6]
    print(word, "->", [int(w) for w in nearest])
