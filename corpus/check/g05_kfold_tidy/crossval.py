import numpy as np


def kfold(n, k, seed=0):
    parts = np.array_split(np.random.default_rng(seed).permutation(n), k)
    for i, test in enumerate(parts):
        train = np.concatenate([p for j, p in enumerate(parts) if j != i])
        yield train, test


def report(scores):
    print(f"{len(scores)} folds: {np.mean(scores):.3f} +- {np.std(scores):.3f}")
