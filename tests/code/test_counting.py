"""Numbers of samples and batches that the text has."""

import pytest

from quickfit.code.counting import Counting, batches_of

from programs import program_of

HEAD = """
import math
import numpy as np
import keras
rng = np.random.default_rng(0)
n = 40
class Batches(keras.utils.PyDataset):
    def __init__(self, x, size=8):
        self.x, self.size = x, size
    def __len__(self):
        return int(np.ceil(len(self.x) / float(self.size)))
steps = len(np.zeros(n)) // 8
class Windows(keras.utils.PyDataset):
    def __init__(self, series, width=5):
        self.starts = np.arange(len(series) - width)
class Twice(keras.utils.PyDataset):
    def __init__(self, series):
        self.starts = np.arange(len(series))
    def on_epoch_end(self):
        self.starts = self.starts[::2]
class Fixed(keras.utils.PyDataset):
    def __len__(self):
        return -(-n // 7)
class Cut(Batches):
    def __init__(self, x, size=8):
        x = x[:9]
        self.x, self.size = x, size
class Other(Batches):
    def __len__(self):
        x = load()
        return len(x)
class Open(Batches):
    def __len__(self):
        count = len(self.x)
        return count // self.size
"""


def asked(expression):
    program = program_of(f"{HEAD}\nuse({expression})\n")
    module = program.module("/project/train.py")
    return program, module, module.calls("use")[0].args[0]


@pytest.mark.parametrize(
    ("expression", "length"),
    [
        ("np.zeros((30, 4))", 30),
        ("np.ones(n * 2)", 80),
        ("np.random.rand(50, 3).astype('float32')", 50),
        ("np.random.randint(0, 2, size=n)", 40),
        ("rng.random((n, 2))", 40),
        ("rng.normal(size=(12, 2))", 12),
        ("np.arange(9)", 9),
        ("list(range(9))", 9),
        ("[i for i in range(n)]", 40),
        ("[1, 2, 3]", 3),
        ("np.sin(np.arange(n) / 9) + 0.1 * rng.normal(size=n)", 40),
        ("2 * np.arange(9)", 9),
        ("np.arange(9) + np.arange(1)", None),
        ("[1, 2] + [3]", None),
        ("list(range(9)) * 2", None),
        ("np.arange(9) + unknown", None),
        ("Windows(np.zeros(30)).starts", 25),
        ("Windows(unknown).starts", None),
        ("Twice(np.zeros(30)).starts", None),
        ("[i for i in range(n) if i]", None),
        ("np.load('x.npy')", None),
        ("unknown", None),
    ],
)
def test_knows_how_long_data_is(expression, length):
    program, module, node = asked(expression)
    assert Counting(program, module).length(node) == length


@pytest.mark.parametrize(
    ("expression", "number"),
    [
        ("len(np.zeros((30, 4))) // 8", 3),
        ("np.zeros((30, 4)).shape[0] - 1", 29),
        ("math.ceil(n / 7)", 6),
        ("max(1, n // 100)", 1),
        ("steps", 5),
        ("n / 0", None),
        ("len(unknown) // 8", None),
        ("int(unknown)", None),
    ],
)
def test_computes_with_lengths(expression, number):
    program, module, node = asked(expression)
    assert Counting(program, module).number(node) == number


@pytest.mark.parametrize(
    ("expression", "batches"),
    [
        ("Batches(np.zeros((30, 4)))", 4),
        ("Batches(np.zeros((30, 4)), size=10)", 3),
        ("Batches(x=np.zeros((n, 4)), size=n)", 1),
        ("Fixed()", 6),
        ("Batches(unknown)", None),
        ("Open(np.zeros((30, 4)))", None),
        ("Cut(np.zeros((30, 4)))", None),
        ("Other(np.zeros((30, 4)))", None),
    ],
)
def test_asks_a_dataset_class_for_its_length(expression, batches):
    program, module, node = asked(expression)
    assert batches_of(program, program.only(module, node)) == batches
