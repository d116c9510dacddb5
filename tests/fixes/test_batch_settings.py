"""More examples per step, wherever their number comes from."""

import textwrap

import pytest

from quickfit.findings import FixClass
from quickfit.fixes.batch_settings import with_batch
from quickfit.fixes.batch_sizes import Size
from quickfit.fixes.change import patched
from quickfit.fixes.script import Project


def made(text, word, *, method="batch", examples=32, **others):
    """Return all texts after a change of the line that has a word, or why it is left alone."""
    files = {"train.py": text, **{f"{name}.py": other for name, other in others.items()}}
    found = Project({name: textwrap.dedent(one) for name, one in files.items()})
    script = found.script("train.py")
    line = next(number for number, one in enumerate(script.lines, 1) if word in one)
    change = with_batch(script, line, Size(method, examples, 2 * examples), found)
    if isinstance(change, str):
        return change
    assert change.kind is FixClass.MAY_CHANGE_RESULTS
    assert "learning rate" in change.note
    scripts = [found.script(file) for file in found.files]
    own = {s.file: [e for e in change.edits if e.file == s.file] for s in scripts}
    return "".join(patched(script.text, own[script.file]) for script in scripts)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("ds = ds.batch(32)\n", "ds = ds.batch(64)\n"),
        ("B = 32\nds = ds.batch(B)\n", "B = 64\nds = ds.batch(B)\n"),
        ("ds = ds.shuffle(9).batch(32, True)\n", "ds = ds.shuffle(9).batch(64, True)\n"),
    ],
)
def test_a_number_that_is_written_becomes_larger(before, after):
    assert made(before, ".batch(") == after


def test_a_constant_of_another_file_becomes_larger():
    text = "from settings import BATCH\nds = ds.batch(BATCH)\n"
    assert made(text, ".batch(", settings="BATCH = 32\n") == f"{text}BATCH = 64\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("m.fit(x, y)\n", "m.fit(x, y, batch_size=64)\n"),
        ("m.fit(x, y, epochs=3)\n", "m.fit(x, y, epochs=3, batch_size=64)\n"),
        ("m.fit(x, y, batch_size=32)\n", "m.fit(x, y, batch_size=64)\n"),
        ("m.fit(x, y, 32)\n", "m.fit(x, y, 64)\n"),
    ],
)
def test_arrays_are_fed_in_larger_batches(before, after):
    assert made(before, "fit(", method="fit") == after


@pytest.mark.parametrize(
    ("before", "after", "examples"),
    [
        (
            'ds = keras.utils.image_dataset_from_directory("d")\n',
            'ds = keras.utils.image_dataset_from_directory("d", batch_size=64)\n',
            32,
        ),
        (
            'ds = keras.utils.image_dataset_from_directory("d", batch_size=16)\n',
            'ds = keras.utils.image_dataset_from_directory("d", batch_size=32)\n',
            16,
        ),
        (
            "ds = timeseries_dataset_from_array(x, y, 9)\n",
            "ds = timeseries_dataset_from_array(x, y, 9, batch_size=256)\n",
            128,
        ),
    ],
)
def test_functions_that_make_batches_are_asked_for_larger_ones(before, after, examples):
    assert made(before, "dataset_from", examples=examples) == after


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("ds = ds.batch(size(32))\n", id="worked out"),
        pytest.param("ds = ds.batch(16)\n", id="another number than was seen"),
        pytest.param("ds = ds.batch(*given)\n", id="not named"),
        pytest.param("N = 32\nprint(N)\nds = ds.batch(N)\n", id="a constant that says more"),
    ],
)
def test_what_is_not_certain_is_told(text):
    assert made(text, ".batch(") == (
        f"where the 32 examples per step of train.py:{text.count(chr(10))} come from is not"
        " certain: write 64 there by hand"
    )


def test_a_fit_of_something_else_than_arrays_gets_no_batch_size():
    assert made("m.fit(gen)\n", "fit(", examples=8, method="fit").startswith("where the 8 examples")


def test_a_model_for_one_size_of_batch_is_told():
    text = "keras.Input(batch_shape=(32, 4))\nds = ds.batch(32)\n"
    assert made(text, ".batch(") == (
        "the model is made for batches of one size (`batch_shape`, `stateful`)"
    )


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("B = 32\nm.fit(ds.batch(B), steps_per_epoch=100)\n", id="a number"),
        pytest.param("B = 32\nS = 9\nm.fit(ds.batch(B), steps_per_epoch=S)\n", id="a constant"),
    ],
)
def test_a_fixed_number_of_steps_is_told(text):
    said = made(text, ".batch(")
    assert said.startswith("`steps_per_epoch` at train.py:")
    assert said.endswith("so that an epoch would have more examples")


@pytest.mark.parametrize(
    "text",
    [
        "BATCH = 32\nm.fit(ds.batch(BATCH), steps_per_epoch=N // BATCH)\n",
        "BATCH = 32\nS = len(x) // BATCH\nm.fit(ds.batch(BATCH), steps_per_epoch=S)\n",
        "BATCH = 32\nm.fit(ds.batch(BATCH), steps_per_epoch=None)\n",
    ],
)
def test_a_number_of_steps_that_follows_the_size_is_no_obstacle(text):
    assert made(text, ".batch(") == text.replace("32", "64")
