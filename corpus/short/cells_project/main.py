"""python main.py --epochs 4"""
import argparse
import os
import tempfile

import data
import keras
from model import cell_classifier


def parse():
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=4)
    p.add_argument("--batch", type=int, default=64)
    p.add_argument("--out", default=None)
    return p.parse_args()


def main():
    args = parse()
    out = args.out or tempfile.mkdtemp(prefix="cells_")
    train = data.pipeline(*data.load(2000, 0), args.batch, training=True)
    val = data.pipeline(*data.load(300, 1), args.batch, training=False)

    model = cell_classifier()
    model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    callbacks = [
        keras.callbacks.ModelCheckpoint(os.path.join(out, "cells_{epoch:02d}.keras")),
        keras.callbacks.CSVLogger(os.path.join(out, "log.csv")),
    ]
    model.fit(train, validation_data=val, epochs=args.epochs, callbacks=callbacks, verbose=2)


if __name__ == "__main__":
    main()
