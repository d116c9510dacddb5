# EXPECT: zip(range(steps), feeder) loop with net.train_on_batch per batch; the generator fills the batch sample by sample in Python
# TWIST: the generator re-uses one preallocated batch buffer in place (list(gen) or prefetching without a copy is wrong) and the last short batch of an epoch keeps stale rows of the batch before

import os, struct
import numpy as np
from keras import Input, Model, optimizers, utils
from keras.layers import Conv2D, Dense, Flatten
from skimage import data

N_REC = 2990
SIDE = 24
REC = SIDE * SIDE + 1          # pixels + label byte
BATCH_SZ = 12
N_EPOCH = 28

path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "data", "17_c_programmer_buffer", "patches.bin")


def write_file():
    os.makedirs(os.path.dirname(path), exist_ok=True)
    rng = np.random.RandomState(123)
    srcs = [data.camera(), data.brick(), data.gravel()]
    with open(path, "wb") as fp:
        fp.write(struct.pack("<ii", N_REC, SIDE))
        for i in range(N_REC):
            lab = rng.randint(3)
            r = rng.randint(512 - SIDE)
            c = rng.randint(512 - SIDE)
            fp.write(srcs[lab][r:r + SIDE, c:c + SIDE].tobytes())
            fp.write(struct.pack("B", lab))


def read_file():
    with open(path, "rb") as fp:
        n, side = struct.unpack("<ii", fp.read(8))
        raw = fp.read()
    assert side == SIDE and len(raw) == n * REC
    return n, raw


def feeder(n, raw, order_rng):
    # allocate once, malloc is expensive :-)
    buf_x = np.zeros((BATCH_SZ, SIDE, SIDE, 1), dtype=np.float32)
    buf_y = np.zeros((BATCH_SZ,), dtype=np.int32)
    while True:
        order = order_rng.permutation(n)
        pos = 0
        while pos < n:
            cnt = min(BATCH_SZ, n - pos)
            for k in range(cnt):
                off = int(order[pos + k]) * REC
                px = np.frombuffer(raw, dtype=np.uint8, count=SIDE * SIDE, offset=off)
                buf_x[k, :, :, 0] = px.reshape(SIDE, SIDE)
                buf_x[k] *= 1.0 / 255.0
                buf_y[k] = raw[off + REC - 1]
            pos += cnt
            yield buf_x, buf_y          # whole buffer, always BATCH_SZ rows


if not os.path.exists(path):
    write_file()

utils.set_random_seed(64)
n, raw = read_file()
steps = (n + BATCH_SZ - 1) // BATCH_SZ

i = Input((SIDE, SIDE, 1))
h = Conv2D(6, 5, strides=2, activation="relu")(i)
h = Flatten()(h)
net = Model(i, Dense(3, activation="softmax")(h))
net.compile(optimizer=optimizers.Adam(0.002), loss="sparse_categorical_crossentropy")

gen = feeder(n, raw, np.random.RandomState(7))
for epoch in range(N_EPOCH):
    acc_loss = 0.0
    for _, (xb, yb) in zip(range(steps), gen):
        acc_loss += float(net.train_on_batch(xb, yb))
    net.reset_metrics()
    print("epoch=%d steps=%d mean_loss=%f" % (epoch, steps, acc_loss / steps))
