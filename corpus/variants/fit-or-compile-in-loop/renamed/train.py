# EXPECT cause=fit-or-compile-in-loop file=train.py line=15
# WHY compile() in every epoch only to set the learning rate: the train function is traced again each time
import time

import numpy as np
import keras

rng = np.random.default_rng(16)
x = rng.normal(size=(1024, 32)).astype("float32")
y = x[:, :1] * 3
model = keras.Sequential([keras.Input((32,))] + [keras.layers.Dense(64, activation="relu") for _ in range(4)] + [keras.layers.Dense(1)])
t0 = time.perf_counter()
for epoch in range(9):
    lr = 1e-3 * 0.9 ** epoch
    model.compile(optimizer=keras.optimizers.Adam(lr), loss="mse")
    h = model.fit(x, y, batch_size=128, epochs=1, verbose=0)
    print(f"epoch {epoch} lr {lr:.5f} loss {h.history['loss'][0]:.4f}")
print(f"training took {time.perf_counter() - t0:.1f} s")
