"""Fits on the old `ImageDataGenerator`, which Keras still ships.
Expect: kind=fit, steps=2*n, input=pydataset, wait=measured
"""

import sys

import numpy as np
import tensorflow as tf

n = int(sys.argv[1]) if len(sys.argv) > 1 else 30
batch_size = 16
x_train = np.random.default_rng(0).random((n * batch_size, 24, 24, 3), "float32") * 255
y_train = tf.keras.utils.to_categorical(np.arange(len(x_train)) % 5, 5)

# Only what needs no SciPy.
datagen = tf.keras.preprocessing.image.ImageDataGenerator(
    rescale=1.0 / 255, horizontal_flip=True, vertical_flip=True, featurewise_center=True
)
datagen.fit(x_train[:64])

model = tf.keras.models.Sequential()
model.add(tf.keras.layers.Input((24, 24, 3)))
model.add(tf.keras.layers.Conv2D(8, (3, 3), activation="relu"))
model.add(tf.keras.layers.MaxPooling2D(pool_size=(2, 2)))
model.add(tf.keras.layers.Flatten())
model.add(tf.keras.layers.Dense(5, activation="softmax"))
model.compile(loss="categorical_crossentropy", optimizer="rmsprop", metrics=["accuracy"])

flow = datagen.flow(x_train, y_train, batch_size=batch_size)
model.fit(flow, epochs=2, verbose=0)  # the loop
