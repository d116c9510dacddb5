# EXPECT cause=sequential-map file=speech.py line=26
# WHY the spectra are computed one after another, no num_parallel_calls, random noise keeps TF from parallelising by itself
import time

import keras

from speech import dataset

model = keras.Sequential([
    keras.Input((None, 65)),
    keras.layers.GlobalMaxPooling1D(),
    keras.layers.Dense(48, activation="relu"),
    keras.layers.Dense(10, activation="softmax"),
])
model.compile("adam", "sparse_categorical_crossentropy")
t0 = time.perf_counter()
model.fit(dataset(2400, batch=30), epochs=1, verbose=2)
print(f"training took {time.perf_counter() - t0:.1f} s")
