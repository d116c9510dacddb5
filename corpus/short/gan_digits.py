# minimal GAN on fake 8x8 digits -- follows an old tutorial
import numpy as np
from sklearn.datasets import load_digits
from tensorflow.keras.layers import Dense, Input, LeakyReLU
from tensorflow.keras.models import Sequential
from tensorflow.keras.optimizers import Adam

LATENT = 16
BATCH = 64
ITERATIONS = 90

digits = (load_digits().data / 8.0 - 1.0).astype("float32")

discriminator = Sequential([Input((64,)), Dense(128), LeakyReLU(0.2), Dense(64), LeakyReLU(0.2), Dense(1, activation="sigmoid")])
discriminator.compile(loss="binary_crossentropy", optimizer=Adam(2e-4, 0.5))

generator = Sequential([Input((LATENT,)), Dense(64), LeakyReLU(0.2), Dense(128), LeakyReLU(0.2), Dense(64, activation="tanh")])

frozen = Sequential(discriminator.layers)
frozen.trainable = False
gan = Sequential([generator, frozen])
gan.compile(loss="binary_crossentropy", optimizer=Adam(2e-4, 0.5))
discriminator.trainable = True

rng = np.random.default_rng(0)
ones, zeros = np.ones((BATCH, 1), "float32"), np.zeros((BATCH, 1), "float32")

for it in range(ITERATIONS):
    # 1) discriminator
    real = digits[rng.integers(0, len(digits), BATCH)]
    z = rng.normal(size=(BATCH, LATENT)).astype("float32")
    fake = np.asarray(generator(z))
    hd = discriminator.fit(np.vstack([real, fake]), np.vstack([ones * 0.9, zeros]), batch_size=2 * BATCH, epochs=1, verbose=0)

    # 2) generator through the frozen discriminator
    z = rng.normal(size=(BATCH, LATENT)).astype("float32")
    hg = gan.fit(z, ones, batch_size=BATCH, epochs=1, verbose=0)

    if it % 20 == 0:
        print("%4d  D %.3f  G %.3f" % (it, hd.history["loss"][0], hg.history["loss"][0]))
