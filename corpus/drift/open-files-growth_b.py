# EXPECT cause=open-files-growth file=train.py line=16
# NOTE a run logger opens a new text file for each step and keeps all the file objects in a dict
import os, resource, shutil, tempfile
import numpy as np
import keras

resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)


class StepLogger:
    def __init__(self, root):
        self.root = root
        self.files = {}

    def write(self, step, **values):
        f = open(os.path.join(self.root, f"step_{step:05d}.log"), "w")
        self.files[step] = f
        for k, v in values.items():
            f.write(f"{k}={v}\n")
        f.flush()


def build():
    a = keras.Input((20,), name="numeric")
    b = keras.Input((), dtype="int32", name="shop")
    e = keras.layers.Embedding(50, 8)(b)
    h = keras.layers.Concatenate()([a, e])
    h = keras.layers.Dense(640, activation="relu")(h)
    h = keras.layers.Dense(640, activation="relu")(h)
    m = keras.Model([a, b], keras.layers.Dense(1)(h))
    m.compile(optimizer="adam", loss="mae")
    return m


def main(steps=5000, bs=128):
    root = tempfile.mkdtemp()
    log = StepLogger(root)
    m = build()
    r = np.random.default_rng(5)
    num = r.normal(size=(30000, 20)).astype("float32")
    shop = r.integers(0, 50, 30000).astype("int32")
    sales = (num[:, :1] * 2 + shop[:, None] / 25).astype("float32")
    try:
        for s in range(steps):
            ix = r.integers(0, 30000, bs)
            loss = float(m.train_on_batch([num[ix], shop[ix]], sales[ix]))
            log.write(s, loss=loss, idx=ix[:4].tolist())
            if s % 500 == 0:
                print("step", s, "mae", round(loss, 4))
    finally:
        shutil.rmtree(root, ignore_errors=True)


if __name__ == "__main__":
    main()
