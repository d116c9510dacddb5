"""Workers are forked while a thread holds a lock that they need too."""

import threading
import time

import keras
import numpy as np

keras.utils.set_random_seed(0)
log_lock = threading.Lock()


def log_for_ever():
    while True:
        with log_lock:
            time.sleep(0.5)  # a slow disk
        time.sleep(0.001)


class Rows(keras.utils.PyDataset):
    def __len__(self):
        return 8

    def __getitem__(self, number):
        # the timeout is there so that this example ends
        if not log_lock.acquire(timeout=90):
            raise RuntimeError("the lock was never given back")
        log_lock.release()
        rows = np.random.default_rng(number).standard_normal((32, 16)).astype("float32")
        return rows, rows.sum(axis=1)


threading.Thread(target=log_for_ever, daemon=True).start()
model = keras.Sequential([keras.Input((16,)), keras.layers.Dense(32), keras.layers.Dense(1)])
model.compile("adam", loss="mse")
model.fit(Rows(workers=2, use_multiprocessing=True), verbose=2)
