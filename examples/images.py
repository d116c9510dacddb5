"""Trains on a folder with one folder of photographs per class."""

import keras
from _photographs import folder_of_images

import quickfit.data

train, validation = quickfit.data.images(folder_of_images(), size=64, batch=16, split=0.2, seed=1)
print(train)

model = keras.Sequential(
    [
        keras.layers.Rescaling(1 / 255),  # pixels stay uint8 until here: less memory, less copying
        keras.layers.Conv2D(16, 3, strides=2, activation="relu"),
        keras.layers.GlobalAveragePooling2D(),
        keras.layers.Dense(len(train.class_names), activation="softmax"),
    ]
)
model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(train, validation_data=validation, epochs=3, verbose=2)
