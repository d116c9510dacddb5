import glob
import os
import random

import numpy as np
from PIL import Image, ImageEnhance, ImageFilter

from config import N_FILES, SIZE


def ensure_faces(folder):
    os.makedirs(folder, exist_ok=True)
    if len(glob.glob(folder + "/*.jpg")) >= N_FILES:
        return
    r = np.random.RandomState(0)
    for i in range(N_FILES):
        base = r.randint(0, 255, (12, 12, 3), dtype=np.uint8)
        Image.fromarray(base).resize((256, 256), Image.BICUBIC).save(f"{folder}/{i:04d}.jpg", quality=88)


def load_one(path):
    im = Image.open(path).convert("RGB")
    if random.random() < 0.5:
        im = im.transpose(Image.FLIP_LEFT_RIGHT)
    im = ImageEnhance.Color(im).enhance(random.uniform(0.7, 1.3))
    im = im.filter(ImageFilter.GaussianBlur(random.uniform(0, 1.5)))
    im = im.rotate(random.uniform(-8, 8), resample=Image.BICUBIC)
    im = im.resize((SIZE, SIZE), Image.LANCZOS)
    return np.asarray(im, dtype=np.float32) / 127.5 - 1.0


def faces(folder):
    files = sorted(glob.glob(folder + "/*.jpg"))
    while True:
        random.shuffle(files)
        for f in files:
            yield load_one(f)
