# EXPECT infinite-input-no-steps line=57
# NOTE the generator never ends and fit has no steps_per_epoch: epoch 1 goes on forever
# SEEN never finished: killed by timeout after 45 s, last word 'Epoch 1/3'
"""Predict the next value of a noisy sine.  Week 5 exercise."""
import numpy as np
from keras.layers import *
from keras.models import Model
from keras.optimizers import Adam
from keras.callbacks import ModelCheckpoint, ReduceLROnPlateau

LOOKBACK = 30
STEP_AHEAD = 1
BATCH = 64

t = np.linspace(0, 200, 6000)
signal = np.sin(t) + 0.1 * np.random.RandomState(0).randn(len(t))
mean, std = signal[:4000].mean(), signal[:4000].std()
signal = (signal - mean) / std


def generator(data, lookback, delay, min_index, max_index, shuffle=False, batch_size=64):
    if max_index is None:
        max_index = len(data) - delay - 1
    i = min_index + lookback
    while 1:
        if shuffle:
            rows = np.random.randint(min_index + lookback, max_index, size=batch_size)
        else:
            if i + batch_size >= max_index:
                i = min_index + lookback
            rows = np.arange(i, min(i + batch_size, max_index))
            i += len(rows)
        samples = np.zeros((len(rows), lookback, 1), dtype="float32")
        targets = np.zeros((len(rows), 1), dtype="float32")
        for j, row in enumerate(rows):
            samples[j, :, 0] = data[row - lookback:row]
            targets[j] = data[row + delay - 1]
        yield samples, targets


train_gen = generator(signal, LOOKBACK, STEP_AHEAD, 0, 4000, shuffle=True, batch_size=BATCH)
val_gen = generator(signal, LOOKBACK, STEP_AHEAD, 4001, 5000, batch_size=BATCH)
test_gen = generator(signal, LOOKBACK, STEP_AHEAD, 5001, None, batch_size=BATCH)

val_steps = (5000 - 4001 - LOOKBACK) // BATCH
test_steps = (len(signal) - 5001 - LOOKBACK) // BATCH

inp = Input(shape=(LOOKBACK, 1))
x = Conv1D(16, 5, activation="relu")(inp)
x = MaxPooling1D(2)(x)
x = GRU(16)(x)
out = Dense(1)(x)
model = Model(inp, out)
model.compile(optimizer=Adam(1e-3), loss="mae")
model.summary()

history = model.fit(train_gen, epochs=3, validation_data=val_gen,
                    validation_steps=val_steps, verbose=2,
                    callbacks=[ReduceLROnPlateau(patience=1)])

print("val mae by epoch:", history.history["val_loss"])
print("test mae:", model.evaluate(test_gen, steps=test_steps, verbose=0))
