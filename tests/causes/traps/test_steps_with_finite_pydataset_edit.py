"""Edits that give every epoch its steps."""

import textwrap

import pytest

from quickfit.causes.traps.steps_with_finite_pydataset.edit import (
    all_of_the_data,
    endless_generator,
    repeated_data,
)
from quickfit.code import Module
from quickfit.code.edits import apply_edits
from quickfit.findings import FixClass


def changed(recognise, text):
    text = textwrap.dedent(text)
    script = Module("train.py", text)
    line = next(number for number, row in enumerate(script.lines, start=1) if "fit(" in row)
    change = recognise(script, line)
    assert change is None or change.kind is FixClass.REPAIRS
    return change and apply_edits(text, change.edits)


@pytest.mark.parametrize(
    ("before", "wanted"),
    [
        ("m.fit(data, steps_per_epoch=75, epochs=9)\n", "m.fit(data, epochs=9)\n"),
        ("m.fit(data, epochs=9, steps_per_epoch=len(x) // 32)\n", "m.fit(data, epochs=9)\n"),
        ("m.fit(\n    data,\n    steps_per_epoch=self.steps,\n    epochs=9,  # long\n)\n",
         "m.fit(\n    data,\n    epochs=9,  # long\n)\n"),
    ],
)  # fmt: skip
def test_an_epoch_takes_all_of_the_data(before, wanted):
    assert changed(all_of_the_data, before) == wanted


def test_a_call_without_the_number_is_left_alone():
    assert changed(all_of_the_data, "m.fit(data, epochs=9)\n") is None
    assert changed(all_of_the_data, "m.fit(data, **options)\n") is None


@pytest.mark.parametrize(
    ("before", "wanted"),
    [
        ("m.fit(ds, steps_per_epoch=9)\n", "m.fit(ds.repeat(), steps_per_epoch=9)\n"),
        ("m.fit(load(1), steps_per_epoch=9)\n", "m.fit(load(1).repeat(), steps_per_epoch=9)\n"),
        ("m.fit(x=self.train, steps_per_epoch=9)\n",
         "m.fit(x=self.train.repeat(), steps_per_epoch=9)\n"),
    ],
)  # fmt: skip
def test_a_dataset_begins_again(before, wanted):
    assert changed(repeated_data, before) == wanted


GENERATOR = '''\
def batches(x, size):
    """Yield all rows once."""
    order = np.arange(len(x))
    for i in range(0, len(x), size):
        rows = order[i : i + size]
        yield x[rows], y[rows]


m.fit(batches(x, 32), steps_per_epoch=9, epochs=3)
'''


def test_a_generator_goes_on_for_ever():
    assert changed(endless_generator, GENERATOR) == GENERATOR.replace(
        """\
    for i in range(0, len(x), size):
        rows = order[i : i + size]
        yield x[rows], y[rows]
""",
        """\
    while True:
        for i in range(0, len(x), size):
            rows = order[i : i + size]
            yield x[rows], y[rows]
""",
    )


def test_a_generator_with_a_name_goes_on_for_ever():
    text = GENERATOR.replace("m.fit(batches(x, 32)", "gen = batches(x, 32)\nm.fit(gen")
    assert "    while True:\n" in changed(endless_generator, text)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(GENERATOR.replace("range(0, len(x), size)", "reader"),
                     id="what it goes through may be used up"),
        pytest.param(GENERATOR.replace("steps_per_epoch=9, ", ""), id="an epoch would never end"),
        pytest.param(GENERATOR + "for b in batches(x, 1): pass\n", id="it is used elsewhere"),
        pytest.param(GENERATOR.replace("        yield", "        if rows:\n            yield"),
                     id="it may yield nothing"),
        pytest.param(GENERATOR.replace("yield", "if done:\n            return\n        yield"),
                     id="it ends on purpose"),
        pytest.param("m.fit(gen, steps_per_epoch=9)\n", id="it is unknown"),
    ],
)  # fmt: skip
def test_a_generator_is_left_alone_where(text):
    assert changed(endless_generator, text) is None
