"""Inputs that give something else with every call, and such that do not: what may be kept of them.

The traps are scripts in which an edit that looks right would change what is trained on, or hold
more in memory than an epoch gives.
"""

import pytest

from causes._shared.test_input_reliefs import HEAD, reliefs
from quickfit.findings import FixClass

TOP = (
    HEAD
    + """\
import csv, datetime, glob, json, itertools, os, random, sqlite3, threading, time, zipfile
import albumentations as A
import cv2, h5py
from pathlib import Path
from scipy import ndimage
labels = [len(p) for p in paths]
state = {"epoch": 0}
scale = tf.Variable(1.0)
mean = np.zeros(3)
AUGS = [A.Flip(), A.Rotate()]
"""
)
LOAD = "def load(p):\n    return np.asarray(Image.open(p).resize((8, 8))) / 255.0\n"
STACK = "x = np.stack([load(p) for p in chosen[i : i + 8]])"


def lines(text, by):
    return "".join(f"{' ' * by}{line}\n" for line in text.splitlines())


def item(load=LOAD, *, take=STACK, beside=""):
    """Return a generator that draws an order, and makes batches of what a function reads."""
    return f"""\
{load}{beside}
def batches():
    while True:
        chosen = rng.permutation(paths)
        for i in range(0, len(chosen), 8):
{lines(take, 12)}\
            yield x + rng.normal(size=x.shape), x
model.fit(batches(), steps_per_epoch=len(paths) // 8, epochs=5)
"""


def body(text, **given):
    """Return the same with another body of `load`."""
    return item(f"def load(p):\n{lines(text, 4)}", **given)


def each(text, **given):
    """Return the same with what is done with each `load(p)`."""
    take = f"xs = []\nfor p in chosen[i : i + 8]:\n{lines(text, 4)}x = np.stack(xs)"
    return item(take=take, **given)


def rounds(text, *, beside=""):
    """Return a generator of endless rounds; the text is a round."""
    return (
        f"{beside}def batches():\n    while True:\n{lines(text, 8)}"
        "model.fit(batches(), steps_per_epoch=len(paths) // 8, epochs=5)\n"
    )


def sequence(get, *, init="", more="", above="", bases="keras.utils.PyDataset", made=""):
    """Return a PyDataset with the body of its `__getitem__`."""
    made = made or "data = Photos(paths)"
    return f"""\
{above}class Photos({bases}):
    def __init__(self, files):
        super().__init__()
        self.files = files
{lines(init, 8)}\
{lines(more, 4)}\
    def __len__(self):
        return len(self.files) // 8
    def __getitem__(self, i):
        part = self.files[8 * i : 8 * i + 8]
{lines(get, 8)}\
{made}
model.fit(data, epochs=5)
"""


def reading(text, **given):
    """Return a PyDataset whose items are changed by some code, or read by its own."""
    get = f"x = np.stack([np.load(p) for p in part])\n{text}\nreturn x, x"
    return sequence(get, **given)


def chain(text, functions=""):
    return f"{functions}ds = {text}\nmodel.fit(ds, epochs=5)\n"


GRAPH = "def load(p):\n    return tf.io.decode_jpeg(tf.io.read_file(p))\n"
SLICES = "Dataset.from_tensor_slices(paths)"


def graph(change):
    """Return a dataset whose map does something with an image."""
    return chain(
        f"{SLICES}.map(load, 4).batch(8)",
        f"def load(p):\n    x = tf.io.decode_jpeg(tf.io.read_file(p))\n{lines(change, 4)}"
        "    return x\n",
    )


def python(change, above="", **given):
    """Return a dataset whose map calls Python."""
    return chain(
        f"{SLICES}.map(f, 4).batch(8)",
        f"{above}def f(p):\n    return tf.numpy_function(g, [p], tf.float32)\n"
        f"def g(p):\n    x = np.load(p)\n{lines(change, 4)}    return x\n",
    )


def callback(text):
    return (
        "class Change(keras.callbacks.Callback):\n"
        f"    def on_epoch_end(self, epoch, logs=None):\n{lines(text, 8)}"
    )


JITTER = "def jitter(x):\n    return x + rng.normal()\n"
SOURCE = """\
class Source:
    def __getitem__(self, p):
        return np.load(p) * rng.random()
"""
READ = "x = np.load(p)\n"
KEEP = "x = load(p)\n"

