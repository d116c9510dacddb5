import numpy as np
import tensorflow as tf
from tensorflow.keras import layers

BATCH, NOISE, EPOCHS = 64, 64, 2

generator = tf.keras.Sequential([
    layers.Input((NOISE,)),
    layers.Dense(8 * 8 * 96, use_bias=False),
    layers.BatchNormalization(),
    layers.LeakyReLU(),
    layers.Reshape((8, 8, 96)),
    layers.Conv2DTranspose(64, 5, strides=2, padding='same', use_bias=False),
    layers.BatchNormalization(),
    layers.LeakyReLU(),
    layers.Conv2DTranspose(1, 5, strides=2, padding='same', activation='tanh'),
])
discriminator = tf.keras.Sequential([
    layers.Input((32, 32, 1)),
    layers.Conv2D(48, 5, strides=2, padding='same'),
    layers.LeakyReLU(),
    layers.Conv2D(96, 5, strides=2, padding='same'),
    layers.LeakyReLU(),
    layers.Flatten(),
    layers.Dense(1),
])
bce = tf.keras.losses.BinaryCrossentropy(from_logits=True)
g_opt, d_opt = tf.keras.optimizers.Adam(1e-4), tf.keras.optimizers.Adam(1e-4)


@tf.function
def train_step(real):
    z = tf.random.normal([BATCH, NOISE])
    with tf.GradientTape() as gt, tf.GradientTape() as dt:
        fake = generator(z, training=True)
        r, f = discriminator(real, training=True), discriminator(fake, training=True)
        g_loss = bce(tf.ones_like(f), f)
        d_loss = bce(tf.ones_like(r), r) + bce(tf.zeros_like(f), f)
    g_opt.apply_gradients(zip(gt.gradient(g_loss, generator.trainable_variables), generator.trainable_variables))
    d_opt.apply_gradients(zip(dt.gradient(d_loss, discriminator.trainable_variables), discriminator.trainable_variables))
    return g_loss, d_loss


x = np.random.uniform(-1, 1, (2560, 32, 32, 1)).astype('float32')
ds = tf.data.Dataset.from_tensor_slices(x).shuffle(2560).batch(BATCH, drop_remainder=True).prefetch(2)
for epoch in range(EPOCHS):
    for real in ds:
        gl, dl = train_step(real)
    print(f'epoch {epoch + 1}: g {float(gl):.3f} d {float(dl):.3f}')
