import numpy as np
from PIL import Image


def write_photos(folder, count, size=48, seed=0):
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(seed)
    for i in range(count):
        img = rng.integers(90, 110, size=(size, size, 3), dtype=np.uint8)
        if i % 3 == 0:
            img[size // 2, 5:-5] = 255
        Image.fromarray(img).save(folder / f"part_{i:03d}.png")