# Nothing may be kept or spread that is said to give the same.
TRAPS = {
    # -- chance
    "numpy draws": body(READ + "return x + np.random.normal(size=3)"),
    "everything of random": body(
        READ + "return x * uniform(0, 1)", beside="from random import *\n"
    ),
    "random by another name": body(READ + "return x * rd.random()", beside="import random as rd\n"),
    "a function of random by another name": body(
        READ + "return x * r()", beside="from random import random as r\n"
    ),
    "a function of numpy's": body(
        READ + "return x + normal(size=3)", beside="from numpy.random import normal\n"
    ),
    "a module of numpy's": body(
        READ + "return x + R.normal(size=3)", beside="from numpy import random as R\n"
    ),
    "another name for drawing": body(
        READ + "return x + draw()", beside="draw = np.random.normal\n"
    ),
    "a generator as an argument": item(
        "def load(p, g):\n    return np.load(p) + g.normal(size=3)\n",
        take="x = np.stack([load(p, rng) for p in chosen[i : i + 8]])",
    ),
    "a generator as a default": item(
        "def load(p, g=rng):\n    return np.load(p) + g.normal(size=3)\n"
    ),
    "a generator in an object": reading(
        "x = x + self.rng.normal(size=3)", init="self.rng = np.random.default_rng(3)"
    ),
    "a generator in a local name": body("g = rng\n" + READ + "return x + g.normal(size=3)"),
    "a new generator without a seed": body(READ + "g = random.Random()\nreturn x + g.random()"),
    "a function given to map": body(READ + "return np.array(list(map(jitter, x)))", beside=JITTER),
    "a function given to numpy": body(READ + "return np.vectorize(jitter)(x)", beside=JITTER),
    "a function along an axis": body(
        READ + "return np.apply_along_axis(jitter, 0, x)", beside=JITTER
    ),
    "a partial function": body(
        READ + "g = functools.partial(jitter, x)\nreturn np.array(list(map(g, x)))", beside=JITTER
    ),
    "a bound method given to map": body(READ + "return x + list(map(rng.normal, x))"),
    "a library's function given to map": body(READ + "return x + list(map(np.random.normal, x))"),
    "a key that draws": body(READ + "return np.array(sorted(x, key=lambda v: rng.random()))"),
    "a key that is a function": body(
        READ + "return np.array(sorted(x, key=jitter))", beside=JITTER
    ),
    "a filter of scipy with a function": body(
        READ + "return ndimage.generic_filter(x, jitter, 3)", beside=JITTER
    ),
    "a sample of a table": body("import pandas as pd\nreturn pd.read_csv(p).sample(8).to_numpy()"),
    "cv2 draws": body("x = cv2.imread(p)\nreturn x + cv2.randn(x, 0, 1)"),
    "cv2 clusters": body("x = cv2.imread(p)\nreturn cv2.kmeans(x, 3, None, (1, 2, 3), 9, 0)[1]"),
    "half of them are flipped": rounds(
        "for p in paths:\n    x = np.load(p)\n    if random.random() < 0.5:\n"
        "        x = x[::-1]\n    yield x, x"
    ),
    "some are left out": rounds(
        "for p in paths:\n    x = np.load(p)\n    if np.random.rand() > 0.1:\n        yield x, x"
    ),
    "an early end by chance": rounds(
        "for p in paths:\n    x = np.load(p)\n    if rng.random() > 0.9:\n        break\n"
        "    yield x, x"
    ),
    "drawn elements": rounds(
        "for _ in range(9):\n    p = random.choice(paths)\n    x = np.load(p)\n    yield x, x"
    ),
    # -- augmenters
    "an augmenter that is called": body(
        'return transform(image=np.asarray(Image.open(p)))["image"]',
        beside="transform = A.Compose(AUGS)\n",
    ),
    "an augmenter in an object": reading(
        'x = self.transform(image=x)["image"]', init="self.transform = A.Compose(AUGS)"
    ),
    "an augmenter with the name of a method": reading(
        "x = self.transpose(x)", init="self.transpose = A.Compose(AUGS)"
    ),
    "an augmenter by its name": reading(
        'x = getattr(self, "aug").apply(x)', init="self.aug = A.Compose(AUGS)"
    ),
    "one of two augmenters": reading(
        "x = (self.one if i else self.two).apply(x)", init="self.one = self.two = A.Flip()"
    ),
    "augmenters in a loop": reading(
        "for a in self.augs:\n    x = a.apply(x)", init="self.augs = AUGS"
    ),
    "augmenters in a comprehension": reading("x = np.stack([a.apply(x) for a in AUGS])"),
    "augmenters in a lambda": reading("x = functools.reduce(lambda im, a: a.apply(im), AUGS, x)"),
    "augmenters in a dictionary": reading('x = {"a": AUGS[0]}["a"].apply(x)'),
    "an augmenter that a function gives": reading(
        "x = pick(0).apply(x)", above="def pick(i):\n    return AUGS[i]\n"
    ),
    "an augmenter that a function gives a name": reading(
        "a = pick(0)\nx = a.apply(x)", above="def pick(i):\n    return AUGS[i]\n"
    ),
    "an augmenter in a with": reading("with AUGS[0] as a:\n    x = a.apply(x)"),
    "an augmenter as an argument": reading(
        "x = turned(x, AUGS[0])", above="def turned(x, a):\n    return a.rotate(x)\n"
    ),
    "an object of the script": reading(
        "x = self.jitter.apply(x)",
        init="self.jitter = Jitter()",
        above="class Jitter:\n    def apply(self, x):\n        return x + rng.normal()\n",
    ),
    "an object that is indexed": sequence(
        "return np.stack([self.source[p] for p in part]), np.ones(8)",
        init="self.source = Source()",
        above=SOURCE,
    ),
    "an object of unknown origin that is indexed": sequence(
        "return np.stack([SOURCES[0][p] for p in part]), np.ones(8)",
        above=SOURCE + "SOURCES = [Source()]\n",
    ),
    "an object that is read": rounds(
        "for p in source:\n    x = np.load(p)\n    yield x, x",
        beside="class Source:\n    def __iter__(self):\n"
        "        return iter(rng.permutation(paths))\n"
        "source = Source()\n",
    ),
    "a wrapped PyDataset": sequence(
        "x, y = self.inner[i]\nreturn x, y",
        init="self.inner = Inner()",
        above="class Inner(keras.utils.PyDataset):\n    def __getitem__(self, i):\n"
        "        return np.load(paths[i]) * rng.random(), 1\n",
    ),
    # -- classes
    "a property that draws": reading(
        "x = x * self.gain", more="@property\ndef gain(self):\n    return rng.random()"
    ),
    "an attribute that is computed": reading(
        "x = x * self.gain", more="def __getattr__(self, name):\n    return rng.random()"
    ),
    "a method that a subclass overrides": reading(
        "x = self.change(x)",
        more="def change(self, x):\n    return x",
        made="class Mine(Photos):\n    def change(self, x):\n        return x + rng.normal()\n"
        "data = Mine(paths)",
    ),
    "an inherited method": reading(
        "x = self.change(x)",
        above="class Mixin:\n    def change(self, x):\n        return x + rng.normal()\n",
        bases="Mixin, keras.utils.PyDataset",
    ),
    "what the class above gives": sequence(
        "x, y = super().__getitem__(i)\nreturn x, y",
        above="class Base(keras.utils.PyDataset):\n    def __getitem__(self, i):\n"
        "        return np.load(paths[i]) * rng.random(), 1\n",
        bases="Base",
    ),
    "a decorated class": reading("x = x + 1", above="@changed\n").replace(
        "@changed\n",
        "def changed(c):\n    c.__getitem__ = lambda self, i: rng.random(3)\n    return c\n"
        "@changed\n",
    ),
    "a method that is replaced": reading(
        "x = x + 1", made="data = Photos(paths)\nPhotos.__getitem__ = lambda self, i: rng.random(3)"
    ),
    "a decorated function": item("@noisy\n" + LOAD, beside="").replace(
        "@noisy", "def noisy(f):\n    return lambda p: f(p) + rng.normal()\n@noisy"
    ),
    # -- state
    "a global number": body(
        READ + "return x * epoch",
        beside="epoch = 0\ndef advance():\n    global epoch\n    epoch += 1\n",
    ),
    "a global counter": body("global n\nn += 1\n" + READ + "return x + n", beside="n = 0\n"),
    "a list of what was read": body("seen.append(p)\n" + READ + "return x", beside="seen = []\n"),
    "a table that a callback changes": body(
        READ + 'return x * state["epoch"]', beside=callback('state["epoch"] = epoch')
    ),
    "a variable that a function sets": body(
        READ + "return x * scale", beside=callback("keras.backend.set_value(scale, epoch)")
    ),
    "an attribute of a class": body(
        READ + "return x * Config.level",
        beside="class Config:\n    level = 0\n" + callback("Config.level = epoch"),
    ),
    "an attribute by its name": body(
        READ + "return x * cfg.level",
        beside="cfg = make()\n" + callback('setattr(cfg, "level", epoch)'),
    ),
    "a setting in a setting": reading(
        "x = x * self.cfg.level",
        init="self.cfg = cfg",
        above="cfg = make()\n" + callback("cfg.level = epoch"),
    ),
    "a setting of the class": reading(
        "x = x * type(self).level", above=callback("Photos.level = epoch")
    ),
    "a setting by another name": reading(
        "c = self.cfg\nx = x * c.level",
        init="self.cfg = cfg",
        above="cfg = make()\n" + callback("cfg.level = epoch"),
    ),
    "what the model says": reading("y = model.predict(x)\nx = x + y"),
    "an attribute that is set by its name": reading(
        "x = x * self.k",
        init="self.k = 1",
        more="def on_epoch_end(self):\n    setattr(self, 'k', 2)",
    ),
    "an attribute in the dictionary": reading(
        "x = x * self.k",
        init="self.k = 1",
        more="def on_epoch_end(self):\n    self.__dict__.update(k=2)",
    ),
    "a file that may be there": body(
        READ + 'return x * 2 if os.path.exists("hard") else x',
        beside=callback('open("hard", "w").close()'),
    ),
    "a path that may be there": body(
        READ + 'return x * 2 if Path("hard").exists() else x',
        beside=callback('Path("hard").touch()'),
    ),
    "pixels that are spread": body("return np.asarray(Image.open(p).effect_spread(3))"),
    "an epoch of its own": reading(
        "x = x * self.epoch",
        init="self.epoch = 0",
        more="def on_epoch_end(self):\n    self.epoch += 1",
    ),
    "an epoch that a callback sets": reading(
        "x = x * self.level", init="self.level = 0", above=callback("data.level = epoch")
    ),
    "an order of each epoch": reading(
        "x = x[self.order]",
        init="self.order = np.arange(8)",
        more="def on_epoch_end(self):\n    np.random.shuffle(self.order)",
    ),
    "an order that a function shuffles": reading(
        "x = x[self.order]",
        init="self.order = np.arange(8)",
        above="def mix(values):\n    random.shuffle(values)\n",
        more="def on_epoch_end(self):\n    mix(self.order)",
    ),
    "a list that a function shuffles": rounds(
        "for p in paths:\n    x = np.load(p)\n    yield x, x",
        beside="def mix(values):\n    random.shuffle(values)\n" + callback("mix(paths)"),
    ),
    "a list that a callback holds": rounds(
        "for p in paths:\n    x = np.load(p)\n    yield x, x",
        beside="class Mix(keras.callbacks.Callback):\n    def __init__(self, names):\n"
        "        self.names = names\n    def on_epoch_end(self, epoch, logs=None):\n"
        "        random.shuffle(self.names)\nmix = Mix(paths)\n",
    ),
    "a list that a callback holds, of an object": reading(
        "x = x + 1",
        above="class Mix(keras.callbacks.Callback):\n    def __init__(self, names):\n"
        "        self.names = names\n    def on_epoch_end(self, epoch, logs=None):\n"
        "        random.shuffle(self.names)\nmix = Mix(paths)\n",
    ),
    "a number in a closure": "def make():\n    k = 0\n    def load(p):\n        nonlocal k\n"
    "        k += 1\n        return np.load(p) * k\n    return load\nload = make()\n" + item(""),
    "a buffer of a function": body(
        READ + "b = buffer()\nb.append(x)\nreturn np.stack(b)",
        beside="held = []\ndef buffer():\n    return held\n",
    ),
    "an array of a function": body(
        READ + "b = buffer()\nb += x\nreturn b.copy()",
        beside="held = np.zeros(3)\ndef buffer():\n    return held\n",
    ),
    "numpy writes into what is outside": body(
        READ + "np.add.at(held, 0, x)\nreturn held.copy()", beside="held = np.zeros(3)\n"
    ),
    "an iterator": body("return np.load(next(names))", beside="names = iter(paths)\n"),
    "a generator that is consumed": body(
        READ + "return x + [v for v in values][:1]", beside="values = (len(p) for p in paths)\n"
    ),
    "a queue": body(
        "return np.load(jobs.get(timeout=3))", beside="import queue\njobs = queue.Queue()\n"
    ),
    "a table that grows by lookups": graph("x = x + table.lookup(x)").replace(
        "def load",
        "table = tf.lookup.experimental.MutableHashTable(tf.int64, tf.int64, 0)\n"
        + callback("table.insert(1, epoch)")
        + "def load",
        1,
    ),
    # -- the world outside
    "the clock": body(READ + "return x * time.time()"),
    "the date": body(READ + "return x * datetime.datetime.now().second"),
    "an environment variable": body(READ + 'return x * float(os.environ["LEVEL"])'),
    "an environment variable by a call": body(READ + 'return x * float(os.getenv("LEVEL"))'),
    "a database": body(
        'return np.array(db.execute("select x from t").fetchone())',
        beside='db = sqlite3.connect("a.db")\n',
    ),
    "a server": body("import requests\nreturn np.array(requests.get(p).json())"),
    "a directory that fills": rounds(
        'for p in sorted(Path("new").glob("*.npy")):\n    x = np.load(p)\n    yield x, x'
    ),
    "a directory that is read": rounds(
        'for p in Path("new").iterdir():\n    x = np.load(p)\n    yield x, x'
    ),
    "a directory by glob": rounds(
        'for p in glob.glob("new/*"):\n    x = np.load(p)\n    yield x, x'
    ),
    "a file that a callback writes": body(
        READ + 'return x * np.load("weights.npy")',
        beside=callback('np.save("weights.npy", epoch)'),
    ),
    "a text that a callback writes": body(
        READ + 'return x * json.load(open("level.json"))',
        beside=callback('json.dump(epoch, open("level.json", "w"))'),
    ),
    "images that a callback writes": item(beside=callback("Image.new('L', 3).save(paths[0])")),
    "it prints": body("print(p)\n" + READ + "return x"),
    # -- what callers do with a result
    "it is written into": each(KEEP + "x[0] = 0\nxs.append(x)"),
    "it is scaled in place": each(KEEP + "x -= mean\nxs.append(x)"),
    "a view of it is changed": each("x = np.expand_dims(load(p), 0)\nx -= mean\nxs.append(x)"),
    "the same array by asarray": each("x = np.asarray(load(p))\nx -= mean\nxs.append(x)"),
    "a flipped view is changed": each(KEEP + "y = x.T\ny[0] = 0\nxs.append(y)"),
    "out=": each(KEEP + "np.add(x, 1, out=x)\nxs.append(x)"),
    "a helper writes into it": each(
        KEEP + "blur(x)\nxs.append(x)", beside="def blur(x):\n    x[0] = 0\n"
    ),
    "elements of a list of them": each("xs.append(load(p))").replace(
        "x = np.stack",
        "for k in range(8):\n    xs[k] -= mean\nx = np.stack".replace("\n", "\n" + " " * 12),
    ),
    "an element of a list": item(
        take="xs = [None] * 8\nfor k in range(8):\n    xs[k] = load(chosen[k])\n    xs[k] -= mean\n"
        "x = np.stack(xs)"
    ),
    "a list that is given": item(
        "def load(p):\n    return [float(v) for v in open(p)]\n",
        take="x = load(chosen[i])\nx.append(1)\nx = np.array(x)",
    ),
    "a dictionary that is given": item(
        "def load(p):\n    return {'x': np.load(p)}\n",
        take="d = load(chosen[i])\nd['x'] = d['x'] + rng.normal()\nx = d['x']",
    ),
    "it is passed to map elsewhere": item(
        beside="def warm():\n    for x in map(load, paths):\n        x += 1\n"
    ),
    "a copy of its name": item(beside="read = load\ndef warm():\n    x = read('a')\n    x += 1\n"),
    "a method that changes": each(KEEP + "x.sort()\nxs.append(x)"),
    "a file that stays open": body("image = Image.open(p)\nreturn image"),
    "a reader that is used up": body("rows = csv.reader(open(p))\nreturn rows"),
    "a reader that is given at once": body("return csv.reader(open(p))"),
    # -- arguments
    "a number that grows": each(
        "n += 1\nxs.append(load(p, n))",
        load="n = 0\ndef load(p, n=0):\n    return np.load(p) * int(n)\n",
    ).replace("    while True", "    n = 0\n    while True"),
    "the number of the round": item("def load(p, k):\n    return np.load(p) * int(k)\n")
    .replace("while True", "for k in range(999)")
    .replace("load(p) for", "load(p, k) for"),
    "two drawn elements": item(
        "def load(p, q):\n    return np.load(p) + np.load(q)\n",
        take="x = load(random.choice(paths), random.choice(paths))",
    ),
    "a part of a text": item(
        "def load(t):\n    return np.array([ord(c) for c in t.lower()])\n",
        take="k = rng.integers(9)\nx = load(text[k : k + 9]) + 1",
        beside="text = open('a.txt').read()\n",
    ),
    "a random argument of a helper": item(
        "def load(p, k):\n    return np.load(p) * int(k)\n"
        "def make(p, k):\n    x = load(p, k)\n    return x * 2\n",
        take="x = np.stack([make(p, rng.integers(9999)) for p in chosen[i : i + 8]])",
    ),
    "rows of an array": item(
        "def load(row):\n    return np.sort(row) + 1\n",
        take="x = np.stack([load(r) for r in table[i : i + 8]])",
        beside="table = np.load('a.npy')\n",
    ),
    "a list as an argument": item(
        "def load(ps):\n    return np.stack([np.load(p) for p in ps])\n",
        take="part = [p for p in chosen[i : i + 8]]\nx = load(part) + 1",
    ),
    # -- sizes
    "a part by steps": each(KEEP + "y = x[::4, ::4]\nxs.append(y)"),
    "one frame of many": each(KEEP + "y = x[rng.integers(9)]\nxs.append(y)"),
    "a mean of all": each(KEEP + "y = x.mean(axis=0)\nxs.append(y)"),
    "a part of the batch": item(take=STACK + "\nx = x[:, :2, :2]"),
    "a mean of the batch": item(take=STACK + "\nx = x.mean(axis=(1, 2))"),
    "a mean of the difference": item(
        take="x = np.stack([(load(p) - mean).mean(axis=0) for p in chosen[i : i + 8]])"
    ),
    "a function that crops": item(
        take=STACK + "\nx = cut(x)", beside="def cut(x):\n    return x[:, 2:4]\n"
    ),
    "resized batches": item(take=STACK + "\nx = tf.image.resize(x, (8, 8)).numpy()"),
    "a round without end": rounds(
        "while True:\n    for p in paths:\n        x = np.load(p)\n        yield x, x"
    ),
    "a round of an endless generator": rounds(
        "for p in forever():\n    x = np.load(p)\n    yield x, x",
        beside="def forever():\n    while True:\n        for p in paths:\n            yield p\n",
    ),
    "a round of a flow without end": rounds(
        "for x, y in flow:\n    yield x / 255.0, y",
        beside="datagen = keras.preprocessing.image.ImageDataGenerator()\n"
        'flow = datagen.flow_from_directory("a")\n',
    ),
    "a round of a generator that is given": rounds(
        "for x, y in given:\n    yield x / 255.0, y",
        beside="def forever():\n    while True:\n        yield np.load('a'), 1\n"
        "given = forever()\n",
    ),
    "a round of parts of an iterator": rounds(
        "for p in itertools.islice(given, 9):\n    x = np.load(p)\n    yield x, 1",
        beside="given = iter(paths)\n",
    ),
    "an endless generator in a dataset": chain(
        "Dataset.from_generator(rows, output_types=tf.float32).batch(8)",
        "def rows():\n    while True:\n        for p in paths:\n            yield np.load(p)\n",
    ),
    "objects of each fold": reading(
        "x = x + 1", made="for fold in range(5):\n    data = Photos(paths)\n    model.fit(data)"
    ).replace("model.fit(data, epochs=5)\n", ""),
    "a length that grows": reading(
        "x = x + 1", init="self.n = 1", more="def on_epoch_end(self):\n    self.n += 1"
    ).replace("len(self.files) // 8", "self.n"),
    "an object that has no hash": reading(
        "x = x + 1", more="def __eq__(self, other):\n    return True"
    ),
    # -- batches that share memory
    "it is changed after it was given": rounds(
        "for p in paths:\n    x = np.load(p)\n    yield x, 1\n    x *= -1\n    yield x, 0"
    ),
    "one buffer": rounds(
        "for p in paths:\n    held[:] = np.load(p)\n    yield held, 1",
        beside="held = np.zeros(3)\n",
    ),
    "a view of one buffer": "def batches():\n    held = np.zeros((2, 3))\n    while True:\n"
    "        for p in paths:\n            x = held[0]\n            x[:] = np.load(p)\n"
    "            yield x, 1\nmodel.fit(batches(), steps_per_epoch=len(paths) // 8, epochs=5)\n",
    # -- tf.data
    "tf.random": graph("x = x + tf.random.normal((3,))"),
    "a random crop": graph("x = tf.image.random_crop(x, (8, 8, 3))"),
    "a random flip": graph("x = tf.image.random_flip_left_right(x)"),
    "a random box": graph("x = tf.image.sample_distorted_bounding_box(tf.shape(x), [[[0.0]]])[0]"),
    "a pool at random places": graph("x = tf.nn.fractional_max_pool(x, (1, 1.4, 1.4, 1))[0]"),
    "seeds of a generator": graph(
        "x = tf.image.stateless_random_flip_left_right(x, seeds.make_seeds(2)[0])"
    ),
    "a variable": graph("x = x * scale").replace(
        "def load", callback("scale.assign(epoch)") + "def load", 1
    ),
    "a layer": graph("x = flip(x, training=True)").replace(
        "def load", "flip = keras.layers.RandomFlip()\ndef load", 1
    ),
    "random numbers of Keras": graph("x = x + keras.random.normal((3,))"),
    "Python that draws": python("x = x + np.random.normal()"),
    "Python that counts": python("state['n'] += 1"),
    "Python that augments": python('x = AUGS[0](image=x)["image"]'),
    "a shuffled dataset that is zipped": chain(
        f"Dataset.zip(({SLICES}.shuffle(9), Dataset.range(9))).map(load, 4).batch(8)",
        "def load(p, n):\n    return tf.io.decode_jpeg(tf.io.read_file(p)), n\n",
    ),
    "a shuffled dataset that is zipped, by name": f"base = {SLICES}.shuffle(9)\n"
    + chain(
        "Dataset.zip((base, Dataset.range(9))).map(load, 4).batch(8)",
        "def load(p, n):\n    return tf.io.decode_jpeg(tf.io.read_file(p)), n\n",
    ),
    "random numbers that are zipped": chain(
        f"Dataset.zip(({SLICES}, Dataset.random(rerandomize_each_iteration=True))).map(load, 4)",
        "def load(p, n):\n    return tf.io.decode_jpeg(tf.io.read_file(p)), n\n",
    ),
    "records of shuffled files": 'files = Dataset.list_files("*.rec")\n'
    + chain(
        "tf.data.TFRecordDataset(files).map(load, 4).batch(8)",
        "def load(r):\n    return tf.io.decode_jpeg(r)\n",
    ),
    "any order is allowed": chain(f"{SLICES}.map(load, 4, deterministic=False).batch(8)", GRAPH),
    "any order is allowed by an option": "options = tf.data.Options()\n"
    "options.deterministic = False\n"
    + chain(f"{SLICES}.map(load, 4).with_options(options).batch(8)", GRAPH),
    "another part in each epoch": chain(
        f"{SLICES}.shuffle(9).take(4).map(load, 4).batch(8)", GRAPH
    ),
    "it goes on where it was": chain(f"{SLICES}.repeat().map(load, 4).batch(8)", GRAPH),
    "only a part is read": chain(f"{SLICES}.map(load, 4).skip(4).batch(8)", GRAPH),
    "a part of each machine": chain(f"{SLICES}.map(load, 4).shard(2, 0).batch(8)", GRAPH),
    "a state in the pipeline": chain(
        f"{SLICES}.scan(0, lambda s, p: (s + 1, p)).map(load, 4).batch(8)", GRAPH
    ),
    "batches of mixed elements": chain(f"{SLICES}.shuffle(9).batch(8).map(load, 4)", GRAPH),
    "some are filtered by chance": chain(
        f"{SLICES}.filter(lambda p: tf.random.uniform(()) > 0.5).map(load, 4).batch(8)", GRAPH
    ),
}


