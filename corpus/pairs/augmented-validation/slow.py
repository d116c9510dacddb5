"""Validation images are turned at random too."""

import sys
from pathlib import Path

import keras
import tensorflow as tf

folder = Path(sys.argv[1] if len(sys.argv) > 1 else "images")
images = tf.keras.preprocessing.image.ImageDataGenerator(
    rescale=1 / 255, rotation_range=40, validation_split=0.2
)
plain = tf.keras.preprocessing.image.ImageDataGenerator(rescale=1 / 255, validation_split=0.2)
train = images.flow_from_directory(folder, subset="training", seed=1)
val = images.flow_from_directory(folder, subset="validation", seed=1)
model = keras.Sequential([keras.layers.Flatten(), keras.layers.Dense(2, activation="softmax")])
model.compile("sgd", "categorical_crossentropy")
model.fit(train, validation_data=val, epochs=2, verbose=2)
