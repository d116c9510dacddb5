# EXPECT stuck=slow-storage line=36
# NOTE the records come through a named pipe; the child that writes it stalls after 10 batches but keeps the pipe open, so read() never returns.
import os
import subprocess
import sys
import tempfile

import numpy as np
import tensorflow as tf

N_IN = 50
BATCH = 32
REC = (N_IN + 1) * 4

WRITER = """
import os, random, struct, sys, time
path, n_in, batch = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
parent = os.getppid()
with open(path, "wb", buffering=0) as out:
    for _ in range(10 * batch):
        out.write(struct.pack("<%df" % (n_in + 1), *[random.random() for _ in range(n_in + 1)]))
    while os.getppid() == parent:      # the network share hangs here
        time.sleep(0.5)
"""


def open_export():
    fifo = os.path.join(tempfile.mkdtemp(), "export.bin")
    os.mkfifo(fifo)
    subprocess.Popen([sys.executable, "-c", WRITER, fifo, str(N_IN), str(BATCH)])
    return open(fifo, "rb")


def record_batches(stream):
    while True:
        raw = stream.read(REC * BATCH)
        if len(raw) < REC * BATCH:
            return
        a = np.frombuffer(raw, dtype="<f4").reshape(BATCH, N_IN + 1)
        yield a[:, :-1], a[:, -1:]


def main():
    model = tf.keras.Sequential()
    model.add(tf.keras.layers.Dense(30, activation="relu"))
    model.add(tf.keras.layers.Dense(1))
    model.compile(loss="mse", optimizer="adam")
    model.fit(record_batches(open_export()), steps_per_epoch=200, epochs=3)


if __name__ == "__main__":
    main()
