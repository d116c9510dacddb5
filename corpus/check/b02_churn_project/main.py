# EXPECT run-eagerly-on file=network.py line=23
# NOTE the field's default in settings.py is True and nothing sets it otherwise; the line is the compile keyword (network.py); settings.py line of `eager: bool = True` would be as good an answer
# SEEN ran (rc 0), 53-96 ms/step op by op for a tiny MLP
"""Entry point: python main.py [--epochs N]"""
import argparse

import keras

from data import load_splits
from network import build_and_compile
from settings import TrainSettings


def parse():
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=2)
    p.add_argument("--batch-size", type=int, default=128)
    p.add_argument("--seed", type=int, default=13)
    return p.parse_args()


def main():
    args = parse()
    keras.utils.set_random_seed(args.seed)
    settings = TrainSettings(epochs=args.epochs, batch_size=args.batch_size)
    (x_tr, y_tr), (x_va, y_va) = load_splits(seed=args.seed)

    model = build_and_compile(x_tr.shape[1], settings, x_tr)
    model.fit(
        x_tr,
        y_tr,
        batch_size=settings.batch_size,
        epochs=settings.epochs,
        validation_data=(x_va, y_va),
        verbose=2,
    )
    print(model.evaluate(x_va, y_va, verbose=0, return_dict=True))


if __name__ == "__main__":
    main()
