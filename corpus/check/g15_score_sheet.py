# EXPECT none
# NOTE float() of numpy values in a loop, .numpy() in an evaluation (no training anywhere in that loop), and a plain numpy gradient descent that prints each step
# SEEN ran to the end (rc 0), no complaint of its own
"""Evaluate a saved segmentation model and write the score sheet."""
import csv
import sys

import numpy as np
import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers


def discs(n, seed):
    rng = np.random.default_rng(seed)
    yy, xx = np.mgrid[0:32, 0:32]
    c = rng.uniform(8, 24, (n, 2))
    r = rng.uniform(3, 8, n)
    mask = (xx - c[:, 0, None, None]) ** 2 + (yy - c[:, 1, None, None]) ** 2 < r[:, None, None] ** 2
    img = mask * 0.6 + rng.normal(0.2, 0.1, mask.shape)
    return img[..., None].astype("float32"), mask[..., None].astype("float32")


def unet():
    inp = keras.Input((32, 32, 1))
    a = layers.Conv2D(8, 3, padding="same", activation="relu")(inp)
    b = layers.MaxPooling2D()(a)
    b = layers.Conv2D(16, 3, padding="same", activation="relu")(b)
    u = layers.UpSampling2D()(b)
    u = layers.Concatenate()([u, a])
    u = layers.Conv2D(8, 3, padding="same", activation="relu")(u)
    return keras.Model(inp, layers.Conv2D(1, 1, activation="sigmoid")(u))


def dice(truth, pred):
    both = tf.reduce_sum(truth * pred, axis=(1, 2, 3))
    total = tf.reduce_sum(truth, axis=(1, 2, 3)) + tf.reduce_sum(pred, axis=(1, 2, 3))
    return (2 * both + 1) / (total + 1)


def fit_threshold(prob, truth, steps=20, lr=0.05):
    """Plain numpy: no tensors in here."""
    t = 0.5
    for k in range(steps):
        soft = 1 / (1 + np.exp(-20 * (prob - t)))
        loss = np.mean((soft - truth) ** 2)
        grad = np.mean(2 * (soft - truth) * soft * (1 - soft) * -20)
        t -= lr * grad
        if k % 5 == 0:
            print(f"  threshold step {k}: loss {float(loss):.5f}")
    return float(t)


keras.utils.set_random_seed(8)
x, y = discs(300, 0)
model = unet()
model.compile("adam", "binary_crossentropy")
model.fit(x, y, epochs=10, batch_size=20, verbose=0)

# ---- evaluation -------------------------------------------------------------
x_test, y_test = discs(80, 1)
test_ds = tf.data.Dataset.from_tensor_slices((x_test, y_test)).batch(20)
scores, probs = [], []
for images, masks in test_ds:
    p = model(images, training=False)
    scores.extend(dice(masks, p).numpy().tolist())
    probs.append(p.numpy())
probs = np.concatenate(probs)

threshold = fit_threshold(probs, y_test)
writer = csv.writer(sys.stdout)
writer.writerow(["image", "dice", "area"])
for i, (s, p) in enumerate(zip(scores[:5], probs[:5])):
    area = float((p > threshold).mean())
    writer.writerow([i, round(s, 3), round(area, 3)])
print("mean dice", float(np.mean(scores)))
