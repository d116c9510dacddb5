import numpy as np
import keras
from keras import layers

from averaging import WeightAverager

VOCAB, CONTEXT, DIM = 24000, 4, 128
keras.utils.set_random_seed(13)


def token_stream(n, seed):
    rng = np.random.default_rng(seed)
    t = (rng.zipf(1.3, n) % VOCAB).astype("int32")
    x = np.lib.stride_tricks.sliding_window_view(t, CONTEXT + 1)
    return x[:, :CONTEXT].copy(), (x[:, CONTEXT] % 64).copy()


def model_fn():
    inp = keras.Input((CONTEXT,), dtype="int32")
    x = layers.Embedding(VOCAB, DIM)(inp)
    x = layers.Flatten()(x)
    x = layers.Dense(64, activation="relu")(x)
    return keras.Model(inp, layers.Dense(64)(x))


def main():
    x, y = token_stream(7200, 0)
    xv, yv = token_stream(1000, 1)
    model = model_fn()
    model.compile(keras.optimizers.SGD(0.3),
                  keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    model.fit(x, y, batch_size=32, epochs=4, validation_data=(xv, yv),
              callbacks=[WeightAverager()], verbose=2)


if __name__ == "__main__":
    main()
