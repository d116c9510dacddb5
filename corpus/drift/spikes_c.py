# EXPECT cause=spikes|gc-pressure file=train.py line=20
# NOTE somebody put a gc.collect() every 50 batches into a callback "to save memory"
import gc
import numpy as np
import tensorflow as tf

tf.random.set_seed(1)
words = ["w%d" % i for i in range(150000)]
vocab = {w: [i, {"df": [0]}] for i, w in enumerate(words)}


class FreeMemory(tf.keras.callbacks.Callback):
    def __init__(self):
        super().__init__()
        self.count = 0

    def on_train_batch_end(self, batch, logs=None):
        self.count += 1
        if self.count % 50 == 0:
            gc.collect()


docs = np.random.randint(0, len(words), size=(50000, 24))
ids = np.array([[vocab[words[t]][0] % 4000 for t in d] for d in docs[:32000]], dtype="int32")
labels = (ids[:, 0] > 2000).astype("int32")

model = tf.keras.Sequential([
    tf.keras.layers.Input(shape=(24,), dtype="int32"),
    tf.keras.layers.Embedding(4000, 32),
    tf.keras.layers.GlobalAveragePooling1D(),
    tf.keras.layers.Dense(256, activation="relu"),
    tf.keras.layers.Dense(256, activation="relu"),
    tf.keras.layers.Dense(2, activation="softmax"),
])
model.compile(loss="sparse_categorical_crossentropy", optimizer="adam", metrics=["accuracy"])
model.fit(ids, labels, batch_size=32, epochs=7, callbacks=[FreeMemory()], verbose=2)
