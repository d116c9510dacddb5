# EXPECT none
# NOTE healthy image project: tf-only input, callbacks, one compile, one fit, one evaluate, one predict
# SEEN ran to the end (rc 0), no complaint of its own
"""Train the mushroom classifier.

    python train.py --data photos/ --epochs 20 --out runs/a
"""
import argparse
import json
import logging
import tempfile
from pathlib import Path

import keras
import numpy as np

from mushrooms.callbacks import EpochTimer, standard_callbacks
from mushrooms.config import Config
from mushrooms.data import class_names, image_dataset
from mushrooms.demo import write_demo_photos
from mushrooms.model import build_model

log = logging.getLogger("mushrooms")


def parse_args(argv=None):
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--data", type=Path)
    p.add_argument("--out", type=Path)
    p.add_argument("--epochs", type=int, default=2)
    p.add_argument("--batch-size", type=int, default=16)
    p.add_argument("--learning-rate", type=float, default=1e-3)
    p.add_argument("--mixed-precision", action="store_true")
    p.add_argument("-v", "--verbose", action="count", default=0)
    return p.parse_args(argv)


def confusion(y_true, y_pred, n):
    table = np.zeros((n, n), dtype=int)
    for t, p in zip(y_true, y_pred):
        table[t, p] += 1
    return table


def run(args, data, out):
    cfg = Config(batch_size=args.batch_size, learning_rate=args.learning_rate, epochs=args.epochs)
    keras.utils.set_random_seed(cfg.seed)
    if args.mixed_precision:
        keras.mixed_precision.set_global_policy("mixed_float16")

    names = class_names(data / "train")
    train_ds = image_dataset(data / "train", names, cfg, training=True)
    val_ds = image_dataset(data / "val", names, cfg)
    test_ds = image_dataset(data / "test", names, cfg)

    model = build_model(cfg, len(names))
    model.compile(
        optimizer=keras.optimizers.AdamW(cfg.learning_rate, weight_decay=cfg.weight_decay),
        loss=keras.losses.SparseCategoricalCrossentropy(),
        metrics=["accuracy"],
    )
    if args.verbose:
        model.summary(print_fn=log.info)

    timer = EpochTimer()
    history = model.fit(
        train_ds,
        validation_data=val_ds,
        epochs=cfg.epochs,
        callbacks=[timer, *standard_callbacks(out, cfg)],
        verbose=2,
    )

    result = model.evaluate(test_ds, verbose=0, return_dict=True)
    probs = model.predict(test_ds, verbose=0)
    truth = np.concatenate([y for _, y in test_ds.as_numpy_iterator()])
    table = confusion(truth, probs.argmax(axis=1), len(names))
    for name, row in zip(names, table):
        log.info("%-12s %s", name, " ".join(f"{v:4d}" for v in row))

    (out / "result.json").write_text(
        json.dumps({"test": result, "epochs": len(history.epoch), "seconds": timer.seconds})
    )
    model.save(out / "final.keras")
    log.info("test accuracy %.3f", result["accuracy"])


def main():
    args = parse_args()
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(message)s")
    with tempfile.TemporaryDirectory() as tmp:
        data = args.data
        if data is None:
            data = Path(tmp) / "photos"
            write_demo_photos(data)
        out = args.out or Path(tmp) / "run"
        out.mkdir(parents=True, exist_ok=True)
        run(args, data, out)


if __name__ == "__main__":
    main()
