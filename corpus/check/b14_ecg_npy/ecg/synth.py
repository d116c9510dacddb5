import numpy as np


def write(folder, count, seed, length=128):
    folder.mkdir(parents=True)
    rng = np.random.default_rng(seed)
    t = np.linspace(0, 1, length)
    for i in range(count):
        label = i % 2
        width = 0.02 if label == 0 else 0.06
        beat = np.exp(-((t - 0.5) / width) ** 2) + rng.normal(0, 0.05, length)
        np.save(folder / f"beat{i:04d}_{label}.npy", beat)
