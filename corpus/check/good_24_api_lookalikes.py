# EXPECT none
# NOTE lr=, decay=, fit_generator, save("folder"), predict_classes belong to the author's own classes; nothing is a Keras 2 call
# SEEN fine, exit 0; last line: ['owl', 'owl', 'owl', 'dog']
import json
import os
import tempfile

import keras
import numpy as np


class CosineRate(keras.optimizers.schedules.LearningRateSchedule):
    def __init__(self, lr, decay, total):
        self.lr, self.decay, self.total = lr, decay, total

    def __call__(self, step):
        t = keras.ops.cast(step, "float32") / self.total
        return self.lr * (0.5 * (1 + keras.ops.cos(3.14159 * keras.ops.minimum(t, 1.0)))) ** self.decay

    def get_config(self):
        return {"lr": self.lr, "decay": self.decay, "total": self.total}


class Classifier:
    """Wraps a network with its label names."""

    def __init__(self, names, features):
        self.names = names
        self.net = keras.Sequential([
            keras.Input((features,)),
            keras.layers.Dense(16, activation="relu"),
            keras.layers.Dense(len(names), activation="softmax"),
        ])
        self.net.compile(
            keras.optimizers.Adam(CosineRate(lr=1e-2, decay=1.0, total=100)),
            "sparse_categorical_crossentropy",
        )

    def fit_generator(self, generator, steps_per_epoch, epochs):
        return self.net.fit(generator, steps_per_epoch=steps_per_epoch, epochs=epochs, verbose=2)

    def predict_classes(self, x):
        return [self.names[i] for i in self.net.predict(x, verbose=0).argmax(-1)]

    def save(self, folder):
        os.makedirs(folder, exist_ok=True)
        self.net.save(os.path.join(folder, "net.keras"))
        with open(os.path.join(folder, "names.json"), "w") as fh:
            json.dump(self.names, fh)


def stream(x, y, n):
    rng = np.random.default_rng(0)
    while True:
        rows = rng.integers(0, len(x), n)
        yield x[rows], y[rows]


rng = np.random.default_rng(0)
x = rng.normal(size=(100, 4)).astype("float32")
y = x[:, :3].argmax(1)
model = Classifier(["cat", "dog", "owl"], 4)
model.fit_generator(stream(x, y, 20), steps_per_epoch=5, epochs=2)
print(model.predict_classes(x[:4]))
model.save(os.path.join(tempfile.mkdtemp(), "animals"))
