# EXPECT: train_on_batch over a fresh np.random.permutation each epoch, Python loop in Trainer.run; per-step overhead dominates
# TWIST: none
import logging
import pathlib
import time

import keras
import numpy as np

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s", datefmt="%H:%M:%S")
log = logging.getLogger("mnistish")

CACHE = pathlib.Path(__file__).resolve().parent / "data" / "tob_perm"


def load_patches():
    """14x14 patches of three textures, flattened later by the model."""
    f = CACHE / "patches.npz"
    if not f.exists():
        from skimage import data
        CACHE.mkdir(parents=True, exist_ok=True)
        rng = np.random.default_rng(4)
        xs, ys = [], []
        for c, img in enumerate([data.brick(), data.grass(), data.gravel()]):
            for _ in range(800):
                i, j = rng.integers(0, 512 - 14, size=2)
                xs.append(img[i:i + 14, j:j + 14])
                ys.append(c)
        np.savez_compressed(f, x=np.array(xs, np.uint8), y=np.array(ys, np.int64))
    z = np.load(f)
    return z["x"].astype("float32")[..., None] / 255.0, z["y"]


class Trainer:
    def __init__(self, model, batch_size=32, epochs=20):
        self.model = model
        self.batch_size = batch_size
        self.epochs = epochs
        self.history = []

    def run(self, x, y):
        n = len(x)
        for epoch in range(self.epochs):
            tic = time.time()
            perm = np.random.permutation(n)
            losses, accs = [], []
            for start in range(0, n, self.batch_size):
                idx = perm[start:start + self.batch_size]
                loss, acc = self.model.train_on_batch(x[idx], y[idx])
                losses.append(loss)
                accs.append(acc)
            self.history.append(np.mean(losses))
            log.info("epoch %02d  loss %.4f  acc %.3f  (%.1fs)",
                     epoch, np.mean(losses), np.mean(accs), time.time() - tic)
        return self.history


if __name__ == "__main__":
    keras.utils.set_random_seed(1337)
    x, y = load_patches()
    log.info("patches %s labels %s", x.shape, np.bincount(y))
    model = keras.Sequential([
        keras.Input((14, 14, 1)),
        keras.layers.Conv2D(8, 3, activation="relu"),
        keras.layers.MaxPooling2D(),
        keras.layers.Flatten(),
        keras.layers.Dense(24, activation="relu"),
        keras.layers.Dense(3, activation="softmax"),
    ])
    model.compile(optimizer="adam", loss="sparse_categorical_crossentropy", metrics=["accuracy"])
    hist = Trainer(model).run(x, y)
    log.info("done, best loss %.4f", min(hist))
