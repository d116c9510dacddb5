# EXPECT cause=py-generator-input file=sequences.py line=17
# WHY fingerprints in pure Python inside __getitem__, redone every epoch
import time

import keras

from sequences import MoleculeSequence

data = MoleculeSequence(batches=70, size=48)
model = keras.Sequential([
    keras.Input((128,)),
    keras.layers.Dense(128, activation="relu"),
    keras.layers.Dense(1),
])
model.compile("adam", "mse")
start = time.perf_counter()
model.fit(data, epochs=9, verbose=2)
print(f"training took {time.perf_counter() - start:.1f} s")
