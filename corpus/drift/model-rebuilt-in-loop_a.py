# EXPECT cause=model-rebuilt-in-loop file=train.py line=35
# NOTE k-fold over a small grid, each fold builds and compiles a new network and nothing is ever cleared (the body of make_net is as good a place)
import itertools
import numpy as np
import keras
from keras import layers

rng = np.random.default_rng(123)
X = rng.normal(size=(3000, 30)).astype("float32")
y = (X[:, 0] + X[:, 1] ** 2 > 0.8).astype("float32")

K = 4
folds = np.array_split(rng.permutation(len(X)), K)


def make_net(units, dropout):
    net = keras.Sequential([
        keras.Input((30,)),
        layers.Dense(units, activation="relu"),
        layers.BatchNormalization(),
        layers.Dropout(dropout),
        layers.Dense(units // 2, activation="relu"),
        layers.Dense(1, activation="sigmoid"),
    ])
    net.compile(optimizer="adam", loss="binary_crossentropy", metrics=["AUC"])
    return net


table = {}
for units, dropout in itertools.product([64, 128, 256], [0.0, 0.3]):
    scores = []
    for k in range(K):
        val = folds[k]
        tr = np.concatenate([folds[j] for j in range(K) if j != k])
        net = make_net(units, dropout)
        net.fit(X[tr], y[tr], batch_size=64, epochs=3, verbose=0)
        scores.append(net.evaluate(X[val], y[val], verbose=0)[1])
        print("units", units, "dropout", dropout, "fold", k, "auc %.3f" % scores[-1])
    table[(units, dropout)] = np.mean(scores)

print(max(table, key=table.get))
