import numpy as np
from tensorflow import keras
from tensorflow.keras import layers


def _network(image_size):
    return keras.Sequential(
        [
            keras.Input((*image_size, 3)),
            layers.Rescaling(1.0 / 255),
            layers.Conv2D(8, 3, activation="relu"),
            layers.MaxPooling2D(),
            layers.Conv2D(16, 3, activation="relu"),
            layers.GlobalMaxPooling2D(),
            layers.Dense(1, activation="sigmoid"),
        ]
    )


class ScratchClassifier:
    """Wraps the network together with its preprocessing."""

    def __init__(self, image_size=(64, 64), weights=None):
        self.image_size = image_size
        self.net = _network(image_size)
        if weights:
            self.net.load_weights(weights)

    def _read(self, path):
        img = keras.utils.load_img(path, target_size=self.image_size)
        return keras.utils.img_to_array(img)

    def classify(self, path) -> float:
        batch = np.expand_dims(self._read(path), 0)
        score = self.net.predict(batch, verbose=0)
        return float(score[0, 0])
