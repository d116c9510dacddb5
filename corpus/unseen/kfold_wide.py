import numpy as np
import tensorflow as tf

rs = np.random.RandomState(3)
X = rs.randn(24000, 200).astype("float32")
y = (X[:, :50].sum(1) * X[:, 50] > 0).astype("float32")


def make():
    i = tf.keras.Input((200,))
    h = i
    for w in (1024, 1024, 512):
        h = tf.keras.layers.Dense(w, activation="relu")(h)
        h = tf.keras.layers.Dropout(0.2)(h)
    m = tf.keras.Model(i, tf.keras.layers.Dense(1, activation="sigmoid")(h))
    m.compile("adam", "binary_crossentropy", metrics=["accuracy"])
    return m


folds = np.array_split(rs.permutation(len(X)), 3)
for k in range(3):
    tr = np.concatenate([f for j, f in enumerate(folds) if j != k])
    mu, sd = X[tr].mean(0), X[tr].std(0)
    m = make()
    m.fit((X[tr] - mu) / sd, y[tr], batch_size=512, epochs=4, verbose=0)
    print(k, m.evaluate((X[folds[k]] - mu) / sd, y[folds[k]], batch_size=2048, verbose=0))
