import argparse
import tempfile

import keras

from network import small_unet
from pipeline import TileDataset, write_tiles


def parse():
    p = argparse.ArgumentParser()
    p.add_argument("--tiles", type=int, default=24)
    p.add_argument("--side", type=int, default=1024)
    p.add_argument("--size", type=int, default=48)
    p.add_argument("--epochs", type=int, default=40)
    p.add_argument("--batch-size", type=int, default=8)
    return p.parse_args()


def main():
    args = parse()
    keras.utils.set_random_seed(0)
    with tempfile.TemporaryDirectory(prefix="tiles_") as folder:
        write_tiles(folder, args.tiles, args.side)
        data = TileDataset(folder, args.size, args.batch_size)
        model = small_unet(args.size)
        model.compile("adam", "binary_crossentropy", metrics=[keras.metrics.BinaryIoU(target_class_ids=[1])])
        model.fit(data.training(), epochs=args.epochs, verbose=2)


if __name__ == "__main__":
    main()
