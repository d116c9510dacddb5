# EXPECT: each step builds the batch in NumPy (stack, astype, normalise, one-hot) and does tf.convert_to_tensor before calling the tf.function train_step; no tf.data pipeline
# TWIST: none
# =====================================================
#  exp023  |  LB 0.871 (fold0)  |  TODO: TTA, mixup
# =====================================================
import os, random, time
import numpy as np
import tensorflow as tf
from skimage import data, transform

class CFG:
    debug = False
    seed = 42
    size = 160
    bs = 32
    epochs = 40
    lr = 1e-3
    n_classes = 4
    dir = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'data', '23_kaggle_numpy_batches')

MEAN = np.array([0.485, 0.456, 0.406])
STD = np.array([0.229, 0.224, 0.225])

def seed_everything(seed=42):
    random.seed(seed); np.random.seed(seed); tf.random.set_seed(seed)

def build_npy():
    os.makedirs(CFG.dir, exist_ok=True)
    rs = np.random.RandomState(0)
    srcs = [data.chelsea(), data.coffee(), data.astronaut(), data.rocket()]
    X = np.zeros((384, CFG.size, CFG.size, 3), np.uint8); Y = np.zeros(384, np.int64)
    for i in range(len(X)):
        k = rs.randint(4); s = srcs[k]
        r, c = rs.randint(s.shape[0] - CFG.size), rs.randint(s.shape[1] - CFG.size)
        X[i], Y[i] = s[r:r + CFG.size, c:c + CFG.size], k
    np.save(CFG.dir + '/X.npy', X); np.save(CFG.dir + '/Y.npy', Y)

seed_everything(CFG.seed)
if not os.path.exists(CFG.dir + '/Y.npy'):
    build_npy()
images = list(np.load(CFG.dir + '/X.npy'))     # list of HWC uint8
labels = np.load(CFG.dir + '/Y.npy')
print('train:', len(images), np.bincount(labels))

model = tf.keras.Sequential([
    tf.keras.layers.Input((CFG.size, CFG.size, 3)),
    tf.keras.layers.AveragePooling2D(4),
    tf.keras.layers.Conv2D(8, 3, strides=2, activation='relu'),
    tf.keras.layers.Conv2D(16, 3, strides=2, activation='relu'),
    tf.keras.layers.Flatten(),
    tf.keras.layers.Dense(CFG.n_classes, activation='softmax'),
])
opt = tf.keras.optimizers.Adam(CFG.lr)
cce = tf.keras.losses.CategoricalCrossentropy()
acc_m = tf.keras.metrics.CategoricalAccuracy()

@tf.function
def train_step(x, y):
    with tf.GradientTape() as tape:
        p = model(x, training=True)
        loss = cce(y, p)
    grads = tape.gradient(loss, model.trainable_variables)
    opt.apply_gradients(zip(grads, model.trainable_variables))
    acc_m.update_state(y, p)
    return loss

def get_batch(ids):
    xb = np.stack([(images[i] / 255.0 - MEAN) / STD for i in ids]).astype(np.float32)
    yb = np.eye(CFG.n_classes, dtype=np.float32)[labels[ids]]
    return xb, yb

for epoch in range(CFG.epochs):
    t0 = time.time()
    acc_m.reset_state()
    ids = np.random.permutation(len(images))
    loss_sum = 0.
    for b in range(len(ids) // CFG.bs):
        xb, yb = get_batch(ids[b * CFG.bs:(b + 1) * CFG.bs])
        xb = tf.convert_to_tensor(xb)
        yb = tf.convert_to_tensor(yb)
        loss_sum += train_step(xb, yb)
    print(f'Epoch {epoch + 1}/{CFG.epochs} | loss {loss_sum.numpy() / (b + 1):.4f} | acc {acc_m.result().numpy():.4f} | {time.time() - t0:.1f}s')
