"""Packs a folder of photographs once, and trains on the pack."""

import tempfile
from pathlib import Path

import keras
from _photographs import folder_of_images

import quickfit.data

# As pixels of one size: nothing is decoded any more, for 12 kB of disk per image.
packed = Path(tempfile.mkdtemp(prefix="quickfit-example-")) / "packed"
print(quickfit.data.pack(folder_of_images(), packed, form="raw", size=64))

train = quickfit.data.records(packed, batch=16, seed=1)
print(train)

model = keras.Sequential(
    [
        keras.layers.Rescaling(1 / 255),
        keras.layers.Conv2D(16, 3, strides=2, activation="relu"),
        keras.layers.GlobalAveragePooling2D(),
        keras.layers.Dense(len(train.class_names), activation="softmax"),
    ]
)
model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(train, epochs=3, shuffle=False, verbose=2)  # the records are shuffled already
