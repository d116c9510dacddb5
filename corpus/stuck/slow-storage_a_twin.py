# EXPECT moving
# NOTE the child writes some 2 kB per second into the named pipe, so a batch comes every 3-4 s.
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
    while os.getppid() == parent:
        try:
            out.write(struct.pack("<%df" % (n_in + 1), *[random.random() for _ in range(n_in + 1)]))
        except BrokenPipeError:
            break
        time.sleep(0.1)
os._exit(0)
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
    model.fit(record_batches(open_export()), steps_per_epoch=7, epochs=1)


if __name__ == "__main__":
    main()
