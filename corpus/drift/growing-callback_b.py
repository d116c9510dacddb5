# EXPECT cause=growing-callback file=train.py line=24
# NOTE engineer script: the loss curve from step 0 on is drawn again with PIL after every batch
import argparse
import pathlib
import tempfile

import keras
import numpy as np
from PIL import Image, ImageDraw


class CurvePainter(keras.callbacks.Callback):
    W, H = 480, 240

    def __init__(self, target: pathlib.Path):
        super().__init__()
        self.target = target
        self.history = []

    def on_train_batch_end(self, batch, logs=None):
        self.history.append(float(logs["loss"]))
        img = Image.new("L", (self.W, self.H), 255)
        dx = self.W / len(self.history)
        ImageDraw.Draw(img).line([(dx * i, self.H / (1 + v)) for i, v in enumerate(self.history)], fill=0, width=2)
        img.save(self.target)


def build(width: int) -> keras.Model:
    inp = keras.Input((40,), name="sensors")
    h = keras.layers.Dense(width, activation="gelu")(inp)
    h = keras.layers.LayerNormalization()(h)
    h = keras.layers.Dense(width, activation="gelu")(h)
    out = keras.layers.Dense(1)(h)
    m = keras.Model(inp, out)
    m.compile(optimizer=keras.optimizers.AdamW(1e-3), loss="mse")
    return m


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=9)
    p.add_argument("--width", type=int, default=192)
    p.add_argument("--batch", type=int, default=32)
    args = p.parse_args()

    rng = np.random.default_rng(7)
    x = rng.normal(size=(19200, 40)).astype("float32")
    t = np.tanh(x[:, :5].sum(1, keepdims=True)) + 0.1 * rng.normal(size=(19200, 1)).astype("float32")

    png = pathlib.Path(tempfile.mkdtemp()) / "curve.png"
    model = build(args.width)
    model.fit(x, t, batch_size=args.batch, epochs=args.epochs, verbose=2,
              callbacks=[CurvePainter(png)])
    print("curve in", png)


if __name__ == "__main__":
    main()
