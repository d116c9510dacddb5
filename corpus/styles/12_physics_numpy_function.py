# EXPECT: tf.numpy_function(zauber, ...) in Dataset.map: windowed FFT features of every trace computed with NumPy and a Python loop, per sample, again every epoch
# TWIST: none
# pulse shape discrimination, quick test (ask Jörg before changing Q0!)
import numpy as np, tensorflow as tf, os
kk = tf.keras.layers
wo = os.path.join(os.path.dirname(os.path.abspath(__file__)), "data", "12_physics_numpy_function"); os.makedirs(wo, exist_ok=True)
fn = wo + "/traces.npz"
Q0 = 1e-3; NW = 30; L = 128; HOP = 32   # NW windows of L points

if not os.path.exists(fn):
    rr = np.random.RandomState(6)
    N = 900; T = (NW - 1) * HOP + L
    tt = np.arange(T) / 100.
    tau = np.where(rr.rand(N) < .5, 1.2, 2.1)
    q = (tau > 1.5).astype("i4")
    S = np.exp(-tt[None] / tau[:, None]) * np.sin(2 * np.pi * rr.uniform(3, 9, (N, 1)) * tt[None]) + .25 * rr.randn(N, T)
    np.savez(fn, S=S.astype("f4"), q=q)

z = np.load(fn); S = z["S"]; q = z["q"]
print("traces", S.shape, "frac slow %.3f" % q.mean())

han = np.hanning(L).astype("f4")


def zauber(s):
    # log power spectrum, window by window
    out = np.empty((NW, L // 2), "f4")
    for i in range(NW):
        w = s[i * HOP:i * HOP + L] * han
        f = np.fft.rfft(w)
        p = np.abs(f[:L // 2]) ** 2
        out[i] = np.log(p + Q0).astype("f4")
    return (out - out.mean()) / (out.std() + np.float32(1e-6))


def mp(s, y):
    F = tf.numpy_function(zauber, [s], tf.float32)
    F = tf.ensure_shape(F, (NW, L // 2))
    return F[..., tf.newaxis], y


d = tf.data.Dataset.from_tensor_slices((S, q)).shuffle(900, seed=0).map(mp).batch(25)

m = tf.keras.Sequential([kk.Input((NW, L // 2, 1)), kk.Conv2D(6, 3, strides=2, activation="relu"), kk.Conv2D(12, 3, strides=2, activation="relu"), kk.Flatten(), kk.Dense(1, activation="sigmoid")])
m.compile("adam", "binary_crossentropy", metrics=["accuracy"])
H = m.fit(d, epochs=24, verbose=2).history
for e, (a, b) in enumerate(zip(H["loss"], H["accuracy"])):
    print("%2d  %.5f  %.4f" % (e, a, b))
