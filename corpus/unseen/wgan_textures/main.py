import tempfile
import os

import numpy as np
import tensorflow as tf
import keras

from nets import make_critic, make_generator

LATENT, BATCH, STEPS, N_CRITIC, LAMBDA = 64, 48, 60, 2, 10.0
keras.utils.set_random_seed(5)

G, C = make_generator(LATENT), make_critic()
g_opt = keras.optimizers.Adam(1e-4, beta_1=0.0, beta_2=0.9)
c_opt = keras.optimizers.Adam(1e-4, beta_1=0.0, beta_2=0.9)
g_opt.build(G.trainable_variables)
c_opt.build(C.trainable_variables)


def textures(n=1500):
    rng = np.random.default_rng(5)
    f = rng.uniform(0.2, 0.9, (n, 1, 1))
    yy, xx = np.mgrid[:32, :32]
    return np.sin(f * xx + rng.random((n, 1, 1)) * 6 + 0.3 * f * yy)[..., None].astype("float32")


def penalty(real, fake):
    a = tf.random.uniform((tf.shape(real)[0], 1, 1, 1))
    mix = real + a * (fake - real)
    with tf.GradientTape() as t:
        t.watch(mix)
        s = C(mix, training=True)
    g = t.gradient(s, mix)
    norm = tf.sqrt(tf.reduce_sum(g * g, axis=(1, 2, 3)) + 1e-8)
    return tf.reduce_mean((norm - 1.0) ** 2)


@tf.function
def critic_step(real):
    fake = G(tf.random.normal((tf.shape(real)[0], LATENT)), training=True)
    with tf.GradientTape() as t:
        w = tf.reduce_mean(C(fake, training=True)) - tf.reduce_mean(C(real, training=True))
        loss = w + LAMBDA * penalty(real, fake)
    c_opt.apply_gradients(zip(t.gradient(loss, C.trainable_variables), C.trainable_variables))
    return -w


@tf.function
def generator_step():
    with tf.GradientTape() as t:
        loss = -tf.reduce_mean(C(G(tf.random.normal((BATCH, LATENT)), training=True), training=True))
    g_opt.apply_gradients(zip(t.gradient(loss, G.trainable_variables), G.trainable_variables))
    return loss


def main():
    ds = (tf.data.Dataset.from_tensor_slices(textures()).shuffle(1500).repeat()
          .batch(BATCH, drop_remainder=True).prefetch(tf.data.AUTOTUNE))
    it = iter(ds)
    out = tempfile.mkdtemp()
    for step in range(STEPS):
        for _ in range(N_CRITIC):
            w = critic_step(next(it))
        g = generator_step()
        if step % 10 == 0:
            print(f"{step:4d} wasserstein {float(w):.3f} generator {float(g):.3f}")
    G.save_weights(os.path.join(out, "g.weights.h5"))


if __name__ == "__main__":
    main()
