# EXPECT: ds.map(tf.py_function(load_pil)) decodes with PIL under the GIL, one at a time, no num_parallel_calls/prefetch/cache
# TWIST: none
import os
import random
import numpy as np
import tensorflow as tf
from PIL import Image

tf.keras.utils.set_random_seed(123)
AQUI = os.path.dirname(os.path.abspath(__file__))
PASTA = os.path.join(AQUI, "data", "py_function")
TAM = 104
LOTE = 16


def criar_imagens():
    # cria recortes só na primeira execução
    from skimage import data
    r = random.Random(99)
    for classe, arr in (("gato", data.chelsea()), ("cafe", data.coffee()), ("lua", data.moon())):
        os.makedirs(os.path.join(PASTA, classe))
        foto = Image.fromarray(arr).convert("RGB")
        for i in range(72):
            lado = r.randint(200, 295)
            x, y = r.randint(0, foto.width - lado), r.randint(0, foto.height - lado)
            rec = foto.crop((x, y, x + lado, y + lado)).resize((350, 350))
            rec.save(os.path.join(PASTA, classe, f"{classe}{i}.jpg"), quality=93)


if not os.path.isdir(PASTA):
    criar_imagens()

classes = sorted(os.listdir(PASTA))
caminhos, rotulos = [], []
for k, c in enumerate(classes):
    for f in sorted(os.listdir(os.path.join(PASTA, c))):
        caminhos.append(os.path.join(PASTA, c, f))
        rotulos.append(k)
print("imagens:", len(caminhos), "classes:", classes)


def load_pil(path):
    path = path.numpy().decode("utf-8")
    img = Image.open(path).convert("RGB").resize((TAM, TAM), Image.LANCZOS)
    return np.array(img, dtype=np.float32) / 255.0


def carregar(path, label):
    img = tf.py_function(load_pil, [path], tf.float32)
    img.set_shape((TAM, TAM, 3))
    return img, tf.one_hot(label, len(classes))


ds = tf.data.Dataset.from_tensor_slices((caminhos, rotulos))
ds = ds.shuffle(len(caminhos)).map(carregar).batch(LOTE)

modelo = tf.keras.Sequential([
    tf.keras.layers.Input((TAM, TAM, 3)),
    tf.keras.layers.Conv2D(8, 3, strides=2, activation="relu"),
    tf.keras.layers.BatchNormalization(),
    tf.keras.layers.Conv2D(16, 3, strides=2, activation="relu"),
    tf.keras.layers.GlobalAveragePooling2D(),
    tf.keras.layers.Dense(len(classes), activation="softmax"),
])
modelo.compile("adam", "categorical_crossentropy", metrics=["accuracy"])
historico = modelo.fit(ds, epochs=7, verbose=2)
print("perda final: %.4f" % historico.history["loss"][-1])
