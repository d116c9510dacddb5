# EXPECT keras2-fit-arguments line=53
# EXPECT keras2-fit-arguments line=56
# NOTE workers / use_multiprocessing given to fit, and max_queue_size to predict: both TypeError on Keras 3 (the first one ends the script); marked is the keyword line, the call begins three lines above
# SEEN TypeError: fit() got an unexpected keyword argument 'use_multiprocessing'; predict(max_queue_size=) alone: TypeError too
import math

import numpy as np
import tensorflow as tf
from tensorflow.keras.layers import Conv2D, Dense, Flatten, Input, MaxPooling2D
from tensorflow.keras.models import Sequential
from tensorflow.keras.utils import Sequence


class ImageSequence(Sequence):
    def __init__(self, x, y, batch_size, shuffle=True):
        super().__init__()
        self.x, self.y = x, y
        self.batch_size = batch_size
        self.shuffle = shuffle
        self.on_epoch_end()

    def __len__(self):
        return math.ceil(len(self.x) / self.batch_size)

    def __getitem__(self, index):
        rows = self.order[index * self.batch_size:(index + 1) * self.batch_size]
        return self.x[rows] / 255.0, self.y[rows]

    def on_epoch_end(self):
        self.order = np.arange(len(self.x))
        if self.shuffle:
            np.random.shuffle(self.order)


rng = np.random.default_rng(0)
x = rng.integers(0, 256, (60, 12, 12, 1)).astype("float32")
y = rng.integers(0, 2, (60, 1)).astype("float32")
train_gen = ImageSequence(x[:48], y[:48], 8)
test_gen = ImageSequence(x[48:], y[48:], 8, shuffle=False)

model = Sequential()
model.add(Input((12, 12, 1)))
model.add(Conv2D(8, (3, 3), activation="relu"))
model.add(MaxPooling2D((2, 2)))
model.add(Flatten())
model.add(Dense(1, activation="sigmoid"))
model.compile(loss="binary_crossentropy", optimizer="rmsprop", metrics=["acc"])

model.fit(
    train_gen,
    validation_data=test_gen,
    epochs=2,
    use_multiprocessing=True,
    workers=4,
)
pred = model.predict(test_gen, max_queue_size=20)
print(pred.shape)
