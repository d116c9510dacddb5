# EXPECT cause=growing-host-work file=train.py line=32
# NOTE train_on_batch loop that dumps the whole run log to json after every step
import json, os, tempfile, time
import numpy as np
import keras
from keras import layers


class Trainer:
    def __init__(self, workdir):
        self.workdir = workdir
        self.log = {"config": {"lr": 1e-3, "batch": 48}, "steps": []}
        self.net = keras.Sequential([
            keras.Input((12, 12, 1)),
            layers.Conv2D(16, 3, activation="relu"),
            layers.Conv2D(16, 3, strides=2, activation="relu"),
            layers.Flatten(),
            layers.Dense(5, activation="softmax"),
        ])
        self.net.compile(optimizer=keras.optimizers.Adam(1e-3),
                         loss="sparse_categorical_crossentropy", metrics=["accuracy"])

    def batches(self, n):
        g = np.random.default_rng(0)
        for _ in range(n):
            lab = g.integers(0, 5, 48)
            img = g.normal(size=(48, 12, 12, 1)).astype("float32") + lab[:, None, None, None] * 0.2
            yield img, lab

    def save_log(self):
        with open(os.path.join(self.workdir, "run.json"), "w") as fh:
            json.dump(self.log, fh)

    def run(self, n):
        t0 = time.time()
        for i, (img, lab) in enumerate(self.batches(n)):
            loss, acc = self.net.train_on_batch(img, lab)
            self.log["steps"].append({"i": i, "loss": float(loss), "acc": float(acc)})
            self.save_log()
            if i % 250 == 0:
                print("%5d  loss %.4f  acc %.3f  t=%.0fs" % (i, loss, acc, time.time() - t0))


if __name__ == "__main__":
    Trainer(tempfile.mkdtemp(prefix="run_")).run(3000)
