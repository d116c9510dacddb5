import numpy as np
import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers

NUM_TRAIN = 2500
NUM_TEST = 2600
EPOCHS = 4

rs = np.random.RandomState(42)
centers = rs.rand(10, 32, 32, 3)
y_train = rs.randint(0, 10, NUM_TRAIN)
y_test = rs.randint(0, 10, NUM_TEST)
x_train = (centers[y_train] + rs.normal(0, .5, (NUM_TRAIN, 32, 32, 3))).astype('float32')
x_test = (centers[y_test] + rs.normal(0, .5, (NUM_TEST, 32, 32, 3))).astype('float32')

inputs = keras.Input((32, 32, 3))
h = layers.Conv2D(32, 3, activation='relu')(inputs)
h = layers.MaxPooling2D()(h)
h = layers.Conv2D(64, 3, activation='relu')(h)
h = layers.GlobalAveragePooling2D()(h)
embedding = layers.Dense(256, name='embedding')(h)
outputs = layers.Dense(10, activation='softmax')(layers.ReLU()(embedding))
model = keras.Model(inputs, outputs)
embedder = keras.Model(inputs, embedding)


class KNNMonitor(keras.callbacks.Callback):
    """k-NN accuracy in the embedding space, the metric used in the paper."""

    def __init__(self, bank, bank_labels, queries, query_labels, k=20):
        super().__init__()
        self.bank, self.bank_labels = bank, bank_labels
        self.queries, self.query_labels = queries, query_labels
        self.k = k

    def on_epoch_end(self, epoch, logs=None):
        bank = embedder.predict(self.bank, batch_size=256, verbose=0)
        q = embedder.predict(self.queries, batch_size=256, verbose=0)
        right = 0
        for vec, label in zip(q, self.query_labels):
            d = np.sqrt(((bank - vec) ** 2).sum(axis=1))
            near = self.bank_labels[np.argsort(d)[:self.k]]
            right += np.bincount(near, minlength=10).argmax() == label
        print(f'\nknn@{self.k}: {right / len(q):.3f}')


model.compile('adam', 'sparse_categorical_crossentropy', metrics=['accuracy'])
model.fit(x_train, y_train, batch_size=64, epochs=EPOCHS, verbose=2,
          callbacks=[KNNMonitor(x_train, y_train, x_test, y_test)])
print(model.evaluate(x_test, y_test, verbose=0))
