import numpy as np
from PIL import Image

COLOURS = {"chanterelle": (220, 170, 40), "fly_agaric": (200, 40, 40), "porcini": (130, 90, 60)}


def write_demo_photos(root, counts=(("train", 24), ("val", 8), ("test", 8)), seed=0):
    rng = np.random.default_rng(seed)
    for split, n in counts:
        for name, colour in COLOURS.items():
            folder = root / split / name
            folder.mkdir(parents=True)
            for i in range(n):
                img = rng.integers(30, 90, (56, 56, 3)).astype("float32")
                img[14:42, 14:42] = np.array(colour) + rng.normal(0, 15, (28, 28, 3))
                Image.fromarray(img.clip(0, 255).astype("uint8")).save(folder / f"{i:03d}.jpg")
