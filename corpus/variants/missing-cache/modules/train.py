# EXPECT cause=missing-cache file=tables.py line=25
# WHY text parsing and spectra repeated every epoch although the result is under 1 MB
import time

import keras

from tables import write_csv, examples

EPOCHS = 8
path = write_csv(6000)
model = keras.Sequential([
    keras.Input((32,)),
    keras.layers.Dense(32, activation="relu"),
    keras.layers.Dense(1),
])
model.compile("adam", "mse")
tic = time.perf_counter()
model.fit(examples(path, 64), epochs=EPOCHS, verbose=2)
print(f"training took {time.perf_counter() - tic:.1f} s")
