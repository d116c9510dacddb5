# EXPECT stuck=generator-never-yields line=33
# NOTE the producer thread dies on its first batch (.iloc on a numpy array, logged at debug level only), so the generator waits in queue.get() for ever before the first batch.
import logging
import queue
import threading

import numpy as np
import tensorflow as tf

logging.basicConfig(level=logging.INFO)
logger = logging.getLogger(__name__)


class Prefetcher(threading.Thread):
    def __init__(self, windows, batch):
        super().__init__(daemon=True)
        self.windows = windows
        self.batch = batch
        self.out = queue.Queue(maxsize=4)

    def run(self):
        try:
            while True:
                idx = np.random.randint(0, len(self.windows), self.batch)
                x = self.windows.iloc[idx].to_numpy()
                self.out.put((x[:, :-1], x[:, -1:]))
        except Exception:
            logger.debug("producer stopped", exc_info=True)


def batches(prefetcher):
    while True:
        item = prefetcher.out.get()
        yield item


def run():
    series = np.sin(np.linspace(0, 60, 3000)).astype("float32")
    windows = np.lib.stride_tricks.sliding_window_view(series, 33)
    pf = Prefetcher(windows, 32)
    pf.start()

    net = tf.keras.Sequential([
        tf.keras.layers.Dense(32, activation="relu"),
        tf.keras.layers.Dense(1),
    ])
    net.compile(loss="mse", optimizer="sgd")
    logger.info("fitting")
    net.fit(batches(pf), steps_per_epoch=50, epochs=2, verbose=2)


run()
