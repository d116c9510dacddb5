# -*- coding: utf-8 -*-
# EXPECT: train_step() with GradientTape is a plain Python function, not a tf.function, so each of the many steps runs eagerly
# TWIST: none
# 画像パッチのオートエンコーダ（練習用）
import os
import time
import numpy as np
import tensorflow as tf
from keras import layers, losses, models, optimizers, utils
from skimage import data

utils.set_random_seed(3)

場所 = os.path.join(os.path.dirname(os.path.abspath(__file__)), "data", "20_autoencoder_nihongo")


# データの準備：初回だけ作る
def load_patches():
    f = os.path.join(場所, "patches.npy")
    if not os.path.exists(f):
        os.makedirs(場所, exist_ok=True)
        rng = np.random.default_rng(14)
        img = data.chelsea()
        out = np.empty((1280, 24, 24, 3), np.uint8)
        for n in range(len(out)):
            a, b = rng.integers(0, 300 - 24), rng.integers(0, 451 - 24)
            out[n] = img[a:a + 24, b:b + 24]
        np.save(f, out)
    return np.load(f).astype(np.float32) / 255.0


def make_autoencoder(latent=12):
    encoder = models.Sequential([
        layers.Input((24, 24, 3)),
        layers.Conv2D(8, 3, strides=2, padding="same", activation="relu"),
        layers.Conv2D(16, 3, strides=2, padding="same", activation="relu"),
        layers.Flatten(),
        layers.Dense(latent),
    ], name="encoder")
    decoder = models.Sequential([
        layers.Input((latent,)),
        layers.Dense(6 * 6 * 16, activation="relu"),
        layers.Reshape((6, 6, 16)),
        layers.Conv2DTranspose(8, 3, strides=2, padding="same", activation="relu"),
        layers.Conv2DTranspose(3, 3, strides=2, padding="same", activation="sigmoid"),
    ], name="decoder")
    return models.Sequential([encoder, decoder], name="autoencoder")


net = make_autoencoder()
opt = optimizers.Adam(2e-3)
mse = losses.MeanSquaredError()


def train_step(x):
    # 勾配を計算して重みを更新する
    with tf.GradientTape() as t:
        y = net(x, training=True)
        loss = mse(x, y)
    g = t.gradient(loss, net.trainable_weights)
    opt.apply_gradients(zip(g, net.trainable_weights))
    return loss


x = load_patches()
ds = tf.data.Dataset.from_tensor_slices(x).shuffle(1280, seed=5).batch(16)
エポック数 = 5
t0 = time.time()
for e in range(エポック数):
    合計 = 0.0
    回数 = 0
    for xb in ds:
        合計 += train_step(xb)
        回数 += 1
    print(f"エポック {e + 1}/{エポック数}: 損失 = {float(合計) / 回数:.5f}")
print("終了：%.1f 秒" % (time.time() - t0))
