# EXPECT cause=checkpoint-too-often file=callbacks.py line=12
# WHY BackupAndRestore with save_freq=2 writes weights and optimizer state after every second batch
import time

import numpy as np
import tensorflow as tf

from callbacks import get_callbacks

CFG = {"backup_every": 2, "lr": 3e-4, "epochs": 4, "bs": 40}

rng = np.random.RandomState(8)
X = rng.randn(4000, 384).astype("float32")   # sentence embeddings
Y = (rng.rand(4000, 28) > 0.9).astype("float32")

model = tf.keras.models.Sequential([
    tf.keras.layers.InputLayer(shape=(384,)),
    tf.keras.layers.Dense(1200, activation="relu"),
    tf.keras.layers.Dropout(0.1),
    tf.keras.layers.Dense(28, activation="sigmoid"),
])
model.compile(optimizer=tf.keras.optimizers.Adam(CFG["lr"]), loss="binary_crossentropy")

t0 = time.time()
model.fit(X, Y, batch_size=CFG["bs"], epochs=CFG["epochs"], callbacks=get_callbacks(CFG), verbose=2)
print("training took %.1f s" % (time.time() - t0))