# What they give may not be kept, but made on threads.
SPREADABLE = ("objects of each fold", "a length that grows", "an object that has no hash")


@pytest.mark.parametrize("name", TRAPS)
def test_nothing_is_offered_as_the_same_where(name):
    offered = [
        after
        for one, after in reliefs(TRAPS[name], head=TOP)
        if one.change.kind is FixClass.SAME_RESULTS and (one.keeps or name not in SPREADABLE)
    ]
    assert offered == []


OPEN = "x = np.stack([self.file[p] for p in part])\nreturn x, x"
# Threads would read from the same place, or write to it.
SHARED = {
    "an open HDF5 file": sequence(OPEN, init='self.file = h5py.File("a.h5")'),
    "an HDF5 file of the script": sequence(
        OPEN.replace("self.file", "store"), above='store = h5py.File("a.h5")\n'
    ),
    "an archive": sequence(
        "x = np.stack([np.frombuffer(self.zip.read(p)) for p in part])\nreturn x, x",
        init='self.zip = zipfile.ZipFile("a.zip")',
    ),
    "a database": sequence(
        'x = np.array(self.db.execute("select 1").fetchall())\nreturn x, x',
        init='self.db = sqlite3.connect("a.db")',
    ),
    "a file": sequence(
        "self.file.seek(i)\nx = np.frombuffer(self.file.read(9))\nreturn x, x",
        init='self.file = open("a.bin", "rb")',
    ),
    "a video": sequence(
        "x = self.video.read()[1]\nreturn x, x", init='self.video = cv2.VideoCapture("a.mp4")'
    ),
    "an iterator": sequence(
        "x = np.load(next(self.it))\nreturn x, x", init="self.it = iter(files)"
    ),
    "a buffer": sequence(
        "self.x[:] = np.load(part[0])\nreturn self.x, 1", init="self.x = np.zeros(3)"
    ),
    "a buffer that a method fills": sequence(
        "self.fill(part)\nreturn self.x, 1",
        init="self.x = np.zeros(3)",
        more="def fill(self, part):\n    self.x[0] = len(part)",
    ),
    "a counter": sequence("self.n += 1\nx = np.load(part[0])\nreturn x, self.n", init="self.n = 0"),
    "a list": sequence(
        "self.seen.append(i)\nx = np.load(part[0])\nreturn x, x", init="self.seen = []"
    ),
    "a global": sequence("global n\nn = i\nx = np.load(part[0])\nreturn x, n", above="n = 0\n"),
    "a file for a moment": sequence(
        'cv2.imwrite("now.png", np.load(part[0]))\nx = cv2.imread("now.png")\nreturn x, x'
    ),
    "a model": sequence("x = np.load(part[0])\nreturn x, model.predict(x)"),
    "a file that a method opens": sequence(
        OPEN, init="self.file = None", more='def open(self):\n    self.file = h5py.File("a.h5")'
    ),
}


