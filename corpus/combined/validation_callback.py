# EXPECT first=validation-dominates file=train.py line=23 second=callback-batch-slow
# WHY validation on 9 times the training data after each epoch costs most; a per-batch ranking of the weights for pruning costs less
"""Bird calls, patches of spectrograms."""
import time

import numpy as np
import keras
from keras import layers


def smallest(w, share=0.2):
    order = np.argsort(np.abs(w), axis=None)
    return order[: int(share * order.size)]


class Watch(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        self.prunable = [smallest(w) for w in self.model.get_weights() if w.ndim > 1]


def train(model, data, val):
    model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    return model.fit(*data, batch_size=32, epochs=8, validation_data=val, callbacks=[Watch()], verbose=2)


r = np.random.default_rng(302)
x = r.random((6000, 40, 32, 1), dtype=np.float32)
y = r.integers(0, 10, 6000)
model = keras.Sequential([layers.Input((40, 32, 1)), layers.Conv2D(24, 3, activation="relu"), layers.Conv2D(24, 3, activation="relu"), layers.MaxPooling2D(4),
                          layers.Flatten(), layers.Dense(192, activation="relu"), layers.Dense(10, activation="softmax")])
t0 = time.perf_counter()
train(model, (x[:600], y[:600]), (x[600:], y[600:]))
print(f"training took {time.perf_counter() - t0:.1f} s")
