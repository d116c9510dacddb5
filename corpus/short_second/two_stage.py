# stage 1: denoising autoencoder, stage 2: classifier on the encoder
import numpy as np, tensorflow as tf
from tensorflow.keras import layers, models

tf.keras.utils.set_random_seed(1)
x = np.random.rand(1200, 40, 40, 1).astype('float32')
y = np.random.randint(0, 8, 1200)
noisy = np.clip(x + np.random.normal(0, .1, x.shape), 0, 1).astype('float32')

enc_in = layers.Input((40, 40, 1))
h = layers.Conv2D(32, 3, padding='same', activation='relu')(enc_in)
h = layers.MaxPooling2D()(h)
h = layers.Conv2D(64, 3, padding='same', activation='relu')(h)
h = layers.MaxPooling2D()(h)
encoder = models.Model(enc_in, h)

d = layers.Conv2DTranspose(64, 3, strides=2, padding='same', activation='relu')(encoder.output)
d = layers.Conv2DTranspose(32, 3, strides=2, padding='same', activation='relu')(d)
d = layers.Conv2D(1, 3, padding='same', activation='sigmoid')(d)
dae = models.Model(enc_in, d)
dae.compile('adam', 'mse')
dae.fit(noisy, x, batch_size=50, epochs=1, verbose=2)

c = layers.Flatten()(encoder.output)
c = layers.Dense(256, activation='relu')(c)
clf = models.Model(enc_in, layers.Dense(8, activation='softmax')(c))
clf.compile(tf.keras.optimizers.Adam(5e-4), 'sparse_categorical_crossentropy', metrics=['accuracy'])
clf.fit(x, y, batch_size=50, epochs=3, verbose=2)
clf.evaluate(x[:300], y[:300], batch_size=100, verbose=2)
