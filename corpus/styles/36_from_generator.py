# EXPECT: tf.data.Dataset.from_generator(gen) yields one PIL-decoded image at a time from Python; no parallel map, no cache
# TWIST: none
# coding: utf-8

# In[1]:
import os, pathlib
import numpy as np
import tensorflow as tf
from PIL import Image
import skimage.data
print("TF", tf.__version__)

# In[2]:
# 数据准备: 从 skimage 图片裁剪
base_dir = pathlib.Path(os.path.abspath(__file__)).parent / "data" / "from_generator"
if not base_dir.exists():
    base_dir.mkdir(parents=True)
    n = 0
    for lab, a in enumerate([skimage.data.coffee(), skimage.data.rocket(), skimage.data.camera(), skimage.data.moon()]):
        big = Image.fromarray(a).convert("RGB")
        for j in range(55):
            s = np.random.randint(220, 390)
            x = np.random.randint(0, big.size[0] - s)
            y = np.random.randint(0, big.size[1] - s)
            big.crop((x, y, x + s, y + s)).save(base_dir / ("%d_%05d.png" % (lab, n)))
            n += 1

# In[3]:
all_paths = [str(p) for p in base_dir.glob("*.png")]
all_paths.sort()
all_labels = [int(os.path.basename(p)[0]) for p in all_paths]
len(all_paths), all_labels[:5]

# In[4]:
SZ = 90

def gen():
    # 每个样本逐个读取
    for p, l in zip(all_paths, all_labels):
        im = Image.open(p)
        im = im.resize((SZ, SZ))
        arr = np.array(im).astype("float32") / 255.0
        yield arr, l

# In[5]:
ds = tf.data.Dataset.from_generator(
    gen,
    output_signature=(
        tf.TensorSpec(shape=(SZ, SZ, 3), dtype=tf.float32),
        tf.TensorSpec(shape=(), dtype=tf.int32),
    ),
)
ds = ds.shuffle(220).batch(16)
for xb, yb in ds.take(1):
    print(xb.shape, yb.numpy())

# In[6]:
model = tf.keras.models.Sequential([
    tf.keras.layers.Input(shape=(SZ, SZ, 3)),
    tf.keras.layers.Conv2D(8, (3, 3), strides=2, activation="relu"),
    tf.keras.layers.MaxPooling2D(2),
    tf.keras.layers.Conv2D(16, (3, 3), activation="relu"),
    tf.keras.layers.Flatten(),
    tf.keras.layers.Dropout(0.3),
    tf.keras.layers.Dense(4),
])
model.compile(optimizer="adam",
              loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
              metrics=["accuracy"])

# In[7]:
hist = model.fit(ds, epochs=5)

# In[8]:
print(hist.history["accuracy"])
