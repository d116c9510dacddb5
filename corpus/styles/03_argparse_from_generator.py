#!/usr/bin/env python3
# EXPECT: tf.data.Dataset.from_generator over a Python generator that yields single samples, each read and LANCZOS-resized with PIL every epoch
# TWIST: none
"""Train a small classifier on a folder of pictures.

usage: 03_argparse_from_generator.py [--epochs N] [--batch-size N] [--size N]
"""
from __future__ import annotations

import argparse
import random
import sys
import time
from pathlib import Path
from typing import Iterator

import numpy as np
import tensorflow as tf
from PIL import Image


def parse_args(argv: list[str]) -> argparse.Namespace:
    ap = argparse.ArgumentParser(description=__doc__)
    ap.add_argument("--data", type=Path, default=Path(__file__).resolve().parent / "data" / Path(__file__).stem)
    ap.add_argument("--epochs", type=int, default=13)
    ap.add_argument("--batch-size", type=int, default=16)
    ap.add_argument("--size", type=int, default=80)
    ap.add_argument("--seed", type=int, default=5)
    return ap.parse_args(argv)


def prepare(root: Path, n: int = 90) -> None:
    from skimage import data

    rng = random.Random(3)
    for label in ("coffee", "motorcycle", "retina"):
        arr = data.stereo_motorcycle()[0] if label == "motorcycle" else getattr(data, label)()
        img = Image.fromarray(np.asarray(arr)[..., :3])
        (root / label).mkdir(parents=True)
        for i in range(n):
            side = rng.randrange(250, 380)
            left, top = rng.randrange(img.width - side), rng.randrange(img.height - side)
            tile = img.crop((left, top, left + side, top + side)).resize((side + rng.randrange(90), side))
            tile.save(root / label / f"{label}-{i}.jpeg", quality=92)


def samples(pairs: list[tuple[Path, int]], size: int, rng: random.Random) -> Iterator[tuple[np.ndarray, int]]:
    order = list(pairs)
    rng.shuffle(order)
    for path, label in order:
        with Image.open(path) as im:
            im = im.convert("RGB").resize((size, size), Image.LANCZOS)
        yield np.asarray(im, dtype=np.float32) / 127.5 - 1, label


def make_model(size: int, classes: int) -> tf.keras.Model:
    return tf.keras.Sequential([
        tf.keras.layers.Input((size, size, 3)),
        tf.keras.layers.Conv2D(8, 3, strides=2, activation="relu"),
        tf.keras.layers.MaxPool2D(),
        tf.keras.layers.Conv2D(16, 3, activation="relu"),
        tf.keras.layers.GlobalMaxPool2D(),
        tf.keras.layers.Dense(classes),
    ])


def main(argv: list[str]) -> int:
    args = parse_args(argv)
    tf.keras.utils.set_random_seed(args.seed)
    if not args.data.exists():
        prepare(args.data)
    names = sorted(p.name for p in args.data.iterdir() if p.is_dir())
    pairs = [(p, names.index(p.parent.name)) for p in sorted(args.data.rglob("*.jpeg"))]
    rng = random.Random(args.seed)

    ds = tf.data.Dataset.from_generator(
        lambda: samples(pairs, args.size, rng),
        output_signature=(
            tf.TensorSpec((args.size, args.size, 3), tf.float32),
            tf.TensorSpec((), tf.int32),
        ),
    ).batch(args.batch_size)

    model = make_model(args.size, len(names))
    model.compile(
        optimizer=tf.keras.optimizers.Adam(1e-3),
        loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=["accuracy"],
    )
    start = time.perf_counter()
    hist = model.fit(ds, epochs=args.epochs, verbose=2)
    print(f"trained on {len(pairs)} files in {time.perf_counter() - start:.1f}s, loss {hist.history['loss'][-1]:.4f}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
