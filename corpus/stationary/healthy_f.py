# EXPECT none
# NOTE train_on_batch loop done well: reshuffled indices, running float, evaluation once per epoch
import numpy as np
import keras
from keras import layers

BATCH = 50
EPOCHS = 15


def load():
    r = np.random.RandomState(77)
    x = r.randn(27000, 60).astype("float32")
    y = (x[:, 3] - x[:, 7] > 0.2).astype("int32")
    return (x[:25000], y[:25000]), (x[25000:], y[25000:])


(x_tr, y_tr), (x_te, y_te) = load()
m = keras.Sequential([keras.Input((60,)), layers.Dense(512, activation="relu"), layers.Dense(512, activation="relu"), layers.Dense(2, activation="softmax")])
m.compile(keras.optimizers.SGD(0.01, momentum=0.9, nesterov=True), "sparse_categorical_crossentropy", metrics=["accuracy"])

losses = []
for epoch in range(EPOCHS):
    idx = np.random.permutation(len(x_tr))
    total = 0.0
    for s in range(0, len(idx), BATCH):
        sel = idx[s:s + BATCH]
        out = m.train_on_batch(x_tr[sel], y_tr[sel], return_dict=True)
        losses.append(float(out["loss"]))
        total += losses[-1]
    test = m.evaluate(x_te, y_te, batch_size=250, verbose=0)
    print(f"Epoch {epoch}: {total / (len(idx) / BATCH):.4f} test {test}")
