# EXPECT cause=python-in-map file=pybridge.py line=20
# WHY a py_function tokenizer runs once per text
import time

import keras

from reviews import training_set, VOCAB

model = keras.Sequential([
    keras.Input((60,), dtype="int64"),
    keras.layers.Embedding(VOCAB, 32),
    keras.layers.GlobalAveragePooling1D(),
    keras.layers.Dense(1, activation="sigmoid"),
])
model.compile("adam", "binary_crossentropy")
clock = time.monotonic()
model.fit(training_set(batch=32), epochs=10, verbose=2)
print(f"finished in {time.monotonic() - clock:.1f} s")
