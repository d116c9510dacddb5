"""Train a small digit classifier and print an error report by class."""
from collections import Counter, defaultdict

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from tensorflow import keras

digits = load_digits()
images = (digits.images / 16.0).astype("float32")[..., None]
x_tr, x_te, y_tr, y_te = train_test_split(images, digits.target, test_size=0.15, random_state=1)


def build_model():
    return keras.Sequential([
        keras.layers.Input((8, 8, 1)),
        keras.layers.Conv2D(32, 3, padding="same", activation="relu"),
        keras.layers.Conv2D(64, 3, activation="relu"),
        keras.layers.Flatten(),
        keras.layers.Dense(10, activation="softmax"),
    ])


def error_report(model, x, y):
    confusions = defaultdict(Counter)
    wrong = 0
    for img, label in zip(x, y):
        probs = model.predict(img[None], verbose=0)[0]
        guess = int(np.argmax(probs))
        if guess != label:
            wrong += 1
            confusions[int(label)][guess] += 1
    print("errors: %d of %d" % (wrong, len(y)))
    for label in sorted(confusions):
        print("  true", label, "->", dict(confusions[label]))


model = build_model()
model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(x_tr, y_tr, batch_size=64, epochs=4, verbose=2)
error_report(model, x_te, y_te)
