# EXPECT: train_gen() (Python while-True generator for fit) re-opens every photo with PIL in each epoch, NEAREST resize and mean subtraction per image in NumPy
# TWIST: none
import os, csv, gc, random, time, warnings
warnings.filterwarnings('ignore')
os.environ['TF_CPP_MIN_LOG_LEVEL'] = '2'

import numpy as np
import tensorflow as tf
import tensorflow.keras.backend as K
from PIL import Image
from skimage import data as D


class CFG:
    name = 'exp005_zoom'
    seed = 2024
    img_size = 96
    bs = 8
    epochs = 20
    lr = 1e-3
    root = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'data', '05_kaggle_zoom_regression')
    mean = np.array([123.68, 116.779, 103.939], dtype=np.float32)


def seed_everything(s):
    random.seed(s)
    np.random.seed(s)
    tf.random.set_seed(s)
    os.environ['PYTHONHASHSEED'] = str(s)


def make_input():
    os.makedirs(CFG.root + '/train_images')
    g = np.random.RandomState(11)
    srcs = [Image.fromarray(D.astronaut()), Image.fromarray(D.coffee()), Image.fromarray(D.chelsea()), Image.fromarray(D.rocket())]
    with open(CFG.root + '/train.csv', 'w', newline='') as f:
        w = csv.writer(f)
        w.writerow(['image_id', 'zoom'])
        for i in range(320):
            s = srcs[i % 4]
            side = g.randint(100, 290)
            x, y = g.randint(0, s.width - side), g.randint(0, s.height - side)
            s.crop((x, y, x + side, y + side)).resize((500, 500), Image.BICUBIC).save(f'{CFG.root}/train_images/{i:05d}.jpg', quality=94)
            w.writerow([f'{i:05d}.jpg', round(500 / side, 4)])


if not os.path.exists(CFG.root + '/train.csv'):
    make_input()

seed_everything(CFG.seed)

with open(CFG.root + '/train.csv') as f:
    train_df = list(csv.DictReader(f))   # no pandas here :(
print(len(train_df), train_df[:2])


def load(image_id):
    img = Image.open(f'{CFG.root}/train_images/{image_id}')
    img = img.resize((CFG.img_size, CFG.img_size), Image.NEAREST)
    return np.array(img, dtype=np.float32) - CFG.mean


def train_gen():
    idx = np.arange(len(train_df))
    while True:
        np.random.shuffle(idx)
        for b in range(len(idx) // CFG.bs):
            ii = idx[b * CFG.bs:(b + 1) * CFG.bs]
            yield (np.array([load(train_df[i]['image_id']) for i in ii]),
                   np.array([float(train_df[i]['zoom']) for i in ii], dtype=np.float32))


def get_model():
    inp = tf.keras.layers.Input((CFG.img_size, CFG.img_size, 3))
    x = tf.keras.layers.Conv2D(8, 5, strides=4, activation='relu')(inp)
    x = tf.keras.layers.Conv2D(16, 3, strides=2, activation='relu')(x)
    x = tf.keras.layers.GlobalAveragePooling2D()(x)
    x = tf.keras.layers.Dense(16, activation='relu')(x)
    out = tf.keras.layers.Dense(1)(x)
    m = tf.keras.models.Model(inp, out)
    m.compile(optimizer=tf.keras.optimizers.Adam(CFG.lr), loss='mse', metrics=['mae'])
    return m


K.clear_session()
model = get_model()
t0 = time.time()
hist = model.fit(train_gen(), steps_per_epoch=len(train_df) // CFG.bs, epochs=CFG.epochs, verbose=2)
print(f"{CFG.name}: mae={hist.history['mae'][-1]:.4f}  ({time.time() - t0:.0f}s)")
del model
gc.collect()
