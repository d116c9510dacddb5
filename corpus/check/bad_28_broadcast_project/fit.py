# EXPECT labels-broadcast-in-loss file=fit.py line=28
# NOTE mlp() flattens only when asked; fit.py gives images (28, 28) and forgets flatten=True: predictions (n, 28, 1) against labels (n,); marked is the fit, a report at compile / mlp() call would do too
# SEEN runs; test mse 0.324 = variance of the labels 0.323, nothing is learned
import keras
import numpy as np

from nets import mlp


def strokes(n, seed=0):
    """Images of a line; the target is its slope."""
    rng = np.random.default_rng(seed)
    slope = rng.uniform(-1, 1, n)
    images = np.zeros((n, 28, 28), "float32")
    cols = np.arange(28)
    for k in range(n):
        rows = np.clip(14 + slope[k] * (cols - 14), 0, 27).astype(int)
        images[k, rows, cols] = 1.0
    return images, slope.astype("float32")


def main():
    keras.utils.set_random_seed(0)
    x, y = strokes(320)
    xt, yt = strokes(64, seed=1)
    model = mlp(x.shape[1:])
    model.compile(optimizer=keras.optimizers.Adam(1e-3), loss=keras.losses.MeanSquaredError())
    model.fit(x, y, batch_size=32, epochs=3, verbose=2)
    print("test mse", model.evaluate(xt, yt, verbose=0), "variance", yt.var())


if __name__ == "__main__":
    main()
