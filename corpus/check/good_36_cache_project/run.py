# EXPECT none
# NOTE like the bad project: the transform in front of the cache is deterministic, the random one goes behind; a third call has the random one in front but in_memory=False
# SEEN fine, exit 0; last line: 8/8 - 0s - 8ms/step - accuracy: 1.0000 - loss: 0.5629 - val_accuracy: 1.0000 - val_loss: 0.5301
import numpy as np
import tensorflow as tf

from pipeline.build import build_pipeline
from pipeline.noise import augment


def normalise(window, label):
    return (window - tf.reduce_mean(window)) / (tf.math.reduce_std(window) + 1e-6), label


def windows(n, seed):
    rng = np.random.default_rng(seed)
    label = rng.integers(0, 2, n)
    t = np.linspace(0, 6.28, 64)
    freq = np.where(label, 3.0, 5.0)[:, None]
    x = np.sin(freq * t + rng.uniform(0, 6.28, (n, 1)))[..., None]
    return x.astype("float32"), label


def sums(ds):
    return sorted(float(v) for b, _ in ds for v in tf.reduce_sum(tf.abs(b), (1, 2)))


def main():
    data = windows(128, 0)
    train = build_pipeline(*data, batch_size=16, transform=normalise, random_transform=augment, training=True)
    other = build_pipeline(*data, batch_size=16, transform=augment, training=True, in_memory=False)
    test = build_pipeline(*windows(32, 1), batch_size=16, transform=normalise)
    model = tf.keras.Sequential([
        tf.keras.layers.Input((64, 1)),
        tf.keras.layers.Conv1D(8, 7, activation="relu"),
        tf.keras.layers.GlobalMaxPooling1D(),
        tf.keras.layers.Dense(1, activation="sigmoid"),
    ])
    model.compile("adam", "binary_crossentropy", metrics=["accuracy"])
    for ds in (train, other):
        assert sums(ds) != sums(ds)
        model.fit(ds, validation_data=test, epochs=2, verbose=2)


if __name__ == "__main__":
    main()
