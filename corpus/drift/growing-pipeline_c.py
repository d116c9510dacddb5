# EXPECT cause=growing-pipeline file=train.py line=37
# NOTE a mixup copy of the first batches is concatenated to the training set in each epoch, so epochs get longer
import keras
import numpy as np
import tensorflow as tf

keras.utils.set_random_seed(12)


def toy(n):
    X = np.random.normal(size=(n, 80)).astype("float32")
    Y = keras.utils.to_categorical((X[:, 0] > 0).astype(int) + (X[:, 1] > 0).astype(int), 3)
    return X, Y.astype("float32")


def mixup(x, y):
    lam = tf.random.uniform((), 0.6, 1.0)
    return lam * x + (1 - lam) * tf.reverse(x, [0]), lam * y + (1 - lam) * tf.reverse(y, [0])


def mlp():
    i = keras.Input((80,))
    h = keras.layers.Dense(512, "relu")(i)
    h = keras.layers.Dense(512, "relu")(h)
    o = keras.layers.Dense(3, "softmax")(h)
    return keras.Model(i, o)


X, Y = toy(6400)
base_ds = tf.data.Dataset.from_tensor_slices((X, Y)).batch(64, drop_remainder=True)
train_ds = base_ds
net = mlp()
net.compile("sgd", "categorical_crossentropy", metrics=["accuracy"])

scores = []
for ep in range(16):
    train_ds = train_ds.concatenate(base_ds.take(60).map(mixup))
    h = net.fit(train_ds, epochs=1, verbose=0)
    scores.append(h.history["accuracy"][0])
    print("epoch", ep, "acc %.3f" % scores[-1])
