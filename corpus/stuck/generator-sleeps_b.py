# EXPECT stuck=generator-never-yields line=29
# NOTE the feature server sends 12 batches and then goes silent without closing; the generator hangs in recv().
import socket
import struct
import threading
import time

import numpy as np
import keras

N_FEAT = 20
BATCH = 16


def feature_server(listener):
    # stands for the feature service of the other team
    conn, _ = listener.accept()
    rng = np.random.default_rng(1)
    for _ in range(12):
        payload = rng.normal(size=(BATCH, N_FEAT + 1)).astype("<f4").tobytes()
        conn.sendall(struct.pack("!I", len(payload)) + payload)
    while True:
        time.sleep(3600)


def recv_exactly(sock, n):
    parts = []
    while n:
        chunk = sock.recv(min(n, 65536))
        if not chunk:
            raise ConnectionError("server closed")
        parts.append(chunk)
        n -= len(chunk)
    return b"".join(parts)


def remote_batches(addr):
    sock = socket.create_connection(addr)
    while True:
        (size,) = struct.unpack("!I", recv_exactly(sock, 4))
        block = np.frombuffer(recv_exactly(sock, size), dtype="<f4").reshape(-1, N_FEAT + 1)
        yield block[:, :N_FEAT], (block[:, N_FEAT] > 0).astype("float32")


def main():
    listener = socket.create_server(("127.0.0.1", 0))
    threading.Thread(target=feature_server, args=(listener,), daemon=True).start()

    model = keras.Sequential([
        keras.Input((N_FEAT,)),
        keras.layers.Dense(16, activation="relu"),
        keras.layers.Dense(1, activation="sigmoid"),
    ])
    model.compile("rmsprop", "binary_crossentropy", metrics=["accuracy"])
    model.fit(remote_batches(listener.getsockname()), steps_per_epoch=100, epochs=5)


if __name__ == "__main__":
    main()
