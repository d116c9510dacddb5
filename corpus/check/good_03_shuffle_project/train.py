# EXPECT none
# NOTE dataclass default is AUTOTUNE, but dataclasses.replace sets the window from the data before the loader sees it
# SEEN fine, exit 0; last line: 2.6525089740753174 -> 0.0078085558488965034
import keras
import numpy as np

from loader import train_loader, with_window
from settings import LoaderOptions


def main():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(128, 5)).astype("float32")
    w = rng.normal(size=(5, 1)).astype("float32")
    y = x @ w + 0.1

    options = with_window(LoaderOptions(batch_size=32), len(x))
    model = keras.Sequential([keras.Input((5,)), keras.layers.Dense(1)])
    model.compile(keras.optimizers.SGD(0.05), loss="mse")
    history = model.fit(train_loader(x, y, options), epochs=10, verbose=0)
    print(history.history["loss"][0], "->", history.history["loss"][-1])


if __name__ == "__main__":
    main()
