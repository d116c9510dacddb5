import os, tempfile
import numpy as np
import tensorflow as tf
import keras
from keras import layers
from PIL import Image

S, Z, B = 32, 64, 64
g = keras.Sequential([layers.Input((Z,)), layers.Dense(8 * 8 * 64), layers.Reshape((8, 8, 64)),
                      layers.Conv2DTranspose(64, 4, 2, "same", activation="relu"), layers.Conv2DTranspose(32, 4, 2, "same", activation="relu"),
                      layers.Conv2D(1, 3, padding="same", activation="tanh")])
d = keras.Sequential([layers.Input((S, S, 1)), layers.Conv2D(32, 4, 2, "same", activation="leaky_relu"),
                      layers.Conv2D(64, 4, 2, "same", activation="leaky_relu"), layers.Flatten(), layers.Dense(1)])


class GAN(keras.Model):
    def __init__(self):
        super().__init__()
        self.g, self.d = g, d
        self.gm, self.dm = keras.metrics.Mean("g_loss"), keras.metrics.Mean("d_loss")

    def compile(self, go, do):
        super().compile()
        self.go, self.do = go, do

    @property
    def metrics(self):
        return [self.gm, self.dm]

    def train_step(self, real):
        bce = lambda t, p: tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=t, logits=p))
        z = tf.random.normal((tf.shape(real)[0], Z))
        with tf.GradientTape(persistent=True) as t:
            fake = self.g(z, training=True)
            r, f = self.d(real, training=True), self.d(fake, training=True)
            gl, dl = bce(tf.ones_like(f), f), bce(tf.ones_like(r), r) + bce(tf.zeros_like(f), f)
        self.go.apply_gradients(zip(t.gradient(gl, self.g.trainable_variables), self.g.trainable_variables))
        self.do.apply_gradients(zip(t.gradient(dl, self.d.trainable_variables), self.d.trainable_variables))
        self.gm.update_state(gl)
        self.dm.update_state(dl)
        return {m.name: m.result() for m in self.metrics}


class Grid(keras.callbacks.Callback):
    def __init__(self):
        super().__init__()
        self.z, self.out = tf.random.normal((16, Z)), tempfile.mkdtemp()

    def on_epoch_end(self, epoch, logs=None):
        im = (self.model.g(self.z).numpy()[..., 0] + 1) * 127
        im = im.reshape(4, 4, S, S).transpose(0, 2, 1, 3).reshape(4 * S, 4 * S).astype("uint8")
        Image.fromarray(im).save(os.path.join(self.out, f"{epoch}.png"))


real = np.tanh(np.random.default_rng(0).normal(size=(2560, S, S, 1)).cumsum(1).cumsum(2) / 20).astype("float32")
gan = GAN()
gan.compile(keras.optimizers.Adam(2e-4, 0.5), keras.optimizers.Adam(2e-4, 0.5))
gan.fit(tf.data.Dataset.from_tensor_slices(real).shuffle(2560).batch(B, drop_remainder=True), epochs=4, verbose=2, callbacks=[Grid()])
