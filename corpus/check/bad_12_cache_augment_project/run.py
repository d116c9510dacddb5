# EXPECT cache-after-augment file=pipeline/build.py line=12
# NOTE the cache in build.py is behind whatever transform the caller passes; run.py passes the random one and leaves in_memory at its default True
# SEEN runs; printed "frozen noise: True"
import numpy as np
import tensorflow as tf

from pipeline.build import build_pipeline
from pipeline.noise import augment


def windows(n, seed):
    rng = np.random.default_rng(seed)
    label = rng.integers(0, 2, n)
    t = np.linspace(0, 6.28, 64)
    freq = np.where(label, 3.0, 5.0)[:, None]
    x = np.sin(freq * t + rng.uniform(0, 6.28, (n, 1)))[..., None]
    return x.astype("float32"), label


def model_fn():
    keras = tf.keras
    model = keras.Sequential([
        keras.layers.Input((64, 1)),
        keras.layers.Conv1D(8, 7, activation="relu"),
        keras.layers.GlobalMaxPooling1D(),
        keras.layers.Dense(1, activation="sigmoid"),
    ])
    model.compile("adam", "binary_crossentropy", metrics=["accuracy"])
    return model


def main():
    train = build_pipeline(*windows(128, 0), batch_size=16, transform=augment, training=True)
    test = build_pipeline(*windows(32, 1), batch_size=16)
    model = model_fn()
    model.fit(train, validation_data=test, epochs=3, verbose=2)

    sums = [sorted(float(v) for b, _ in train for v in tf.reduce_sum(b, (1, 2))) for _ in range(2)]
    print("frozen noise:", np.allclose(sums[0], sums[1], atol=1e-5))


if __name__ == "__main__":
    main()
