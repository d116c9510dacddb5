import numpy as np
import tensorflow as tf

rs = np.random.RandomState(7)
N = 9000
income, amount = rs.lognormal(10, 0.5, N), rs.lognormal(8, 1, N)
age, branch, n_loans = rs.randint(18, 80, N), rs.randint(0, 40, N), rs.poisson(2, N)
bad = ((amount / income + 0.1 * n_loans + rs.normal(0, 0.3, N)) > 0.6).astype(int)
customers = [dict(income=income[i], age=age[i], branch=branch[i], n_loans=n_loans[i], amount=amount[i], bad=bad[i]) for i in range(N)]


def features(train, part):
    """Target-encode the branch and put every customer beside the mean of their branch."""
    by_branch = {}
    for c in train:
        by_branch.setdefault(c["branch"], []).append((c["bad"], c["income"]))
    rows = []
    for c in part:
        peers = np.array(by_branch[c["branch"]])
        rows.append([
            np.log(c["income"]), c["age"] / 80, peers[:, 0].mean(), c["n_loans"],
            np.log(c["amount"]), c["income"] / peers[:, 1].mean(),
        ])
    return np.array(rows, dtype="float32")


def build():
    m = tf.keras.Sequential([
        tf.keras.layers.Input((6,)),
        tf.keras.layers.BatchNormalization(),
        tf.keras.layers.Dense(64, activation="relu"),
        tf.keras.layers.Dense(64, activation="relu"),
        tf.keras.layers.Dense(1, activation="sigmoid"),
    ])
    m.compile("adam", "binary_crossentropy", metrics=["AUC"])
    return m


scores = []
order = rs.permutation(N)
for fold, idx in enumerate(np.array_split(order, 5)):
    held = set(idx.tolist())
    test = [customers[i] for i in idx]
    train = [c for i, c in enumerate(customers) if i not in held]
    xtr, xte = features(train, train), features(train, test)
    ytr, yte = np.array([c["bad"] for c in train]), np.array([c["bad"] for c in test])
    model = build()
    model.fit(xtr, ytr, epochs=2, batch_size=128, verbose=0)
    scores.append(model.evaluate(xte, yte, verbose=0)[1])
    print("fold", fold, "auc", scores[-1])
print("mean", np.mean(scores))
