import glob
import os

import tensorflow as tf

from clean import drop_broken


def label_of(path):
    return int(os.path.basename(path).split("_")[0])


def load(path, label):
    img = tf.io.decode_png(tf.io.read_file(path), channels=1)
    img = tf.image.resize(img, (12, 12)) / 255.0
    return img, label


def make_dataset(folder, batch):
    paths = sorted(glob.glob(os.path.join(folder, "*.png")))
    labels = [label_of(p) for p in paths]
    paths = drop_broken(paths)
    n = len(paths)
    ds = tf.data.Dataset.from_tensor_slices((paths, labels[:n]))
    return ds.shuffle(n).map(load).batch(batch)
