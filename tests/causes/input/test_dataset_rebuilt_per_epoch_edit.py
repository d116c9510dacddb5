import pytest

from quickfit.causes.input.dataset_rebuilt_per_epoch.edit import built_once
from quickfit.code import Module
from quickfit.code.edits import apply_edits
from quickfit.findings import FixClass


def change(text, line, *, is_random=True):
    scripts = [Module("train.py", text)]
    return built_once(scripts, file="train.py", line=line, is_random=is_random)


def after(text, line):
    found = change(text, line)
    return apply_edits(text, found.edits) if found is not None else None


IN_LOOP = """\
import tensorflow as tf

EPOCHS = 3
for epoch in range(EPOCHS):
    # the data
    ds = tf.data.Dataset.from_tensor_slices(lines).map(parse).cache()
    ds = ds.shuffle(60).batch(2)

    model.fit(ds, initial_epoch=epoch, epochs=epoch + 1)
"""


def test_statements_move_before_the_loop():
    assert (
        after(IN_LOOP, 6)
        == """\
import tensorflow as tf

EPOCHS = 3
# the data
ds = tf.data.Dataset.from_tensor_slices(lines).map(parse).cache()
ds = ds.shuffle(60).batch(2)
for epoch in range(EPOCHS):
    model.fit(ds, initial_epoch=epoch, epochs=epoch + 1)
"""
    )


FOR_EACH = """\
import tensorflow as tf


def training_set(n):
    return tf.data.Dataset.from_tensor_slices(rows).map(lambda x: x + 1).batch(n)


def train(n):
    for epoch in range(3):
        for step, x in enumerate(training_set(n)):
            learn(x)
"""


def test_what_a_loop_reads_is_made_before_the_loop_around_it():
    assert after(FOR_EACH, 10).endswith("""\
def train(n):
    dataset = training_set(n)
    for epoch in range(3):
        for step, x in enumerate(dataset):
            learn(x)
""")


def test_what_fit_is_given_is_made_before_the_loop():
    text = "for k in range(3):\n    model.fit(tf.data.Dataset.range(9).batch(2), verbose=0)\n"
    assert after(text, 2) == (
        "dataset = tf.data.Dataset.range(9).batch(2)\n"
        "for k in range(3):\n    model.fit(dataset, verbose=0)\n"
    )


IN_FUNCTION = """\
from source import make_data


def one_epoch(number):
    batches = make_data(32)
    for x, y in batches:
        step(x, y)


for n in range(28):
    one_epoch(n)
"""


def test_a_function_that_a_loop_calls_is_given_the_dataset():
    source = Module(
        "source.py", "def make_data(n):\n    return tf.data.Dataset.range(9).batch(n)\n"
    )
    scripts = [Module("train.py", IN_FUNCTION), source]
    found = built_once(scripts, file="train.py", line=5, is_random=True)
    assert (
        apply_edits(IN_FUNCTION, found.edits)
        == """\
from source import make_data


def one_epoch(number, batches):
    for x, y in batches:
        step(x, y)


batches = make_data(32)
for n in range(28):
    one_epoch(n, batches)
"""
    )


def test_only_random_pipelines_may_change_results():
    assert change(IN_LOOP, 6).kind is FixClass.MAY_CHANGE_RESULTS
    assert change(IN_LOOP, 6, is_random=False).kind is FixClass.SAME_RESULTS


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param("batch(2)", "batch(2 + epoch)", id="the loop's own number"),
        pytest.param("(lines)", "(np.random.permutation(lines))", id="numbers drawn anew"),
        pytest.param("(lines)", "(rng.permutation(lines))", id="a generator of random numbers"),
        pytest.param("(lines)", "(read_lines())", id="a function from elsewhere"),
        pytest.param("    # the data", "    lines.sort()", id="what changes in place"),
        pytest.param("    # the data", "    lines = load(epoch)", id="what is loaded anew"),
        pytest.param("    # the data", "    print(ds)", id="what the turn before has left"),
        pytest.param(".cache()\n", ".cache(); n = 1\n", id="two statements on a line"),
    ],
)
def test_nothing_moves_that_needs(old, new):
    assert after(IN_LOOP.replace(old, new), 6) is None


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("for k in many:\n    found = []\n    found.append(k)\n", id="a list"),
        pytest.param("for k in many:\n    for i in range(6):\n        go()\n", id="a range"),
    ],
)
def test_only_datasets_move(text):
    assert after(text, 2) is None


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(FOR_EACH.replace("learn(x)", "n = n + 1"), id="an argument changes"),
        pytest.param(FOR_EACH.replace("return tf", "log(n)\n    return tf"), id="a side effect"),
        pytest.param(
            FOR_EACH.replace("    return tf", "    rows[0] += 1\n    return tf"), id="data changes"
        ),
        pytest.param(FOR_EACH.replace("for epoch in range(3)", "if n"), id="there is no loop"),
    ],
)
def test_nothing_is_made_before_where(text):
    assert after(text, 11 if "\n    log" in text or "rows[0]" in text else 10) is None


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param("(number):", "(number, *rest):", id="open arguments"),
        pytest.param("    one_epoch(n)", "    one_epoch(n)\none_epoch(99)", id="two callers"),
        pytest.param("make_data(32)", "make_data(number)", id="an argument is part of it"),
        pytest.param("for n in range(28):", "if n:", id="no loop calls it"),
        pytest.param("for n in range(28):", "batches = 1\nfor n in range(28):", id="a taken name"),
    ],
)
def test_a_function_stays_as_it_is_where_there_is(old, new):
    source = Module(
        "source.py", "def make_data(n):\n    return tf.data.Dataset.range(9).batch(n)\n"
    )
    scripts = [Module("train.py", IN_FUNCTION.replace(old, new)), source]
    assert built_once(scripts, file="train.py", line=5, is_random=True) is None
