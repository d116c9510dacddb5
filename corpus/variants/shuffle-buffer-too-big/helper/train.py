# EXPECT cause=shuffle-buffer-too-big file=games.py line=30
# WHY the shuffle of load_games() holds all 36000 parsed games and is refilled before each short epoch
import time

from tensorflow import keras

from games import load_games, write_games

path = write_games(36_000)
ds = load_games(path).batch(100).take(25).prefetch(2)

inp = keras.Input((18,), dtype="int32")
h = keras.layers.Embedding(64, 24)(inp)
h = keras.layers.Flatten()(h)
h = keras.layers.Dense(64, activation="relu")(h)
model = keras.Model(inp, keras.layers.Dense(3, activation="softmax")(h))
model.compile("adam", "sparse_categorical_crossentropy")

t0 = time.time()
model.fit(ds, epochs=5, verbose=2)
print("training took", round(time.time() - t0, 1), "s")
