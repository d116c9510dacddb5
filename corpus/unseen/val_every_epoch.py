import numpy as np
import tensorflow as tf

rs = np.random.RandomState(4)
train_x = rs.randn(4096, 50).astype("float32")
train_y = (train_x.sum(1) > 0).astype("int32")

model = tf.keras.Sequential([
    tf.keras.layers.Input((50,)),
    tf.keras.layers.Dense(256, activation="relu"),
    tf.keras.layers.Dense(256, activation="relu"),
    tf.keras.layers.Dense(2),
])
model.compile("adam", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])


def noisy_copies(x, y, copies=5):
    """Validate on disturbed copies: dropped sensors, drift, spikes."""
    for xi, yi in zip(x, y):
        for c in range(copies):
            v = xi.copy()
            for s in rs.choice(50, 5, replace=False):
                v[s] = 0.0
            drift = 0.0
            for k in range(50):
                drift += rs.normal(0, 0.01)
                v[k] += drift
            yield v, yi


for epoch in range(6):
    model.fit(train_x, train_y, batch_size=32, epochs=1, verbose=0)
    val_x, val_y = map(np.array, zip(*noisy_copies(train_x[:2500], train_y[:2500])))
    res = model.evaluate(val_x, val_y, batch_size=256, verbose=0)
    print("epoch", epoch, "val", res)
