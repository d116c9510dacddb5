from dataclasses import dataclass

import keras

from patches import PatchSet


@dataclass
class Runner:
    steps: int = 30
    lr: float = 1e-3

    def build(self):
        i = keras.Input((32, 32, 4))
        h = keras.layers.Conv2D(56, 3, activation="relu")(i)
        h = keras.layers.Conv2D(56, 3, strides=2, activation="relu")(h)
        h = keras.layers.GlobalAveragePooling2D()(h)
        m = keras.Model(i, keras.layers.Dense(6, activation="softmax")(h))
        m.compile(keras.optimizers.Adam(self.lr), "sparse_categorical_crossentropy")
        return m

    def fit(self, epochs):
        model = self.build()
        hist = model.fit(PatchSet(36, 48), steps_per_epoch=self.steps, epochs=epochs, verbose=2)
        return hist.history["loss"]
