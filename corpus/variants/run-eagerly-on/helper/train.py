# EXPECT cause=run-eagerly-on file=train.py line=21
# WHY compile_for() passes debug=True on as run_eagerly
"""Wine quality from lab values and a text of the label (small functional model)."""
import argparse
import time

import numpy as np
import keras
from keras import layers


def get_args(argv=None):
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=3)
    p.add_argument("--batch-size", type=int, default=50)
    p.add_argument("--no-debug", dest="debug", action="store_false")
    return p.parse_args(argv)


def compile_for(model, debug):
    model.compile(optimizer=keras.optimizers.Adam(1e-3), loss="mse", metrics=["mae"], run_eagerly=debug)
    return model


def wine_net():
    lab = keras.Input((11,), name="lab")
    tok = keras.Input((16,), dtype="int32", name="label_text")
    t = layers.GlobalAveragePooling1D()(layers.Conv1D(24, 3, activation="relu")(layers.Embedding(600, 16)(tok)))
    h = layers.Concatenate()([layers.BatchNormalization()(lab), t])
    for _ in range(4):
        h = layers.Dropout(0.1)(layers.Dense(40, activation="swish")(h))
    return keras.Model([lab, tok], layers.Dense(1)(h))


if __name__ == "__main__":
    args = get_args()
    r = np.random.default_rng(12)
    lab = r.standard_normal((3000, 11)).astype("float32")
    tok = r.integers(0, 600, (3000, 16)).astype("int32")
    q = lab[:, :1] * 0.5 + 5
    model = compile_for(wine_net(), args.debug)
    t0 = time.time()
    model.fit([lab, tok], q, epochs=args.epochs, batch_size=args.batch_size, verbose=2)
    print(f"training took {time.time() - t0:.1f} s")
