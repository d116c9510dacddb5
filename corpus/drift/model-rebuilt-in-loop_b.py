# EXPECT cause=model-rebuilt-in-loop file=train.py line=30
# NOTE random search in a class: the model is built in the trial loop and every History object (with its model) is kept
import random
import tensorflow as tf
from tensorflow.keras import Sequential
from tensorflow.keras.layers import Conv1D, Dense, Flatten, Input, MaxPooling1D


class RandomSearch:
    def __init__(self, trials=30, seed=4):
        self.trials = trials
        self.random = random.Random(seed)
        self.results = []
        x = tf.random.stateless_normal((1600, 64, 2), seed=[0, 1])
        y = tf.cast(tf.reduce_max(tf.abs(x[:, :, 0]), axis=1) > 2.6, tf.int32)
        self.train = (x[:1280], y[:1280])
        self.val = (x[1280:], y[1280:])

    def sample(self):
        return {
            "filters": self.random.choice([8, 16, 32, 48]),
            "kernel": self.random.choice([3, 5, 7]),
            "dense": self.random.choice([64, 256, 512]),
            "lr": 10 ** self.random.uniform(-4, -2),
        }

    def search(self):
        for t in range(self.trials):
            hp = self.sample()
            model = Sequential([Input((64, 2)), Conv1D(hp["filters"], hp["kernel"], activation="relu"), MaxPooling1D(2), Flatten(), Dense(hp["dense"], activation="relu"), Dense(2, activation="softmax")])
            model.compile(optimizer=tf.keras.optimizers.Adam(hp["lr"]),
                          loss="sparse_categorical_crossentropy", metrics=["accuracy"])
            history = model.fit(*self.train, validation_data=self.val, epochs=2, batch_size=32, verbose=0)
            self.results.append((hp, history))
            print(f"trial {t + 1}/{self.trials} val_acc {history.history['val_accuracy'][-1]:.3f} {hp}")

    def best(self):
        return max(self.results, key=lambda r: max(r[1].history["val_accuracy"]))[0]


if __name__ == "__main__":
    rs = RandomSearch()
    rs.search()
    print("best", rs.best())
