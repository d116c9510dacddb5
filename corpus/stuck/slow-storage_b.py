# EXPECT stuck=slow-storage line=63
# NOTE the JPEG "files" of the mount are pipes fed by a helper process, which hangs in the middle of the 9th picture: reading it blocks for ever in a PyDataset.
import io
import os
import subprocess
import sys
import tempfile
import textwrap

import keras
import numpy as np
from PIL import Image

# ------------------------------------------------------------------ the "remote mount"
SERVER = textwrap.dedent("""
    import os, sys, threading, time
    folder, jpeg = sys.argv[1], open(sys.argv[2], "rb").read()
    parent = os.getppid()

    def leave_with_parent():
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(0)

    threading.Thread(target=leave_with_parent, daemon=True).start()
    for n, name in enumerate(sorted(os.listdir(folder))):
        with open(os.path.join(folder, name), "wb") as f:
            if n < 8:
                f.write(jpeg)
            else:
                f.write(jpeg[:200])
                f.flush()
                time.sleep(10 ** 6)
""")


def mount(n):
    top = tempfile.mkdtemp(prefix="bucket_")
    folder = os.path.join(top, "train")
    os.mkdir(folder)
    for i in range(n):
        os.mkfifo(os.path.join(folder, "%05d.jpg" % i))
    source = os.path.join(top, "source.jpg")
    Image.fromarray(np.random.randint(0, 255, (64, 64, 3), dtype=np.uint8)).save(source)
    subprocess.Popen([sys.executable, "-c", SERVER, folder, source])
    return folder


# ------------------------------------------------------------------ training
class Bucket(keras.utils.PyDataset):
    def __init__(self, folder, batch_size):
        super().__init__()
        self.names = [os.path.join(folder, n) for n in sorted(os.listdir(folder))]
        self.batch_size = batch_size
        self.memo = {}

    def __len__(self):
        return len(self.names) // self.batch_size

    def _image(self, name):
        if name not in self.memo:
            with open(name, "rb") as fh:
                data = fh.read()
            self.memo[name] = np.asarray(Image.open(io.BytesIO(data)), dtype="float32") / 255
        return self.memo[name]

    def __getitem__(self, k):
        names = self.names[k * self.batch_size:(k + 1) * self.batch_size]
        return np.stack([self._image(n) for n in names]), np.arange(len(names)) % 2


model = keras.Sequential([
    keras.Input((64, 64, 3)),
    keras.layers.Conv2D(8, 3, strides=2, activation="relu"),
    keras.layers.Flatten(),
    keras.layers.Dense(1, activation="sigmoid"),
])
model.compile(optimizer="adam", loss="binary_crossentropy")
model.fit(Bucket(mount(40), 2), epochs=2, shuffle=False)