@pytest.mark.parametrize("name", SHARED)
def test_no_threads_share(name):
    assert all(one.keeps for one, _ in reliefs(SHARED[name], head=TOP))


def test_no_threads_share_a_file_in_a_map():
    text = python("x = x + store[0]", 'store = h5py.File("a.h5")\n').replace("f, 4", "f")
    assert all(one.keeps for one, _ in reliefs(text, head=TOP))


CACHED = "@functools.cache\n"
# What is right is offered: the text that the edit adds.
RIGHT = {
    "items of a generator": (item(), CACHED + "def load"),
    "items that are appended": (each("xs.append(load(p))"), CACHED + "def load"),
    "items with a name": (each(KEEP + "xs.append(x + rng.normal())"), CACHED + "def load"),
    "items in an array": (
        item(take="x = np.empty((8, 8))\nfor k in range(8):\n    x[k] = load(chosen[i + k])"),
        CACHED + "def load",
    ),
    "items of a file of text": (
        body("with open(p) as f:\n    return np.array([float(v) for v in f])"),
        CACHED + "def load",
    ),
    "items with pairs of arguments": (
        item(
            "def load(p, n):\n    return np.load(p) * int(n)\n",
            take="x = np.stack([load(p, n) for p, n in zip(chosen, labels)])",
        ),
        CACHED + "def load",
    ),
    "items through a helper": (
        item(LOAD + "def make(p):\n    x = load(p)\n    return x * rng.random()\n").replace(
            "load(p) for", "make(p) for"
        ),
        CACHED + "def load",
    ),
    "items with a function given to map": (
        body(
            READ + "return np.array(list(map(half, x)))",
            beside="def half(x):\n    return x / 2\n",
        ),
        CACHED + "def load",
    ),
    "files that were written before": (
        item(
            beside="def prepare():\n    for p in paths:\n        Image.new('L', 9).save(p)\n"
            "prepare()\n"
        ),
        CACHED + "def load",
    ),
    "a callback that writes something else": (
        item(beside=callback('open("log.txt", "a").write("epoch")')),
        CACHED + "def load",
    ),
    "rounds": (
        rounds("for p in paths:\n    x = np.load(p)\n    yield x, x.mean()"),
        "kept = []",
    ),
    "rounds of parts": (
        rounds(
            "for i in range(0, len(paths), 8):\n    xs = [np.load(p) for p in paths[i : i + 8]]\n"
            "    yield np.stack(xs), np.array(labels[i : i + 8])"
        ),
        "kept = []",
    ),
    "rounds in an order": (
        rounds("for p in sorted(paths, key=len):\n    x = np.load(p)\n    yield x, x"),
        "kept = []",
    ),
    "a PyDataset": (reading("x = x / 255.0"), "@functools.cache\n    def __getitem__"),
    "threads of a PyDataset": (reading("x = x / 255.0"), "data.workers = 4"),
    "a PyDataset with its method": (
        reading("x = self.half(x)", more="def half(self, x):\n    return x / 2"),
        "@functools.cache\n    def __getitem__",
    ),
    "items of a PyDataset that shuffles": (
        sequence(
            "return np.stack([self.read(p) for p in part]), np.ones(8)",
            more="def read(self, p):\n    return np.sort(np.load(p))\n"
            "def on_epoch_end(self):\n    random.shuffle(self.files)",
        ),
        "@functools.cache\n    def read",
    ),
    "a dataset": (chain(f"{SLICES}.map(load, 4).batch(8)", GRAPH), ".cache()"),
    "a dataset with stateless numbers": (
        graph("x = tf.image.stateless_random_flip_left_right(x, (1, 2))"),
        ".cache()",
    ),
    "a dataset of Python": (python("x = np.sort(x)"), ".cache()"),
    "a dataset of a generator": (
        chain(
            "Dataset.from_generator(rows, output_types=tf.float32).batch(8)",
            "def rows():\n    for p in paths:\n        yield np.load(p)\n",
        ),
        ".cache()",
    ),
    "a dataset of records": (
        chain(
            "tf.data.TFRecordDataset(paths).map(load, 4).shuffle(9).batch(8)",
            "def load(r):\n    return tf.io.decode_jpeg(r)\n",
        ),
        ".cache()",
    ),
}


@pytest.mark.parametrize("name", RIGHT)
def test_what_gives_the_same_is_offered(name):
    text, added = RIGHT[name]
    offered = [
        after for one, after in reliefs(text, head=TOP) if one.change.kind is FixClass.SAME_RESULTS
    ]
    assert any(added in after for after in offered)


def test_threads_are_offered_where_only_numbers_are_drawn():
    ((one, _),) = reliefs(reading("x = x + rng.normal(size=3)"), head=TOP)
    assert one.change.kind is FixClass.MAY_CHANGE_RESULTS


def test_every_trap_is_a_script():
    for text in (*TRAPS.values(), *SHARED.values(), *(text for text, _ in RIGHT.values())):
        compile(TOP + text, "train.py", "exec")
