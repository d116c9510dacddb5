# EXPECT steps-in-samples file=train.py line=29
# NOTE data.load returns (batched endless dataset, number of examples); train.py takes the number for the steps of an epoch
# SEEN runs; 192 steps of 24 per epoch for 192 examples (24 passes per epoch)
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
