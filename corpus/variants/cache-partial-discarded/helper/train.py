# EXPECT cause=cache-partial-discarded file=heartdata.py line=24
# WHY subset() takes part of the data after cache(), so the cache is never complete and every epoch filters all the beats again
import time

from tensorflow import keras

from heartdata import beats, subset

train = subset(beats(900), limit=480).shuffle(480).batch(24).prefetch(2)

model = keras.models.Sequential()
model.add(keras.layers.Input(shape=(129, 61)))
model.add(keras.layers.Conv1D(8, 5, strides=4, activation="relu"))
model.add(keras.layers.GlobalAveragePooling1D())
model.add(keras.layers.Dense(4, activation="softmax"))
model.compile(loss="sparse_categorical_crossentropy", optimizer="nadam")

start = time.time()
model.fit(train, epochs=26, verbose=2)
print("training took %.1f s" % (time.time() - start))
