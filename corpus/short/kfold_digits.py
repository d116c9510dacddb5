# 3-fold CV of a CNN on the sklearn digits
import keras
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import StratifiedKFold

d = load_digits()
X = np.repeat(np.repeat(d.images, 3, axis=1), 3, axis=2)[..., None].astype("float32") / 16.0
y = d.target


def make_model():
    m = keras.Sequential([
        keras.layers.Input((24, 24, 1)),
        keras.layers.Conv2D(32, 3, activation="relu"),
        keras.layers.Conv2D(64, 3, activation="relu"),
        keras.layers.MaxPooling2D(),
        keras.layers.Conv2D(64, 3, activation="relu"),
        keras.layers.Flatten(),
        keras.layers.Dense(10, activation="softmax"),
    ])
    m.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    return m


scores = []
for fold, (tr, te) in enumerate(StratifiedKFold(3, shuffle=True, random_state=0).split(X, y)):
    keras.backend.clear_session()
    model = make_model()
    model.fit(X[tr], y[tr], batch_size=64, epochs=7, verbose=0)
    acc = model.evaluate(X[te], y[te], verbose=0)[1]
    scores.append(acc)
    print(f"fold {fold}: {acc:.4f}")
print("mean %.4f +- %.4f" % (np.mean(scores), np.std(scores)))
