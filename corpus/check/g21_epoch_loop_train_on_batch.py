# EXPECT none
# NOTE one predict and one evaluate per epoch of a hand-written loop; train_on_batch gives numpy numbers already, so float() of them costs nothing
# SEEN ran to the end (rc 0), no complaint of its own
"""Cosine-annealed restarts, by hand with train_on_batch."""
import numpy as np
import keras
from keras import layers

EPOCHS, BATCH, CYCLE = 4, 50, 20
keras.utils.set_random_seed(44)


def spirals(n, seed):
    rng = np.random.default_rng(seed)
    t = np.sqrt(rng.random(n)) * 3 * np.pi
    k = rng.integers(0, 2, n)
    x = np.stack([t * np.cos(t + np.pi * k), t * np.sin(t + np.pi * k)], 1) / 10
    return (x + rng.normal(0, 0.02, (n, 2))).astype("float32"), k.astype("float32")


def batches(x, y, rng):
    order = rng.permutation(len(x))
    for i in range(0, len(x) - BATCH + 1, BATCH):
        take = order[i:i + BATCH]
        yield x[take], y[take]


x, y = spirals(1000, 0)
x_val, y_val = spirals(300, 1)
rng = np.random.default_rng(2)

model = keras.Sequential([
    keras.Input((2,)),
    layers.Dense(32, activation="tanh"),
    layers.Dense(32, activation="tanh"),
    layers.Dense(1, activation="sigmoid"),
])
opt = keras.optimizers.SGD(0.1, momentum=0.9)
model.compile(optimizer=opt, loss="binary_crossentropy", metrics=["accuracy"])

step, track, moved = 0, [], []
previous = model.predict(x_val, batch_size=300, verbose=0)
for epoch in range(EPOCHS):
    losses = []
    for xb, yb in batches(x, y, rng):
        opt.learning_rate.assign(0.05 * (1 + np.cos(np.pi * (step % CYCLE) / CYCLE)))
        loss, acc = model.train_on_batch(xb, yb)
        losses.append(float(loss))
        step += 1
    current = model.predict(x_val, batch_size=300, verbose=0)
    moved.append(float(np.abs(current - previous).mean()))
    previous = current
    val_loss, val_acc = model.evaluate(x_val, y_val, verbose=0)
    track.append(val_acc)
    print(f"{epoch + 1}: {np.mean(losses):.3f} val {val_loss:.3f}/{val_acc:.3f} moved {moved[-1]:.3f}")

print("best", max(track))
