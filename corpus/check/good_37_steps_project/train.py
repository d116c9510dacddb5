# EXPECT none
# NOTE as the bad project, but data.load already divides: what it returns next to the dataset are batches (still called size)
# SEEN fine, exit 0; last line: optimizer steps: 16 [10.224566459655762, 9.8533296585083]
import argparse

import keras

import data


def model_for(width):
    m = keras.Sequential([
        keras.Input((8,)),
        keras.layers.Dense(width, activation="relu"),
        keras.layers.Dense(1),
    ])
    m.compile("adam", "mse")
    return m


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--batch-size", type=int, default=24)
    ap.add_argument("--epochs", type=int, default=2)
    args = ap.parse_args()

    ds, size = data.load(args.batch_size)
    model = model_for(16)
    history = model.fit(ds, epochs=args.epochs, steps_per_epoch=size, verbose=2)
    print("optimizer steps:", int(model.optimizer.iterations), history.history["loss"])


if __name__ == "__main__":
    main()
