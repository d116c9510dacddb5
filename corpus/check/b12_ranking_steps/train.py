# EXPECT traced-graph-leak file=steps.py line=10
# NOTE steps.pairwise_update defines (and decorates) its inner function at every call, and train.py calls it per batch: every batch is traced anew
# SEEN ran (rc 0); 40 functions made, 40 traced (counted), TensorFlow's retracing warning comes
"""Pairwise ranking of search results."""
import argparse
import logging

import tensorflow as tf

from pairs import pair_dataset
from ranker import Ranker
from steps import pairwise_update

log = logging.getLogger("ranking")


def run(args):
    tf.keras.utils.set_random_seed(args.seed)
    model = Ranker(width=args.width)
    model.build((None, args.features))
    optimizer = tf.keras.optimizers.SGD(args.lr, momentum=0.9)
    optimizer.build(model.trainable_variables)
    running = tf.keras.metrics.Mean()

    data = pair_dataset(args.pairs, args.features, args.batch)
    for epoch in range(args.epochs):
        running.reset_state()
        for better, worse in data:
            running.update_state(pairwise_update(model, optimizer, better, worse))
        log.info("epoch %d loss %.4f", epoch, float(running.result()))
    return model


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO)
    ap = argparse.ArgumentParser()
    ap.add_argument("--features", type=int, default=10)
    ap.add_argument("--pairs", type=int, default=640)
    ap.add_argument("--batch", type=int, default=32)
    ap.add_argument("--width", type=int, default=16)
    ap.add_argument("--epochs", type=int, default=2)
    ap.add_argument("--lr", type=float, default=0.05)
    ap.add_argument("--seed", type=int, default=0)
    run(ap.parse_args())
