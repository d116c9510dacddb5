# EXPECT cause=tiny-batch file=loaders.py line=12
# WHY three dialogues per step: loaders.py batches with the 'memory safe' size
import time

import keras
from loaders import intents

net = keras.Sequential([
    keras.layers.Input((20,), dtype="int32"),
    keras.layers.Embedding(1200, 32),
    keras.layers.Conv1D(64, 3, activation="relu"),
    keras.layers.GlobalMaxPooling1D(),
    keras.layers.Dense(64, activation="relu"),
    keras.layers.Dense(15, activation="softmax"),
])
net.compile(loss="sparse_categorical_crossentropy", optimizer="adam")
t0 = time.time()
net.fit(intents(3600), epochs=3, verbose=2)
print(f"training took {time.time() - t0:.1f} s")
