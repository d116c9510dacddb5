# EXPECT: model.fit(epochs=1) inside `for ep in range(EPOCHS)` rebuilds data pipeline/callbacks each call; per-fit overhead dominates small data
# TWIST: none
# qick n dirty time series thing, dont judge
import pathlib as pl
import numpy as np
import keras

keras.utils.set_random_seed(99)
D = pl.Path(__file__).resolve().parent/"data"/"fit_epochs1"
WIN, EPOCHS = 24, 70

def mk():
    g = np.random.default_rng(8)
    t = np.arange(420)
    s = np.sin(t/9.) + .5*np.sin(t/23.) + .1*g.standard_normal(len(t))
    D.mkdir(parents=True)
    np.save(D/"serie.npy", s.astype("float32"))

D.exists() or mk()

s = np.load(D/"serie.npy")
s = (s - s.mean())/s.std()
X = np.stack([s[i:i+WIN] for i in range(len(s)-WIN)])
Y = s[WIN:]
Xt, Yt, Xv, Yv = X[:320], Y[:320], X[320:], Y[320:]
print(Xt.shape, Yt.shape, Xv.shape, Yv.shape)

net = keras.Sequential([
    keras.Input((WIN,)),
    keras.layers.Dense(32, activation="relu"),
    keras.layers.Dense(16, activation="relu"),
    keras.layers.Dense(1),
])
net.compile("adam", "mse")

curve = []
for ep in range(EPOCHS):
    h = net.fit(Xt, Yt, batch_size=32, epochs=1, verbose=0)
    l = h.history["loss"][0]
    curve.append(l)
    print("ep", ep, "loss", round(l, 5))

print("val mse", net.evaluate(Xv, Yv, verbose=0))
print("best", min(curve), "at", int(np.argmin(curve)))
