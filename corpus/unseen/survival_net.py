"""DeepSurv-style risk model for a (synthetic) cohort."""
import argparse

import numpy as np
import tensorflow as tf
import keras
from keras import layers


def cohort(n, d, seed):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, d)).astype("float32")
    risk = x[:, 0] - 0.7 * x[:, 1] + 0.5 * x[:, 2] * x[:, 3]
    time = rng.exponential(np.exp(-risk))
    censor = rng.exponential(2.0, n)
    event = (time <= censor).astype("float32")
    return x, np.stack([np.minimum(time, censor), event], 1).astype("float32")


def cox_loss(y_true, y_pred):
    t, e = y_true[:, 0], y_true[:, 1]
    r = y_pred[:, 0]
    at_risk = tf.cast(t[None, :] >= t[:, None], tf.float32)
    log_sum = tf.math.log(tf.reduce_sum(at_risk * tf.exp(r)[None, :], axis=1) + 1e-8)
    return tf.reduce_sum((log_sum - r) * e) / (tf.reduce_sum(e) + 1e-8)


def concordance(times, events, scores):
    good, total = 0.0, 0
    n = len(times)
    for i in range(n):
        if events[i] == 0:
            continue
        for j in range(n):
            if times[j] > times[i]:
                total += 1
                if scores[i] > scores[j]:
                    good += 1
                elif scores[i] == scores[j]:
                    good += 0.5
    return good / max(total, 1)


class CIndex(keras.callbacks.Callback):
    def __init__(self, data, name="val_cindex"):
        super().__init__()
        self.x, self.y = data
        self.name = name

    def on_epoch_end(self, epoch, logs=None):
        scores = self.model.predict(self.x, batch_size=1024, verbose=0)[:, 0]
        c = concordance(self.y[:, 0], self.y[:, 1], scores)
        logs[self.name] = c
        print(f"  epoch {epoch + 1}: {self.name} {c:.4f}")


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--patients", type=int, default=6000)
    p.add_argument("--epochs", type=int, default=8)
    a = p.parse_args()
    keras.utils.set_random_seed(0)
    x, y = cohort(a.patients, 24, 0)
    xv, yv = cohort(2600, 24, 1)
    model = keras.Sequential([layers.Input((24,)), layers.Dense(64, "relu"), layers.Dropout(0.2),
                              layers.Dense(64, "relu"), layers.Dense(1)])
    model.compile(keras.optimizers.Adam(1e-3), cox_loss)
    model.fit(x, y, batch_size=256, epochs=a.epochs, verbose=2, callbacks=[
        CIndex((xv, yv)),
        keras.callbacks.EarlyStopping("val_cindex", mode="max", patience=10),
    ])


if __name__ == "__main__":
    main()
