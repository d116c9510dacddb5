"""Code that gives the same whenever it is run, and code that does not."""

import ast
import textwrap

import pytest

from quickfit.code import Program
from quickfit.code.purity import Purity

HEAD = """\
import json
import os
import random
import time
import cv2
import numpy as np
import tensorflow as tf
from PIL import Image, ImageOps
SIZE = (64, 64)
paths = sorted(os.listdir("."))
means = np.zeros(3)
table = {}
rng = np.random.default_rng(0)
counter = tf.Variable(0)
"""


def is_pure(text, name="f"):
    text = HEAD + textwrap.dedent(text)
    program = Program(texts={"train.py": text})
    module = program.find_module("train.py")
    function = next(f for f in module.all(ast.FunctionDef) if f.name == name)
    return Purity(program).is_pure(module, function)


@pytest.mark.parametrize(
    "text",
    [
        "def f(path):\n    return np.asarray(Image.open(path).convert('RGB')) / 255.0\n",
        "def f(p):\n    with Image.open(p) as image:\n        image = ImageOps.fit(image, SIZE)\n"
        "        return np.array(image)\n",
        "def f(path):\n    image = cv2.imread(path)\n    image = cv2.cvtColor(image, 4)\n"
        "    return cv2.resize(image, SIZE) - means\n",
        "def f(p):\n    with open(p) as lines:\n        return [json.loads(l) for l in lines]\n",
        "def f(ids):\n    out = np.zeros((4, 9))\n    for t, c in enumerate(ids):\n"
        "        out[t, c] = 1\n    return out\n",
        "def f(x):\n    x = x - x.mean()\n    power = np.fft.rfft(x) ** 2\n    return power\n",
        "def f(i):\n    found = []\n    for p in paths[i : i + 4]:\n        found.append(len(p))\n"
        "    found.sort()\n    return found\n",
        "def f(x):\n    return g(x) + 1\ndef g(x):\n    return np.sqrt(x)\n",
        "def f(path):\n    raw = tf.io.read_file(path)\n    image = tf.io.decode_jpeg(raw)\n"
        "    return tf.image.resize(image, SIZE) / 255.0\n",
        "def f(x):\n    y = tf.py_function(g, [x], tf.int64)\n    y.set_shape(3)\n    return y\n"
        "def g(x):\n    return np.sort(x)\n",
        "def f(text):\n    return [table.get(w, 0) for w in text.lower().split()]\n",
        "def f(x, stride=SIZE[0]):\n    return x[::stride].reshape(-1, 2).astype('float32')\n",
    ],
)
def test_is_steady(text):
    assert is_pure(text)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("def f(x):\n    return x + np.random.normal(size=3)\n", id="draws"),
        pytest.param("def f(x):\n    return x + rng.normal(size=3)\n", id="draws from a generator"),
        pytest.param("def f(x):\n    return random.choice(x)\n", id="draws in Python"),
        pytest.param(
            "def f(x):\n    return tf.image.random_crop(x, (3,))\n", id="draws in a graph"
        ),
        pytest.param("def f(x):\n    return tf.nn.dropout(x, 0.5)\n", id="drops out"),
        pytest.param("def f(x):\n    return x, time.time()\n", id="asks the clock"),
        pytest.param("def f(x):\n    x -= means\n    return x\n", id="writes into its argument"),
        pytest.param("def f(x):\n    x[0] = 1\n    return x\n", id="writes an element"),
        pytest.param("def f(x):\n    y = x.reshape(-1)\n    y[0] = 1\n    return y\n", id="a view"),
        pytest.param("def f(x):\n    y = np.asarray(x)\n    y += 1\n    return y\n", id="asarray"),
        pytest.param("def f(x):\n    for row in x:\n        row *= 2\n    return x\n", id="rows"),
        pytest.param("def f(x):\n    np.clip(x, 0, 1, out=x)\n    return x\n", id="out="),
        pytest.param(
            "def f(x):\n    cv2.circle(x, (1, 1), 2, 3)\n    return x\n", id="draws on it"
        ),
        pytest.param("def f(x):\n    table[x] = 1\n    return 1\n", id="writes a global"),
        pytest.param("def f(x):\n    paths.append(x)\n    return 1\n", id="appends to a global"),
        pytest.param("def f(x):\n    return paths.pop()\n", id="takes from a global"),
        pytest.param("def f(x):\n    global n\n    n = 1\n    return n\n", id="global"),
        pytest.param("def f(x):\n    f.calls += 1\n    return x\n", id="its own attribute"),
        pytest.param("def f(x):\n    return model.predict(x)\n", id="a model"),
        pytest.param(
            "def f(x):\n    return augment(x)\naugment = make()\n", id="an unknown object"
        ),
        pytest.param("def f(x):\n    return augment(image=x)\n", id="an unknown function"),
        pytest.param("def f(x):\n    return jobs.get()\njobs = make()\n", id="a queue"),
        pytest.param(
            "def f(x):\n    return jobs.get(True)\njobs = make()\n", id="a queue that blocks"
        ),
        pytest.param("def f(x):\n    return next(it)\nit = iter(paths)\n", id="an iterator"),
        pytest.param("def f(x):\n    return log.readline()\nlog = open('a')\n", id="an open file"),
        pytest.param(
            "def f(x):\n    open('log', 'a').write(x)\n    return x\n", id="writes a file"
        ),
        pytest.param("def f(x):\n    np.save('a.npy', x)\n    return x\n", id="saves"),
        pytest.param("def f(x):\n    print(x)\n    return x\n", id="prints"),
        pytest.param(
            "def f(x):\n    return g(x)\ndef g(x):\n    return x * rng.random()\n", id="inner"
        ),
        pytest.param("async def g():\n    pass\ndef f(x):\n    return g()\n", id="async"),
        pytest.param("def f(x):\n    counter.assign_add(1)\n    return x\n", id="a variable"),
        pytest.param(
            "def f(x):\n    return x * counter\nclass C:\n    def on_epoch_end(self):\n"
            "        counter.assign(2)\n",
            id="a variable that a callback sets",
        ),
        pytest.param(
            "def f(x):\n    return x * means\ndef g():\n    means[0] += 1\n", id="changed elsewhere"
        ),
        pytest.param(
            "def f(x):\n    return x * table['s']\ndef g():\n    table.update(s=2)\n", id="updated"
        ),
        pytest.param(
            "def f(i):\n    return paths[i]\ndef g():\n    random.shuffle(paths)\n", id="shuffled"
        ),
        pytest.param(
            "def f(i):\n    return paths[i]\ndef g():\n    p = paths\n    random.shuffle(p)\n",
            id="shuffled by another name",
        ),
        pytest.param(
            "def f(i):\n    return paths[i]\nfor epoch in range(9):\n    random.shuffle(paths)\n"
            "    model.fit(f)\n",
            id="shuffled in the training loop",
        ),
        pytest.param(
            "def f(x):\n    return x * scale\nscale = 1\nmodel.fit(f)\nscale = 2\nmodel.fit(f)\n",
            id="set anew between two trainings",
        ),
        pytest.param(
            "def f(x):\n    return x * cfg.scale\ncfg = make()\ndef g():\n    cfg.scale = 3\n",
            id="a setting that is changed",
        ),
        pytest.param(
            "def g():\n    scale = 1.0\n    def f(x):\n        return x * scale\n"
            "    while True:\n        yield f(1)\n        scale *= 0.9\n",
            id="a closure over what changes",
        ),
        pytest.param(
            "class D:\n    def __init__(self):\n        self.n = 0\n    def f(self, i):\n"
            "        self.n += 1\n        return self.n\n",
            id="counts its calls",
        ),
        pytest.param(
            "class D:\n    def __init__(self):\n        self.order = [1]\n    def f(self, i):\n"
            "        return self.order[i]\n    def on_epoch_end(self):\n"
            "        np.random.shuffle(self.order)\n",
            id="an order that is shuffled",
        ),
        pytest.param(
            "class D:\n    def __init__(self):\n        self.order = [1]\n    def f(self, i):\n"
            "        return self.order[i]\n    def on_epoch_end(self):\n        o = self.order\n"
            "        np.random.shuffle(o)\n",
            id="an order that is shuffled by another name",
        ),
        pytest.param(
            "class D:\n    def __init__(self):\n        self.order = [1]\n    def f(self, i):\n"
            "        return self.order[i]\n    def on_epoch_end(self):\n"
            "        self.order = np.random.permutation(9)\n",
            id="an order that is made anew",
        ),
        pytest.param(
            "class D:\n    @property\n    def size(self):\n        return rng.integers(9)\n"
            "    def f(self, i):\n        return np.zeros(self.size)\n",
            id="a property that draws",
        ),
        pytest.param(
            "class D:\n    def f(self, i):\n        return self.aug(i)\n",
            id="an object's own function",
        ),
        pytest.param(
            "class D:\n    def f(self, i):\n        return self.aug.transform(i)\n",
            id="a method of an object",
        ),
        pytest.param(
            "def f(x):\n    df.drop(x, inplace=True)\n    return df\ndf = make()\n", id="inplace"
        ),
    ],
)
def test_is_not_steady_where(text):
    assert not is_pure(text)


def test_a_method_of_the_same_class_is_followed():
    text = """
    class D:
        def __init__(self, files):
            self.files = files
            self.size = 64
        def read(self, path):
            return np.asarray(Image.open(path).resize((self.size, self.size)))
        def f(self, i):
            return np.stack([self.read(p) for p in self.files[i * 8 : i * 8 + 8]])
    """
    assert is_pure(text)
    assert not is_pure(text.replace("np.asarray(", "rng.random() * np.asarray("))
