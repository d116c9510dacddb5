"""Edits of the size of a batch."""

import textwrap

import pytest

from quickfit.code.batch_size import Size, larger_batch
from quickfit.code.edits import apply_edits
from quickfit.code.program import Program
from quickfit.findings import FixClass


def changed(text, method="fit", examples=2, word=None, **others):
    texts = {"train.py": text, **{f"{name}.py": other for name, other in others.items()}}
    found = Program(texts={name: textwrap.dedent(text) for name, text in texts.items()})
    script = found.find_module("train.py")
    word = word or f"{method}("
    line = next(number for number, row in enumerate(script.lines, start=1) if word in row)
    change = larger_batch(script, line, Size(method, examples, 32), found)
    if change is None:
        return None
    assert change.kind is FixClass.MAY_CHANGE_RESULTS
    return "".join(
        apply_edits(found.find_module(file).text, [e for e in change.edits if e.file == file])
        for file in change.files
    )


@pytest.mark.parametrize(
    ("before", "wanted"),
    [
        ("m.fit(x, y, batch_size=2)\n", "m.fit(x, y, batch_size=32)\n"),
        ("m.fit(x, y, 2)\n", "m.fit(x, y, 32)\n"),
        ("BATCH = 2  # small\nm.fit(x, y, batch_size=BATCH)\n",
         "BATCH = 32  # small\nm.fit(x, y, batch_size=BATCH)\n"),
        ("BATCH = 2\nm.fit(x, y, batch_size=BATCH, steps_per_epoch=len(x) // BATCH)\n",
         "BATCH = 32\nm.fit(x, y, batch_size=BATCH, steps_per_epoch=len(x) // BATCH)\n"),
        ("p.add_argument('--batch-size', default=2)\nargs = p.parse_args()\n"
         "m.fit(x, batch_size=args.batch_size)\n",
         "p.add_argument('--batch-size', default=32)\nargs = p.parse_args()\n"
         "m.fit(x, batch_size=args.batch_size)\n"),
        ("p.add_argument('-b', '--batch', default=2)\nargs = p.parse_args()\n"
         "m.fit(x, batch_size=args.batch)\nm.predict(x, batch_size=args.batch)\n",
         "p.add_argument('-b', '--batch', default=32)\nargs = p.parse_args()\n"
         "m.fit(x, batch_size=args.batch)\nm.predict(x, batch_size=args.batch)\n"),
        ("@dataclass\nclass C:\n    batch: int = 2\nc = C()\nm.fit(x, batch_size=c.batch)\n",
         "@dataclass\nclass C:\n    batch: int = 32\nc = C()\nm.fit(x, batch_size=c.batch)\n"),
        ("class T:\n    size = 2\n    def go(self):\n        m.fit(x, batch_size=self.size)\n",
         "class T:\n    size = 32\n    def go(self):\n        m.fit(x, batch_size=self.size)\n"),
    ],
)  # fmt: skip
def test_the_number_is_changed_where_it_is_written(before, wanted):
    assert changed(before) == wanted


def test_the_batch_of_a_dataset_is_larger():
    assert changed("ds = ds.shuffle(9).batch(2).prefetch(1)\n", "batch") == (
        "ds = ds.shuffle(9).batch(32).prefetch(1)\n"
    )


def test_the_number_is_found_in_a_file_of_settings():
    text = 'from config import CFG\nm.fit(x, y, batch_size=CFG["batch"])\n'
    assert changed(text, config='CFG = {"rows": 9, "batch": 2}\n') == (
        'CFG = {"rows": 9, "batch": 32}\n'
    )


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("m.fit(x, y, batch_size=4)\n", id="another number was seen"),
        pytest.param("m.fit(x, y)\n", id="no number is given"),
        pytest.param("m.fit(x, batch_size=n // 2)\n", id="it is worked out"),
        pytest.param("n = 2\nm.fit(x, batch_size=n)\nprint(n * 3)\n", id="it is more than a size"),
        pytest.param("m.fit(x, batch_size=2, steps_per_epoch=50)\n", id="steps are counted"),
        pytest.param("L.LSTM(8, stateful=True)\nm.fit(x, batch_size=2)\n", id="states are kept"),
        pytest.param(
            "Input(batch_shape=(2, 8))\nm.fit(x, batch_size=2)\n", id="the model is fixed"
        ),
        pytest.param("m.fit(x, **options)\n", id="the arguments are in a dict"),
    ],
)
def test_a_batch_is_left_alone_where(text):
    assert changed(text) is None
