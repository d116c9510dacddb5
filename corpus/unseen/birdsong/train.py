import argparse
import tempfile

import keras
from keras import layers

from config import Config
from data import ClipSequence, synthesise


def build(cfg, frames):
    inp = keras.Input((cfg.n_mels, frames, 1))
    x = inp
    for f in (8, 16, 32):
        x = layers.Conv2D(f, 3, strides=2, padding="same")(x)
        x = layers.BatchNormalization()(x)
        x = layers.ReLU()(x)
    x = layers.GlobalAveragePooling2D()(x)
    x = layers.Dropout(0.2)(x)
    return keras.Model(inp, layers.Dense(cfg.n_species, activation="softmax")(x))


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=None)
    args = ap.parse_args()
    cfg = Config()
    if args.epochs:
        cfg.epochs = args.epochs
    keras.utils.set_random_seed(cfg.seed)
    with tempfile.TemporaryDirectory() as tmp:
        rows = synthesise(tmp, cfg)
        split = int(0.85 * len(rows))
        train = ClipSequence(rows[:split], cfg)
        valid = ClipSequence(rows[split:], cfg, shuffle=False)
        x, _ = train[0]
        model = build(cfg, x.shape[2])
        model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
        hist = model.fit(train, validation_data=valid, epochs=cfg.epochs, verbose=2)
    print("best", max(hist.history["val_accuracy"]))


if __name__ == "__main__":
    main()
