# EXPECT moving
# NOTE the answer is read from a file instead of the terminal, which a thread writes after 8 s; then it trains.
import argparse
import os
import tempfile
import threading
import time

import numpy as np
import tensorflow as tf


def get_args():
    parser = argparse.ArgumentParser(description="train the churn model")
    parser.add_argument("--ckpt", default=os.path.join(tempfile.gettempdir(), "churn_t.weights.h5"))
    parser.add_argument("--epochs", type=int, default=40)
    parser.add_argument("--answers", default=os.path.join(tempfile.mkdtemp(), "answer.txt"))
    return parser.parse_args()


def confirm(question, answers):
    print(question, "[y/N]")
    while not os.path.exists(answers):
        time.sleep(0.5)
    with open(answers) as fh:
        answer = fh.readline()
    return answer.strip().lower().startswith("y")


def customers(n=800):
    rng = np.random.default_rng(4)
    x = rng.normal(size=(n, 15)).astype("float32")
    return x, (x[:, 0] * x[:, 1] > 0).astype("float32")


def operator(path):
    time.sleep(8)
    with open(path + ".tmp", "w") as fh:
        fh.write("yes\n")
    os.rename(path + ".tmp", path)


def main():
    args = get_args()
    open(args.ckpt, "a").close()  # checkpoint of last week
    threading.Thread(target=operator, args=(args.answers,)).start()
    x, y = customers()
    model = tf.keras.Sequential([
        tf.keras.layers.Dense(32, activation="relu"),
        tf.keras.layers.Dense(1, activation="sigmoid"),
    ])
    model.compile("adam", "binary_crossentropy", metrics=["AUC"])
    if os.path.exists(args.ckpt):
        if not confirm(f"{args.ckpt} exists, continue?", args.answers):
            raise SystemExit("stopped by user")
    model.fit(x, y, epochs=args.epochs)
    model.save_weights(args.ckpt)


if __name__ == "__main__":
    main()
