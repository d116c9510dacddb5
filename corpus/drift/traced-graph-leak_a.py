# EXPECT cause=traced-graph-leak|retrace-python-args|retrace-shapes file=train.py line=35
# NOTE KL weight of a VAE is passed as a changing python float into the tf.function: a new trace every few steps
import numpy as np
import tensorflow as tf

LATENT = 8
STEPS = 1400
WARMUP = 8000

enc = tf.keras.Sequential([tf.keras.Input((64,)), tf.keras.layers.Dense(64, "relu"), tf.keras.layers.Dense(2 * LATENT)])
dec = tf.keras.Sequential([tf.keras.Input((LATENT,)), tf.keras.layers.Dense(64, "relu"), tf.keras.layers.Dense(64)])
weights = enc.trainable_variables + dec.trainable_variables
optimizer = tf.keras.optimizers.Adam(1e-3)
optimizer.build(weights)


@tf.function
def train_step(batch, beta):
    with tf.GradientTape() as tape:
        mu, logvar = tf.split(enc(batch), 2, axis=-1)
        z = mu + tf.exp(0.5 * logvar) * tf.random.normal(tf.shape(mu))
        rec = tf.reduce_sum(tf.square(dec(z) - batch), -1)
        kl = -0.5 * tf.reduce_sum(1 + logvar - mu ** 2 - tf.exp(logvar), -1)
        loss = tf.reduce_mean(rec + beta * kl)
    grads = tape.gradient(loss, weights)
    optimizer.apply_gradients(zip(grads, weights))
    return loss


data = np.random.RandomState(0).randn(8192, 64).astype(np.float32)
ds = iter(tf.data.Dataset.from_tensor_slices(data).shuffle(8192).repeat().batch(128).prefetch(1))

for step in range(STEPS):
    beta = round(step / WARMUP, 3)
    loss = train_step(next(ds), beta)
    if step % 100 == 0:
        print(step, "beta", beta, "elbo", float(loss))
