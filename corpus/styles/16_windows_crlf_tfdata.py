# EXPECT: for-loop over a tf.data.Dataset that calls model.train_on_batch for every batch (eager iteration + call overhead + reading the result each step)
# TWIST: none
import os
import time
import numpy as np
import tensorflow as tf

# ---------------------------------------------------------------
#  Energy consumption forecast  v0.3 (final) (really final)
# ---------------------------------------------------------------
BASE_DIR  = os.path.dirname(os.path.abspath(__file__))
DATA_FILE = os.path.join(BASE_DIR, "data", "16_windows_crlf_tfdata", "load_kw.csv")
WINDOW    = 48
BATCH     = 32
EPOCHS    = 28

def CreateCsv():
    os.makedirs(os.path.dirname(DATA_FILE), exist_ok=True)
    rng = np.random.default_rng(33)
    t = np.arange(9000)
    load = 40 + 12*np.sin(2*np.pi*t/24) + 6*np.sin(2*np.pi*t/168) + rng.normal(0, 1.5, t.size)
    with open(DATA_FILE, "w") as f:
        f.write("hour;kw\n")
        for h, v in zip(t, load):
            f.write("%d;%.3f\n" % (h, v))

def LoadCsv():
    if not os.path.exists(DATA_FILE):
        CreateCsv()
    kw = np.genfromtxt(DATA_FILE, delimiter=";", skip_header=1)[:, 1].astype(np.float32)
    return (kw - kw.mean()) / kw.std()

def MakeDataset(series):
    x = np.lib.stride_tricks.sliding_window_view(series, WINDOW)[:-1]
    y = series[WINDOW:]
    print("Samples: %d" % len(x))
    ds = tf.data.Dataset.from_tensor_slices((x, y))
    return ds.shuffle(len(x), seed=1).batch(BATCH, drop_remainder=True)

tf.random.set_seed(10)
ds = MakeDataset(LoadCsv())

model = tf.keras.models.Sequential([
    tf.keras.layers.Input(shape=(WINDOW,)),
    tf.keras.layers.Dense(32, activation="relu"),
    tf.keras.layers.Dense(16, activation="relu"),
    tf.keras.layers.Dense(1),
])
model.compile(optimizer=tf.keras.optimizers.RMSprop(0.001), loss="mae", metrics=["mse"])

start = time.time()
for epoch in range(1, EPOCHS + 1):
    running_loss = 0.0
    running_mse  = 0.0
    model.reset_metrics()
    for step, (xb, yb) in enumerate(ds):
        result = model.train_on_batch(xb, yb, return_dict=True)
        # running mean
        running_loss += (float(result["loss"]) - running_loss) / (step + 1)
        running_mse  += (float(result["mse"]) - running_mse) / (step + 1)
    print("Epoch %2d/%d - MAE %.5f - MSE %.5f - %.1f s" % (epoch, EPOCHS, running_loss, running_mse, time.time() - start))

print("Finished.")
