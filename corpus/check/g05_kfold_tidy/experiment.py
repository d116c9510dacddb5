import keras
from keras import layers

from housekeeping import fresh_start


def _model(n_features, n_classes):
    m = keras.Sequential(
        [
            keras.Input((n_features,)),
            layers.Dense(32, activation="relu"),
            layers.Dropout(0.2),
            layers.Dense(n_classes, activation="softmax"),
        ]
    )
    m.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    return m


def run_fold(number, x, y, x_test, y_test, epochs):
    fresh_start(seed=100 + number)
    model = _model(x.shape[1], int(y.max()) + 1)
    model.fit(x, y, epochs=epochs, batch_size=32, verbose=0)
    loss, acc = model.evaluate(x_test, y_test, verbose=0)
    print(f"fold {number}: loss {loss:.3f} accuracy {acc:.3f}")
    return acc
