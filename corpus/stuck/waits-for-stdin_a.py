# EXPECT stuck=waits-for-stdin line=20
# NOTE the script asks on the terminal whether the old checkpoint may be overwritten, nobody answers.
import argparse
import os
import tempfile

import numpy as np
import tensorflow as tf


def get_args():
    parser = argparse.ArgumentParser(description="train the churn model")
    parser.add_argument("--ckpt", default=os.path.join(tempfile.gettempdir(), "churn.weights.h5"))
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--yes", action="store_true", help="do not ask")
    return parser.parse_args()


def confirm(question):
    answer = input(question + " [y/N] ")
    return answer.strip().lower().startswith("y")


def customers(n=800):
    rng = np.random.default_rng(4)
    x = rng.normal(size=(n, 15)).astype("float32")
    return x, (x[:, 0] * x[:, 1] > 0).astype("float32")


def main():
    args = get_args()
    open(args.ckpt, "a").close()  # checkpoint of last week
    x, y = customers()
    model = tf.keras.Sequential([
        tf.keras.layers.Dense(32, activation="relu"),
        tf.keras.layers.Dense(1, activation="sigmoid"),
    ])
    model.compile("adam", "binary_crossentropy", metrics=["AUC"])
    if os.path.exists(args.ckpt) and not args.yes:
        if not confirm(f"{args.ckpt} exists, continue?"):
            raise SystemExit("stopped by user")
    model.fit(x, y, epochs=args.epochs)
    model.save_weights(args.ckpt)


if __name__ == "__main__":
    main()
