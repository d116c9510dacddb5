# EXPECT none
# NOTE batch size is 1 (variable-length recordings), so the number of recordings is the number of steps
# SEEN fine, exit 0; last line: 40/40 - 0s - 2ms/step - accuracy: 1.0000 - loss: 0.5541
import numpy as np
import tensorflow as tf
from tensorflow import keras


class Recordings:
    def __init__(self, n, seed):
        rng = np.random.default_rng(seed)
        self.items = []
        for _ in range(n):
            label = int(rng.integers(0, 2))
            length = int(rng.integers(20, 40))
            wave = np.sin(np.arange(length) * (0.3 + 0.5 * label)) + rng.normal(0, 0.1, length)
            self.items.append((wave.astype("float32")[:, None], np.float32([label])))

    def __len__(self):
        return len(self.items)

    def __iter__(self):
        return iter(self.items)

    def dataset(self, batch_size=1):
        sig = (tf.TensorSpec((None, 1)), tf.TensorSpec((1,)))
        ds = tf.data.Dataset.from_generator(lambda: iter(self), output_signature=sig)
        return ds.shuffle(len(self)).repeat().batch(batch_size)


train = Recordings(40, 0)
model = keras.Sequential([
    keras.Input((None, 1)),
    keras.layers.Conv1D(8, 5, activation="relu"),
    keras.layers.GlobalAveragePooling1D(),
    keras.layers.Dense(1, activation="sigmoid"),
])
model.compile(keras.optimizers.Adam(0.01), "binary_crossentropy", metrics=["accuracy"])
model.fit(train.dataset(), steps_per_epoch=len(train), epochs=2, verbose=2)
