# EXPECT: Python generator train_generator() opens each PNG with PIL, appends to lists and yields np.array(list); fit() waits on it
# TWIST: the random horizontal flip also mirrors the regression label (cx -> 1-cx); dropping/moving the flip away from the label, or caching after it, is wrong
# ---- Kaggle: find the dot center, CV 0.0x ----
import os, random
import numpy as np
from PIL import Image, ImageDraw
import keras
from keras import layers as L

class CFG:
    seed = 2021
    size = 80
    bs = 12
    epochs = 6
    n = 180
    lr = 2e-3
    root = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'data', 'kaggle_lists')

def seed_everything(seed):
    random.seed(seed); np.random.seed(seed)
    keras.utils.set_random_seed(seed)

seed_everything(CFG.seed)

def prepare():
    csv = os.path.join(CFG.root, 'train.csv')
    if os.path.isfile(csv):
        return
    from skimage import data
    os.makedirs(os.path.join(CFG.root, 'images'), exist_ok=True)
    srcs = [Image.fromarray(a) for a in (data.astronaut(), data.hubble_deep_field(), data.coffee())]
    rng = random.Random(5)
    with open(csv, 'w') as f:
        f.write('id,cx,cy\n')
        for i in range(CFG.n):
            s = srcs[i % 3]
            w = rng.randint(230, 320)
            x0, y0 = rng.randint(0, s.width - w), rng.randint(0, s.height - w)
            im = s.crop((x0, y0, x0 + w, y0 + w))
            cx, cy = rng.uniform(.15, .85), rng.uniform(.15, .85)
            ImageDraw.Draw(im).ellipse([cx*w-22, cy*w-22, cx*w+22, cy*w+22], fill=(255, 40, 40))
            im.save(os.path.join(CFG.root, 'images', f'{i:04d}.png'))
            f.write(f'{i:04d},{cx:.5f},{cy:.5f}\n')

prepare()
rows = [l.strip().split(',') for l in open(os.path.join(CFG.root, 'train.csv'))][1:]
rows = [(r[0], float(r[1]), float(r[2])) for r in rows]

def train_generator(rows, bs):
    while 1:
        idx = np.random.permutation(len(rows))
        images, targets = [], []
        for i in idx:
            name, cx, cy = rows[i]
            img = Image.open(os.path.join(CFG.root, 'images', name + '.png')).convert('RGB')
            img = img.resize((CFG.size, CFG.size), Image.BILINEAR)
            img = np.asarray(img, dtype=np.float32) / 127.5 - 1.
            if np.random.rand() < 0.5:      # hflip
                img = img[:, ::-1]
                cx = 1. - cx
            images.append(img)
            targets.append([cx, cy])
            if len(images) == bs:
                yield np.array(images), np.array(targets, dtype=np.float32)
                images, targets = [], []

inp = L.Input((CFG.size, CFG.size, 3))
x = inp
for f in (8, 16, 24):
    x = L.Conv2D(f, 3, strides=2, padding='same', activation='relu')(x)
x = L.Flatten()(x)
x = L.Dense(32, activation='relu')(x)
out = L.Dense(2, activation='sigmoid')(x)
model = keras.Model(inp, out)
model.compile(keras.optimizers.Adam(CFG.lr), loss='mse', metrics=['mae'])
h = model.fit(train_generator(rows, CFG.bs), steps_per_epoch=len(rows)//CFG.bs, epochs=CFG.epochs, verbose=2)
print('=' * 30)
print(f"CV mae {h.history['mae'][-1]:.4f}")
