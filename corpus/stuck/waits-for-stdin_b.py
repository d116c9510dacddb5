# EXPECT stuck=waits-for-stdin line=19 also=20
# NOTE a forgotten pdb.set_trace() in a callback stops the run at batch 5 and waits for a debugger command on stdin. (Also fair: line 20.)
import pdb

import numpy as np
import keras


class LossSpy(keras.callbacks.Callback):
    def __init__(self, limit):
        super().__init__()
        self.limit = limit
        self.history = []

    def on_train_batch_end(self, batch, logs=None):
        loss = logs["loss"]
        self.history.append(loss)
        if batch >= 5 and loss > self.limit:
            pdb.set_trace()
            self.history.clear()


vocab, seq = 200, 20
x = np.random.randint(0, vocab, (600, seq))
y = np.roll(x, -1, axis=1)

model = keras.Sequential([
    keras.layers.Embedding(vocab, 16),
    keras.layers.LSTM(16, return_sequences=True),
    keras.layers.Dense(vocab, activation="softmax"),
])
model.compile(loss="sparse_categorical_crossentropy", optimizer="adam")
model.fit(x, y, batch_size=20, epochs=3, callbacks=[LossSpy(limit=0.5)])
