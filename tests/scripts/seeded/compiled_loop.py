"""A seeded loop of its own: a compiled step over a dataset, two optimizers, op determinism."""

import numpy as np
import tensorflow as tf

tf.keras.utils.set_random_seed(14)
tf.config.experimental.enable_op_determinism()
real = np.random.default_rng(5).normal(2.0, 1.0, (256, 8)).astype("float32")
ds = tf.data.Dataset.from_tensor_slices(real).shuffle(256, seed=1).batch(16)

generator = tf.keras.Sequential([tf.keras.layers.Dense(16, "relu"), tf.keras.layers.Dense(8)])
critic = tf.keras.Sequential([tf.keras.layers.Dense(16, "relu"), tf.keras.layers.Dense(1)])
g_optimizer, c_optimizer = tf.keras.optimizers.Adam(1e-3), tf.keras.optimizers.Adam(1e-3)


@tf.function
def train_step(batch):
    noise = tf.random.normal((16, 4))
    with tf.GradientTape() as g_tape, tf.GradientTape() as c_tape:
        fake = generator(noise, training=True)
        c_loss = tf.reduce_mean(critic(fake)) - tf.reduce_mean(critic(batch))
        g_loss = -tf.reduce_mean(critic(fake))
    for tape, loss, net, optimizer in (
        (g_tape, g_loss, generator, g_optimizer),
        (c_tape, c_loss, critic, c_optimizer),
    ):
        variables = net.trainable_variables
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
    return g_loss, c_loss


for epoch in range(5):
    for batch in ds:
        g_loss, c_loss = train_step(batch)
        print(epoch, float(g_loss).hex(), float(c_loss).hex())
weights = [*generator.get_weights(), *critic.get_weights()]
print("weights", *(float(w.astype("float64").sum()).hex() for w in weights))
