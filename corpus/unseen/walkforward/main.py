"""Walk-forward evaluation: refit on a sliding history, forecast the next block."""
import numpy as np
import keras

from forecaster import Forecaster
from series import make_series, windows

LOOKBACK, HISTORY, BLOCK, FOLDS = 24, 256, 32, 6


def main():
    keras.utils.set_random_seed(2)
    x, y = windows(make_series(), LOOKBACK)
    forecaster = Forecaster(LOOKBACK)
    errors = []
    for k in range(FOLDS):
        a = k * BLOCK
        b = a + HISTORY
        pred = forecaster.fit_predict(x[a:b], y[a:b], x[b:b + BLOCK])
        errors.append(np.abs(pred - y[b:b + BLOCK]).mean())
        print(f"fold {k} mae {errors[-1]:.4f}", flush=True)
    print("mean", np.mean(errors))


if __name__ == "__main__":
    main()
