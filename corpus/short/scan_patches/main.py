"""Segment lesions on a (synthetic) scan. usage: python main.py [--epochs N]"""
import argparse

import numpy as np
from dataset import PatchSequence
from network import tiny_unet


def synthetic_scan(n=1024, seed=0):
    rng = np.random.default_rng(seed)
    scan = rng.random((n, n), dtype=np.float32) * 0.4
    mask = np.zeros((n, n), dtype=np.float32)
    for r, c in rng.integers(40, n - 40, (60, 2)):
        mask[r - 15 : r + 15, c - 15 : c + 15] = 1
    return scan + 0.5 * mask, mask


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=1)
    p.add_argument("--patch", type=int, default=64)
    p.add_argument("--batch", type=int, default=16)
    args = p.parse_args()

    scan, mask = synthetic_scan()
    rng = np.random.default_rng(1)
    coords = rng.integers(0, 1024 - args.patch, (args.batch * 9, 2))
    seq = PatchSequence(scan, mask, coords, batch_size=args.batch, size=args.patch)

    model = tiny_unet(args.patch)
    model.compile("adam", "binary_crossentropy")
    model.fit(seq, epochs=args.epochs)


if __name__ == "__main__":
    main()
