# EXPECT cause=shuffle-buffer-too-big file=corpus.py line=27
# WHY the buffer holds the whole corpus and is filled again at the start of every epoch for 30 batches
import time

import keras

from corpus import batches, write_corpus

model = keras.Sequential([
    keras.Input((24,), dtype="int64"),
    keras.layers.Embedding(2000, 48),
    keras.layers.Conv1D(48, 3, activation="relu"),
    keras.layers.GlobalMaxPooling1D(),
    keras.layers.Dense(1, activation="sigmoid"),
])
model.compile("adam", "binary_crossentropy")
path = write_corpus(40_000)
t0 = time.perf_counter()
model.fit(batches(path, 32, per_epoch=30), epochs=5, verbose=2)
print(f"training took {time.perf_counter() - t0:.1f} s")
