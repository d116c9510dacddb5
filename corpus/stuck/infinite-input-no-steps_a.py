# EXPECT stuck=infinite-input-no-steps line=39 also=17
# NOTE the augmenting generator never ends and fit has no steps_per_epoch: steps go on, epoch 1 never ends. (Also fair: line 17.)
import numpy as np
from tensorflow import keras
from tensorflow.keras.layers import Conv2D, Dense, Flatten, Input, MaxPooling2D
from tensorflow.keras.models import Sequential

np.random.seed(42)

# data (digits drawn by hand, here: random)
x_train = np.random.rand(256, 28, 28, 1).astype("float32")
y_train = keras.utils.to_categorical(np.random.randint(0, 10, 256), 10)


def augment(x, y, batch_size=32):
    n = len(x)
    while True:
        idx = np.random.permutation(n)
        for i in range(0, n, batch_size):
            xb = x[idx[i:i + batch_size]]
            xb = xb + np.random.normal(scale=0.05, size=xb.shape)
            xb = np.roll(xb, np.random.randint(-2, 3), axis=1)
            yield xb.astype("float32"), y[idx[i:i + batch_size]]


def create_model():
    m = Sequential()
    m.add(Input(shape=(28, 28, 1)))
    m.add(Conv2D(16, (3, 3), activation="relu"))
    m.add(MaxPooling2D((2, 2)))
    m.add(Flatten())
    m.add(Dense(10, activation="softmax"))
    m.compile(loss="categorical_crossentropy", optimizer="adam", metrics=["accuracy"])
    return m


model = create_model()
model.summary()
model.fit(augment(x_train, y_train), epochs=10, verbose=2)
model.save("digits.keras")
