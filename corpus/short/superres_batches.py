"""Super resolution 2x trained with train_on_batch."""
import numpy as np
from tensorflow.keras import Model, layers


def srnet():
    lo = layers.Input((40, 40, 3))
    h = layers.Conv2D(64, 5, padding="same", activation="relu")(lo)
    for _ in range(3):
        h = layers.Conv2D(64, 3, padding="same", activation="relu")(h)
    h = layers.Conv2DTranspose(32, 4, strides=2, padding="same", activation="relu")(h)
    return Model(lo, layers.Conv2D(3, 3, padding="same")(h))


def main():
    rng = np.random.default_rng(3)
    hi_res = rng.random((256, 80, 80, 3), dtype=np.float32)
    model = srnet()
    model.compile("adam", "mae")
    for step in range(40):
        pick = rng.integers(0, len(hi_res), 16)
        hi = hi_res[pick]
        lo = hi[:, ::2, ::2]
        loss = model.train_on_batch(lo, hi)
        if step % 10 == 0:
            print("step", step, "mae", float(loss))


if __name__ == "__main__":
    main()
