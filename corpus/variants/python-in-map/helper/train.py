# EXPECT cause=python-in-map file=genome.py line=31
# WHY k-mer counts of each DNA read are made by a Python dict loop behind numpy_function in GenomeLoader
"""Classify reads by species from k-mer counts (pilot for chapter 3)."""
import time

import keras

from genome import GenomeLoader, K

loader = GenomeLoader(n_reads=3200, read_len=150)
model = keras.Sequential([
    keras.layers.Input((4 ** K,)),
    keras.layers.Dense(96, activation="relu"),
    keras.layers.Dropout(0.2),
    keras.layers.Dense(8, activation="softmax"),
])
model.compile(loss="sparse_categorical_crossentropy", optimizer="adam", metrics=["accuracy"])
tic = time.perf_counter()
model.fit(loader.dataset(batch=40), epochs=10, verbose=2)
print(f"training took {time.perf_counter() - tic:.1f} s")
