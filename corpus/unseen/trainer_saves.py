import argparse, logging, os, pickle, shutil, tempfile
import numpy as np
import tensorflow as tf
from tensorflow.keras import layers

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
log = logging.getLogger("trainer")


class Trainer:
    def __init__(self, args):
        self.args = args
        self.net = tf.keras.Sequential([layers.Input((300,)), layers.Dense(900, "relu"), layers.Dense(900, "relu"), layers.Dense(10)])
        self.opt = tf.keras.optimizers.Adam(1e-3)
        self.loss = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        self.step_no = 0

    def data(self):
        rs = np.random.RandomState(0)
        x, y = rs.randn(6400, 300).astype("float32"), rs.randint(0, 10, 6400)
        return tf.data.Dataset.from_tensor_slices((x, y)).shuffle(1000).batch(64).prefetch(1)

    @tf.function
    def step(self, x, y):
        with tf.GradientTape() as t:
            l = self.loss(y, self.net(x, training=True))
        g = t.gradient(l, self.net.trainable_variables)
        self.opt.apply_gradients(zip(g, self.net.trainable_variables))
        return l

    def snapshot(self):
        path = os.path.join(self.args.out, "last")
        self.net.save(path + ".keras")
        with open(path + ".opt.pkl", "wb") as f:
            pickle.dump([v.numpy() for v in self.opt.variables], f)
        shutil.copy(path + ".keras", path + ".bak.keras")

    def run(self):
        for epoch in range(self.args.epochs):
            for x, y in self.data():
                l = self.step(x, y)
                self.step_no += 1
                if self.step_no % self.args.every == 0:
                    self.snapshot()
            log.info("epoch %d loss %.4f", epoch, float(l))


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=3)
    p.add_argument("--every", type=int, default=4)
    p.add_argument("--out", default=tempfile.mkdtemp())
    Trainer(p.parse_args()).run()
