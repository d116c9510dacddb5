# EXPECT cause=callback-batch-slow file=train.py line=17
# WHY make_spectral_logger(): an SVD of each kernel after every batch
"""Track spectral norms while training (to see if the Lipschitz bound holds)."""
import time
from typing import Callable

import numpy as np
import keras


def make_spectral_logger(store: list) -> keras.callbacks.Callback:
    class SpectralLogger(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            norms = {}
            for layer in self.model.layers:
                if hasattr(layer, "kernel"):
                    norms[layer.name] = np.linalg.svd(np.asarray(layer.kernel), compute_uv=False)[0]
            store.append(norms)

    return SpectralLogger()


def critic(width: int = 96, act: str | Callable = "elu") -> keras.Model:
    i = keras.Input((48,), name="joint_angles")
    h = i
    for k in range(3):
        h = keras.layers.Dense(width, activation=act, name=f"d{k}")(h)
    return keras.Model(i, keras.layers.Dense(1, name="value")(h))


def main() -> None:
    rng = np.random.default_rng(90)
    joints = rng.uniform(-1, 1, (9600, 48)).astype(np.float32)
    reward = np.cos(joints[:, :7]).sum(1, keepdims=True)
    model = critic()
    model.compile(optimizer=keras.optimizers.AdamW(1e-3), loss="huber")
    norms: list = []
    t0 = time.perf_counter()
    model.fit(joints, reward, batch_size=96, epochs=3, callbacks=[make_spectral_logger(norms)], verbose=2)
    print(f"training took {time.perf_counter() - t0:.1f} s")


if __name__ == "__main__":
    main()
