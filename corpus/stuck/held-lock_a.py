# EXPECT stuck=held-lock line=24 also=16
# NOTE the heartbeat thread takes the config lock and keeps it (its endless loop is inside the with-block); the main thread waits for the lock before it can train. (Also fair: line 16.)
import json
import threading
import time

import numpy as np
import tensorflow as tf

config = {"units": 24, "epochs": 5, "lr": 0.01}
config_lock = threading.RLock()
status = {}


def heartbeat(interval):
    with config_lock:
        while True:
            status["alive"] = time.time()
            status["config"] = json.dumps(config)
            time.sleep(interval)


def read_config():
    with config_lock:
        return dict(config)


def build(cfg):
    model = tf.keras.models.Sequential()
    model.add(tf.keras.layers.Dense(cfg["units"], activation="tanh", input_shape=(6,)))
    model.add(tf.keras.layers.Dense(1))
    model.compile(optimizer=tf.keras.optimizers.SGD(cfg["lr"]), loss="mean_squared_error")
    return model


def main():
    threading.Thread(target=heartbeat, args=(1.0,), name="heartbeat", daemon=True).start()
    time.sleep(0.5)
    x = np.random.uniform(-1, 1, (500, 6))
    y = np.prod(x, axis=1, keepdims=True)
    cfg = read_config()
    model = build(cfg)
    model.fit(x, y, epochs=cfg["epochs"], verbose=2)


if __name__ == "__main__":
    main()
