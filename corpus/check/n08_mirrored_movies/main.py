# EXPECT none
# NOTE healthy distributed training: model and optimizer made in the strategy's scope, global batch size, endless dataset with steps, a second hand-written distributed loop with the step compiled once
# SEEN ran to the end (rc 0), no complaint of its own
"""Movie ratings (matrix factorisation + MLP) on all local devices."""
import argparse
import os
import tempfile

import keras
import tensorflow as tf

from ratings import RatingData
from recommender import build_recommender
from custom_loop import DistributedTrainer


def parse_args():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--users", type=int, default=200)
    p.add_argument("--movies", type=int, default=100)
    p.add_argument("--per-replica", type=int, default=64)
    p.add_argument("--epochs", type=int, default=2)
    p.add_argument("--loop", choices=["fit", "custom", "both"], default="both")
    return p.parse_args()


def with_fit(strategy, data, args, batch):
    with strategy.scope():
        model = build_recommender(args.users, args.movies)
        model.compile(
            optimizer=keras.optimizers.Adam(2e-3),
            loss="mse",
            metrics=[keras.metrics.RootMeanSquaredError(name="rmse")],
            steps_per_execution=4,
        )
    with tempfile.TemporaryDirectory() as tmp:
        model.fit(
            data.train(batch, repeat=True),
            steps_per_epoch=data.steps(batch),
            epochs=args.epochs,
            validation_data=data.valid(batch),
            callbacks=[
                keras.callbacks.BackupAndRestore(os.path.join(tmp, "backup")),
                keras.callbacks.EarlyStopping(monitor="val_rmse", mode="min", patience=2),
            ],
            verbose=2,
        )
    return model


def with_custom_loop(strategy, data, args, batch):
    trainer = DistributedTrainer(
        strategy, lambda: build_recommender(args.users, args.movies), batch, lr=2e-3
    )
    trainer.run(data.train(batch), data.valid(batch), args.epochs)
    return trainer.model


def main():
    args = parse_args()
    keras.utils.set_random_seed(64)
    strategy = tf.distribute.MirroredStrategy()
    batch = args.per_replica * strategy.num_replicas_in_sync
    print("replicas:", strategy.num_replicas_in_sync, "global batch:", batch)
    data = RatingData(args.users, args.movies, count=4096)

    if args.loop in ("fit", "both"):
        model = with_fit(strategy, data, args, batch)
        print(model.evaluate(data.valid(batch), verbose=0, return_dict=True))
    if args.loop in ("custom", "both"):
        model = with_custom_loop(strategy, data, args, batch)
        model.save(os.path.join(tempfile.mkdtemp(), "recommender.keras"))


if __name__ == "__main__":
    main()
