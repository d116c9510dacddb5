# EXPECT cause=growing-pipeline file=train.py line=31
# NOTE hand-written loop in a class; start_epoch() wraps the dataset attribute in a new noise map each time
import argparse
import tensorflow as tf


class DenoisingExperiment:
    def __init__(self, n=19200, dim=1024, batch=64):
        self.batch = batch
        clean = tf.random.stateless_uniform((n, dim), seed=(1, 2))
        self.data = tf.data.Dataset.from_tensor_slices(clean).batch(batch, drop_remainder=True)
        self.data = self.data.map(lambda c: (c, c))
        self.net = tf.keras.Sequential([
            tf.keras.Input((dim,)),
            tf.keras.layers.Dense(96, activation="relu"),
            tf.keras.layers.Dense(dim),
        ])
        self.opt = tf.keras.optimizers.Adam(2e-3)
        self.mean = tf.keras.metrics.Mean()

    @staticmethod
    def corrupt(noisy, clean):
        noise = tf.random.normal(tf.shape(noisy), stddev=0.05)
        mask = tf.cast(tf.random.uniform(tf.shape(noisy)) > 0.02, tf.float32)
        order = tf.argsort(tf.random.uniform((tf.shape(noisy)[0],)))
        noisy = (noisy + noise) * mask
        return tf.gather(noisy, order), tf.gather(clean, order)

    def start_epoch(self):
        self.mean.reset_state()
        self.data = self.data.map(self.corrupt)
        return iter(self.data.prefetch(1))

    @tf.function(reduce_retracing=True)
    def update(self, noisy, clean):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.abs(self.net(noisy, training=True) - clean))
        g = tape.gradient(loss, self.net.trainable_variables)
        self.opt.apply_gradients(zip(g, self.net.trainable_variables))
        self.mean.update_state(loss)

    def fit(self, epochs):
        for e in range(epochs):
            for noisy, clean in self.start_epoch():
                self.update(noisy, clean)
            print(f"[{e:02d}] mae {float(self.mean.result()):.4f}", flush=True)


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=12)
    DenoisingExperiment().fit(ap.parse_args().epochs)
