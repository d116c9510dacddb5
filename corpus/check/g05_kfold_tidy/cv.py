# EXPECT none
# NOTE each fold has its own model, clear_session is called in a helper of another module at the beginning of each fold
# SEEN ran to the end (rc 0), no complaint of its own
"""Cross validation of the glass classifier."""
import argparse

import numpy as np

from crossval import kfold, report
from experiment import run_fold


def glass(n=900, seed=3):
    rng = np.random.default_rng(seed)
    centres = rng.normal(0, 2, (6, 9))
    y = rng.integers(0, 6, n)
    return (centres[y] + rng.normal(size=(n, 9))).astype("float32"), y


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("-k", type=int, default=4)
    parser.add_argument("--epochs", type=int, default=3)
    args = parser.parse_args()

    X, y = glass()
    scores = []
    for number, (train, test) in enumerate(kfold(len(X), args.k)):
        scores.append(run_fold(number, X[train], y[train], X[test], y[test], args.epochs))
    report(scores)
