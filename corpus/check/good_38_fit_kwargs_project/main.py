# EXPECT none
# NOTE the config dict mixes Keras 2 fit options with real ones; they are split before fit and go to the PyDataset
# SEEN fine, exit 0; last line: [5.886437892913818, 5.725418567657471]
import keras
import numpy as np

import config
from experiment import run


def main():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 6)).astype("float32")
    y = (x ** 2).sum(1, keepdims=True)
    model = keras.Sequential([
        keras.Input((6,)),
        keras.layers.Dense(32, activation="relu"),
        keras.layers.Dense(1),
    ])
    model.compile("adam", "mse", metrics=["mae"])
    history = run(model, x, y, config.FIT)
    print(history.history["mae"])


if __name__ == "__main__":
    main()
