import tensorflow as tf
from keras import losses, optimizers

from .meters import Meter

_bce = losses.BinaryCrossentropy(from_logits=True)


def make_step(G, D, g_opt, d_opt, latent):
    @tf.function
    def step(real):
        noise = tf.random.normal((tf.shape(real)[0], latent))
        with tf.GradientTape() as gt, tf.GradientTape() as dt:
            fake = G(noise, training=True)
            real_logit = D(real, training=True)
            fake_logit = D(fake, training=True)
            d_loss = _bce(tf.ones_like(real_logit), real_logit) + _bce(
                tf.zeros_like(fake_logit), fake_logit
            )
            g_loss = _bce(tf.ones_like(fake_logit), fake_logit)
        d_opt.apply_gradients(
            zip(dt.gradient(d_loss, D.trainable_variables), D.trainable_variables)
        )
        g_opt.apply_gradients(
            zip(gt.gradient(g_loss, G.trainable_variables), G.trainable_variables)
        )
        return d_loss, g_loss

    return step


def fit_gan(G, D, data, epochs, latent):
    g_opt = optimizers.Adam(2e-4, beta_1=0.5)
    d_opt = optimizers.Adam(2e-4, beta_1=0.5)
    step = make_step(G, D, g_opt, d_opt, latent)
    d_meter, g_meter = Meter("d"), Meter("g")
    table = []
    for epoch in range(epochs):
        for real in data:
            d_loss, g_loss = step(real)
            d_meter.add(d_loss)
            g_meter.add(g_loss)
        table.append({"epoch": epoch + 1, "d": d_meter.value, "g": g_meter.value})
    return table
