# EXPECT: batch_generator() uses keras load_img + img_to_array per file in Python, serially, every epoch
# TWIST: none
import argparse
import os

import numpy as np
import tensorflow as tf
from PIL import Image

DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "data", "load_img_gen")


def build_data(root, per_class=60):
    from skimage import data
    sources = {
        "brick": data.brick(), "grass": data.grass(), "gravel": data.gravel(), "tissue": data.immunohistochemistry(),
    }
    rng = np.random.default_rng(0)
    for cls, arr in sources.items():
        os.makedirs(os.path.join(root, cls))
        img = Image.fromarray(arr).convert("RGB")
        for i in range(per_class):
            side = int(rng.integers(200, 400))
            x, y = rng.integers(0, 512 - side, 2)
            crop = img.crop((int(x), int(y), int(x) + side, int(y) + side))
            crop.save(os.path.join(root, cls, "%s_%03d.jpg" % (cls, i)), quality=90)


def list_samples(root):
    samples = []
    class_names = sorted(os.listdir(root))
    for label, cls in enumerate(class_names):
        for fname in sorted(os.listdir(os.path.join(root, cls))):
            samples.append((os.path.join(root, cls, fname), label))
    return samples, class_names


def batch_generator(samples, batch_size, image_size, num_classes):
    samples = list(samples)
    while True:
        np.random.shuffle(samples)
        for offset in range(0, len(samples), batch_size):
            batch = samples[offset:offset + batch_size]
            X, Y = [], []
            for path, label in batch:
                img = tf.keras.utils.load_img(path, target_size=(image_size, image_size))
                X.append(tf.keras.utils.img_to_array(img) / 255.0)
                Y.append(label)
            yield np.array(X), tf.keras.utils.to_categorical(Y, num_classes)


def build_model(image_size, num_classes):
    return tf.keras.Sequential([
        tf.keras.layers.Input((image_size, image_size, 3)),
        tf.keras.layers.Conv2D(12, 5, strides=3, activation="relu"),
        tf.keras.layers.Conv2D(16, 3, strides=2, activation="relu"),
        tf.keras.layers.GlobalMaxPooling2D(),
        tf.keras.layers.Dense(num_classes, activation="softmax"),
    ])


def main():
    p = argparse.ArgumentParser(description="texture classifier")
    p.add_argument("--epochs", type=int, default=9)
    p.add_argument("--batch-size", type=int, default=20)
    p.add_argument("--image-size", type=int, default=112)
    p.add_argument("--seed", type=int, default=42)
    args = p.parse_args()

    tf.keras.utils.set_random_seed(args.seed)
    if not os.path.isdir(DATA):
        build_data(DATA)
    samples, names = list_samples(DATA)
    print("%d samples, classes: %s" % (len(samples), ", ".join(names)))
    model = build_model(args.image_size, len(names))
    model.compile(optimizer="adam", loss="categorical_crossentropy", metrics=["accuracy"])
    steps = int(np.ceil(len(samples) / args.batch_size))
    hist = model.fit(batch_generator(samples, args.batch_size, args.image_size, len(names)),
                     steps_per_epoch=steps, epochs=args.epochs, verbose=2)
    print("best acc: %.3f" % max(hist.history["accuracy"]))


if __name__ == "__main__":
    main()
