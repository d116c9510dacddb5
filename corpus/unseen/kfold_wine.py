# 3-fold cross validation, wide network on 120 chemical features
import numpy as np
import keras
from keras import layers
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import StandardScaler

keras.utils.set_random_seed(8)
rng = np.random.default_rng(8)
N, D = 16000, 120
W = rng.normal(size=(D, 5))
X = rng.normal(size=(N, D)).astype("float32") * rng.uniform(.1, 9, D).astype("float32")
y = np.argmax(X @ W + rng.normal(0, 10, (N, 5)), 1)


def network():
    net = keras.Sequential([keras.Input((D,))])
    for u in (1024, 1024, 512):
        net.add(layers.Dense(u, activation="gelu"))
        net.add(layers.Dropout(.25))
    net.add(layers.Dense(5))
    net.compile(keras.optimizers.AdamW(1e-3), keras.losses.SparseCategoricalCrossentropy(from_logits=True),
                metrics=["accuracy"])
    return net


scores = []
for fold, (tr, te) in enumerate(StratifiedKFold(3, shuffle=True, random_state=0).split(X, y)):
    keras.backend.clear_session()
    sc = StandardScaler().fit(X[tr])
    net = network()
    net.fit(sc.transform(X[tr]), y[tr], validation_data=(sc.transform(X[te]), y[te]), epochs=4, batch_size=256, verbose=0,
            callbacks=[keras.callbacks.EarlyStopping(patience=2, restore_best_weights=True)])
    scores.append(net.evaluate(sc.transform(X[te]), y[te], batch_size=1024, verbose=0)[1])
    print(f"fold {fold}: {scores[-1]:.3f}")
print(f"mean {np.mean(scores):.3f} +- {np.std(scores):.3f}")
