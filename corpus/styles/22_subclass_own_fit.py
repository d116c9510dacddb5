# EXPECT: PatchNet.learn(), a fit-like method of the subclassed model, runs GradientTape steps eagerly without tf.function
# TWIST: the loss value steers the loop in Python: a batch far above the running mean is trained a second time, a batch with tiny loss is skipped without an update, the running mean only moves on updates
import os
import keras
import numpy as np
import tensorflow as tf
from skimage import data

FILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "data", "22_subclass_own_fit", "p.npz")


def patches():
    if not os.path.isfile(FILE):
        os.makedirs(os.path.dirname(FILE), exist_ok=True)
        g = np.random.RandomState(17)
        ims = [data.coffee(), data.astronaut(), data.stereo_motorcycle()[0]]
        lab = g.randint(3, size=960)
        px = []
        for k in lab:
            a = ims[k]
            i, j = g.randint(a.shape[0] - 40), g.randint(a.shape[1] - 40)
            px.append(a[i:i + 40, j:j + 40, :3])
        np.savez(FILE, px=np.stack(px), lab=lab)
    z = np.load(FILE)
    return z["px"].astype("float32") / 255, z["lab"].astype("int32")


class PatchNet(keras.Model):
    def __init__(self, n_out, **kw):
        super().__init__(**kw)
        self.c1 = keras.layers.Conv2D(8, 3, strides=2, activation="relu")
        self.c2 = keras.layers.Conv2D(16, 3, strides=2, activation="relu")
        self.c3 = keras.layers.Conv2D(16, 3, activation="relu")
        self.pool = keras.layers.GlobalAveragePooling2D()
        self.d1 = keras.layers.Dense(32, activation="relu")
        self.out = keras.layers.Dense(n_out)

    def call(self, x):
        x = self.c3(self.c2(self.c1(x)))
        return self.out(self.d1(self.pool(x)))

    def one_update(self, x, y):
        with tf.GradientTape() as tape:
            loss = self.crit(y, self(x))
        return loss, tape.gradient(loss, self.trainable_variables)

    def learn(self, x, y, epochs, batch_size, lr=3e-3, hard=1.15, easy=0.65):
        self.crit = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        self.opt = keras.optimizers.Adam(lr)
        running = None
        for ep in range(epochs):
            order = np.random.permutation(len(x))
            n_skip = n_again = 0
            total = 0.0
            for s in range(0, len(x), batch_size):
                idx = order[s:s + batch_size]
                xb, yb = tf.constant(x[idx]), tf.constant(y[idx])
                loss, grads = self.one_update(xb, yb)
                value = float(loss)
                total += value
                if running is not None and value < easy * running:
                    n_skip += 1          # already knows these, do not waste an update
                    continue
                self.opt.apply_gradients(zip(grads, self.trainable_variables))
                if running is not None and value > hard * running:
                    n_again += 1         # hard batch: once more, with fresh gradients
                    _, grads = self.one_update(xb, yb)
                    self.opt.apply_gradients(zip(grads, self.trainable_variables))
                running = value if running is None else 0.95 * running + 0.05 * value
            steps = -(-len(x) // batch_size)
            print("ep %d  mean loss %.4f  running %.4f  skipped %d  repeated %d" % (ep, total / steps, running, n_skip, n_again))


keras.utils.set_random_seed(404)
x, y = patches()
net = PatchNet(3)
net.learn(x, y, epochs=6, batch_size=12)
print("parameters:", net.count_params())
