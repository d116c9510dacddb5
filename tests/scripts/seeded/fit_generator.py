"""A seeded `fit` on a Python generator with a generator of random numbers of its own."""

import keras
import numpy as np

keras.utils.set_random_seed(12)


class Losses(keras.callbacks.Callback):
    """Prints the loss of every batch."""

    def on_train_batch_end(self, batch, logs=None):
        print(batch, float(logs["loss"]).hex())


def noisy_batches(seed):
    rng = np.random.default_rng(seed)
    while True:
        x = rng.normal(size=(16, 10)).astype("float32")
        yield x, x.sum(axis=1, keepdims=True) + rng.normal(size=(16, 1)) / 10


inputs = keras.Input((10,))
hidden = keras.layers.GaussianNoise(0.2)(keras.layers.Dense(24, "tanh")(inputs))
model = keras.Model(inputs, keras.layers.Dense(1)(hidden))
model.compile(keras.optimizers.SGD(0.02, momentum=0.9), "mse")
model.fit(noisy_batches(3), steps_per_epoch=30, epochs=3, verbose=0, callbacks=[Losses()])
print("weights", *(float(w.astype("float64").sum()).hex() for w in model.get_weights()))
