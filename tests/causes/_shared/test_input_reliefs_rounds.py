"""What an edited input gives is bit by bit what it gave before, also in later epochs."""

import itertools
import random
from types import SimpleNamespace

import numpy as np
import pytest

from quickfit.causes._shared.input_reliefs import reliefs_of
from quickfit.code import Program
from quickfit.code.edits import apply_edits

HEAD = """\
import keras
import numpy as np
import random
rng = np.random.default_rng(0)
table = rng.normal(size=(64, 6))
names = [str(n) for n in range(64)]
model = keras.Sequential([])
model.compile("adam", "mse")
"""
GENERATOR = """\
def batches():
    while True:
        xs = []
        for name in names:
            xs.append(np.sort(table[int(name)]))
            if len(xs) == 8:
                yield np.stack(xs), np.sum(xs, axis=1)
                xs = []
model.fit(batches(), steps_per_epoch=len(names) // 8, epochs=3)
"""
AUGMENTED = """\
def load(name):
    row = np.sort(table[int(name)])
    return (row - row.min()) / (row.max() - row.min())

def batches(size=8):
    order = list(names)
    while True:
        random.shuffle(order)
        for k in range(0, len(order), size):
            x = np.empty((size, 6))
            for j, name in enumerate(order[k : k + size]):
                x[j] = load(name)
                if random.random() < 0.5:
                    x[j] = x[j, ::-1]
            yield x, x[:, 0]
model.fit(batches(), steps_per_epoch=len(names) // 8, epochs=3)
"""
SEQUENCE = """\
class Rows(keras.utils.PyDataset):
    def __init__(self, names):
        self.names = names
    def __len__(self):
        return len(self.names) // 8
    def row(self, name):
        return np.cumsum(table[int(name)])
    def __getitem__(self, i):
        return np.stack([self.row(n) for n in self.names[8 * i : 8 * i + 8]]), np.ones(8)
data = Rows(names)
model.fit(data, epochs=3)
"""
SHUFFLED = SEQUENCE.replace(
    "data = ", "    def on_epoch_end(self):\n        random.shuffle(self.names)\ndata = "
)


def batches_of(source):
    """Run a script; return what a training of three epochs takes of its input."""
    taken = []

    def fit(data, *, steps_per_epoch=0, epochs):
        for _ in range(epochs):
            if hasattr(data, "__getitem__"):
                taken.extend(data[i] for i in range(len(data)))
                getattr(data, "on_epoch_end", lambda: None)()
            else:
                taken.extend(itertools.islice(data, steps_per_epoch))

    model = SimpleNamespace(fit=fit, compile=lambda *given: None)
    stand_in = SimpleNamespace(
        utils=SimpleNamespace(PyDataset=object), Sequential=lambda layers: model
    )
    random.seed(5)
    exec(source.replace("import keras\n", ""), {"keras": stand_in})
    return [(x.tobytes(), y.tobytes()) for x, y in taken]


@pytest.mark.parametrize(
    ("text", "keeps"),
    [
        pytest.param(GENERATOR, "kept = []", id="batches of a generator"),
        pytest.param(AUGMENTED, "@functools.cache\ndef load", id="items of a generator"),
        pytest.param(SEQUENCE, "@functools.cache\n    def __getitem__", id="batches by number"),
        pytest.param(SHUFFLED, "@functools.cache\n    def row", id="items that are shuffled"),
    ],
)
def test_three_epochs_are_the_same(text, keeps):
    source = HEAD + text
    program = Program(texts={"train.py": source})
    module = program.find_module("train.py")
    (fit,) = module.calls("fit")
    relief = next(r for r in reliefs_of(program, module, fit.args[0], cores=2) if r.keeps)
    edited = apply_edits(source, relief.change.edits)
    assert keeps in edited
    before = batches_of(source)
    assert len(before) == 24
    assert len(set(before)) > 8 or text in (GENERATOR, SEQUENCE)
    assert batches_of(edited) == before
    assert not np.isnan(np.frombuffer(before[0][0])).any()
