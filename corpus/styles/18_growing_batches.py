# EXPECT: train_on_batch called from a nested Python loop for many small NumPy batches
# TWIST: the loop sets the learning rate each step (warm-up, then decay when an epoch got worse) and doubles the batch size when the epoch loss stalls, so number of steps and shapes depend on the losses
"""Don't decay the learning rate, increase the batch size (toy reproduction)."""
import json
import os

import keras
import numpy as np
from skimage import data


class Config:
    workdir = os.path.join(os.path.dirname(os.path.abspath(__file__)), "data", "18_growing_batches")
    epochs = 16
    start_batch = 8
    max_batch = 64
    base_lr = 0.03
    warmup_steps = 300
    stall = 0.03          # relative improvement below this counts as a stall
    seed = 1991


def get_data(cfg):
    """Predict the centre pixel from its 24 neighbours."""
    f = os.path.join(cfg.workdir, "neighbours.npy")
    if not os.path.exists(f):
        os.makedirs(cfg.workdir, exist_ok=True)
        rng = np.random.default_rng(9)
        img = data.camera().astype("float32") / 255
        rc = rng.integers(2, 510, size=(8000, 2))
        np.save(f, np.stack([img[r - 2:r + 3, c - 2:c + 3].ravel() for r, c in rc]))
    a = np.load(f)
    return np.delete(a, 12, axis=1), a[:, 12:13]


def make_model(cfg):
    m = keras.Sequential([
        keras.layers.Input((24,)),
        keras.layers.Dense(32, activation="relu"),
        keras.layers.Dense(1),
    ])
    m.compile(optimizer=keras.optimizers.SGD(cfg.base_lr, momentum=0.5), loss="mse")
    return m


def train(cfg):
    keras.utils.set_random_seed(cfg.seed)
    x, y = get_data(cfg)
    model = make_model(cfg)
    batch, step, lr = cfg.start_batch, 0, cfg.base_lr
    previous = float("inf")
    history = []
    for epoch in range(cfg.epochs):
        order = np.random.permutation(len(x))
        model.reset_metrics()
        total, count = 0.0, 0
        for i in range(0, len(x), batch):
            j = order[i:i + batch]
            model.optimizer.learning_rate = lr * min(1.0, (step + 1) / cfg.warmup_steps)
            total += float(model.train_on_batch(x[j], y[j]))
            count += 1
            step += 1
        loss = total / count
        print(f"epoch {epoch:2d}  batch {batch:3d}  lr {lr:.4f}  loss {loss:.6f}  steps {step}")
        history.append({"epoch": epoch, "batch": batch, "lr": lr, "loss": loss})
        if loss > previous:
            lr *= 0.7
            print("    worse -> lower learning rate")
        elif loss > previous * (1 - cfg.stall) and batch < cfg.max_batch:
            batch *= 2
            print("    stalled -> bigger batches")
        previous = loss
    with open(os.path.join(cfg.workdir, "history.json"), "w") as out:
        json.dump(history, out, indent=1)
    return model


if __name__ == "__main__":
    train(Config())
