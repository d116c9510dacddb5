# EXPECT none
# NOTE the predict in the loop is that of a scikit-learn model (and of a hand-written baseline); the Keras model predicts once
# SEEN ran (rc 0) with a stand-in for scikit-learn (not installed here)
"""Compare simple baselines with a network on the churn table, row by row for the report."""
import numpy as np
from keras import Sequential, layers, utils
from sklearn.linear_model import LogisticRegression

utils.set_random_seed(20)


class MajorityModel:
    def fit(self, X, y):
        self.answer_ = int(np.mean(y) > 0.5)
        return self

    def predict(self, X):
        return np.full(len(X), self.answer_)


def table(n=800):
    rng = np.random.default_rng(20)
    X = rng.normal(size=(n, 5)).astype("float32")
    y = (X[:, 0] + X[:, 1] ** 2 > 0.8).astype("int32")
    return X[:600], y[:600], X[600:], y[600:]


def explain(row, model):
    """How much does the answer change if one feature is set to its mean (0)?"""
    base = model.predict(row[None])[0]
    changed = []
    for j in range(len(row)):
        other = row.copy()
        other[j] = 0.0
        if model.predict(other[None])[0] != base:
            changed.append(j)
    return base, changed


X_train, y_train, X_test, y_test = table()

baselines = {"majority": MajorityModel(), "logistic": LogisticRegression(max_iter=200)}
for name, clf in baselines.items():
    clf.fit(X_train, y_train)
    print(f"{name:9s} {np.mean(clf.predict(X_test) == y_test):.3f}")

model = LogisticRegression().fit(X_train, y_train)
for row in X_test[:10]:
    print(explain(row, model))

net = Sequential(
    [
        layers.Input((5,)),
        layers.Dense(16, activation="relu"),
        layers.Dense(16, activation="relu"),
        layers.Dense(1, activation="sigmoid"),
    ]
)
net.compile(optimizer="adam", loss="binary_crossentropy", metrics=["accuracy"])
net.fit(X_train, y_train, epochs=5, batch_size=32, validation_split=0.2, verbose=0)
answers = net.predict(X_test, verbose=0)[:, 0] > 0.5
print(f"{'network':9s} {np.mean(answers == y_test):.3f}")
