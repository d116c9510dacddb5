# EXPECT keras2-api file=artefacts.py line=23
# NOTE model.save on a path without .keras/.h5 (built in artefacts.RunFolder.model_path): ValueError after the whole training
# SEEN ValueError: Invalid filepath extension for saving (after training)
import tempfile

import numpy as np
import tensorflow as tf

from artefacts import RunFolder, store


def data():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(100, 4)).astype("float32")
    return x, x.prod(axis=1, keepdims=True)


def main():
    run = RunFolder(tempfile.mkdtemp(), "baseline")
    x, y = data()
    model = tf.keras.Sequential([
        tf.keras.layers.Input((4,)),
        tf.keras.layers.Dense(16, activation="relu"),
        tf.keras.layers.Dense(1),
    ])
    model.compile("adam", "mse")
    history = model.fit(x, y, validation_split=0.2, epochs=2, verbose=2)
    store(model, run.model_path, history.history)
    print("saved in", run.root)


if __name__ == "__main__":
    main()
