# EXPECT cause=fit-or-compile-in-loop file=train.py line=25 also=train.py:22
# NOTE active learning: after each query the model is compiled again and fitted on the whole labelled pool, so each round takes longer (the compile line in the same method is as right an answer)
import numpy as np
import keras


class ActiveLearner:
    def __init__(self, pool_x, pool_y, start=200, query=400):
        self.px, self.py = pool_x, pool_y
        order = np.random.default_rng(0).permutation(len(pool_x))
        self.labelled = list(order[:start])
        self.rest = list(order[start:])
        self.query = query
        self.model = keras.Sequential([
            keras.Input((pool_x.shape[1],)),
            keras.layers.Dense(128, activation="relu"),
            keras.layers.Dense(64, activation="relu"),
            keras.layers.Dense(2),
        ])

    def train_round(self):
        self.model.compile(optimizer=keras.optimizers.Adam(1e-3),
                           loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
                           metrics=["accuracy"])
        h = self.model.fit(self.px[self.labelled], self.py[self.labelled], batch_size=16, epochs=1, verbose=0)
        return h.history["accuracy"][-1]

    def ask(self):
        take, self.rest = self.rest[:self.query], self.rest[self.query:]
        self.labelled.extend(take)


if __name__ == "__main__":
    r = np.random.default_rng(1)
    X = r.normal(size=(20000, 40)).astype("float32")
    Y = (X[:, 0] * X[:, 1] + X[:, 2] > 0).astype("int64")
    al = ActiveLearner(X, Y)
    for i in range(35):
        acc = al.train_round()
        print(f"round {i}: {len(al.labelled)} labels, accuracy {acc:.3f}")
        al.ask()
