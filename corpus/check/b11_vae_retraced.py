# EXPECT traced-graph-leak line=69
# NOTE the decorated def stands inside the epoch loop, so that the step is traced anew each epoch (the line is the decorator's; the def is the next line)
# SEEN ran (rc 0); 4 functions made, 4 traced (counted)
"""Variational auto-encoder on 8x8 blobs with a hand-written loop."""
import time

import numpy as np
import tensorflow as tf
import keras
from keras import layers

keras.utils.set_random_seed(3)
LATENT = 2
EPOCHS = 4
BATCH = 64


def blobs(n):
    rng = np.random.default_rng(3)
    yy, xx = np.mgrid[0:8, 0:8]
    cx, cy = rng.uniform(1, 7, (2, n, 1, 1))
    img = np.exp(-((xx - cx) ** 2 + (yy - cy) ** 2) / 2.0)
    return img.astype("float32").reshape(n, 64)


class Sampling(layers.Layer):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.seed_generator = keras.random.SeedGenerator(11)

    def call(self, inputs):
        mean, log_var = inputs
        eps = keras.random.normal(keras.ops.shape(mean), seed=self.seed_generator)
        return mean + keras.ops.exp(0.5 * log_var) * eps


enc_in = keras.Input((64,))
h = layers.Dense(32, activation="relu")(enc_in)
z_mean = layers.Dense(LATENT)(h)
z_log_var = layers.Dense(LATENT)(h)
encoder = keras.Model(enc_in, [z_mean, z_log_var, Sampling()([z_mean, z_log_var])])

decoder = keras.Sequential(
    [
        keras.Input((LATENT,)),
        layers.Dense(32, activation="relu"),
        layers.Dense(64),
    ]
)

optimizer = keras.optimizers.Adam(1e-3)
variables = encoder.trainable_variables + decoder.trainable_variables
optimizer.build(variables)
epoch_loss = keras.metrics.Mean()

images = blobs(1280)
dataset = (
    tf.data.Dataset.from_tensor_slices(images)
    .shuffle(1280, seed=3)
    .batch(BATCH, drop_remainder=True)
    .prefetch(tf.data.AUTOTUNE)
)

for epoch in range(EPOCHS):
    start = time.perf_counter()
    epoch_loss.reset_state()
    kl_weight = min(1.0, (epoch + 1) / 3)

    @tf.function
    def train_step(x):
        with tf.GradientTape() as tape:
            mean, log_var, z = encoder(x, training=True)
            logits = decoder(z, training=True)
            rec = tf.reduce_sum(
                tf.nn.sigmoid_cross_entropy_with_logits(labels=x, logits=logits), axis=1
            )
            kl = -0.5 * tf.reduce_sum(1 + log_var - tf.square(mean) - tf.exp(log_var), axis=1)
            loss = tf.reduce_mean(rec + kl_weight * kl)
        grads = tape.gradient(loss, variables)
        optimizer.apply_gradients(zip(grads, variables))
        epoch_loss.update_state(loss)

    for batch in dataset:
        train_step(batch)

    took = time.perf_counter() - start
    print(f"epoch {epoch + 1}: loss {float(epoch_loss.result()):.3f}  ({took:.2f}s)")

encoder.save("vae_encoder_demo.keras")
