import pytest

from quickfit.findings import FixClass
from quickfit.fixes.chain_shuffle import shuffle_first, smaller_shuffle
from quickfit.fixes.change import patched
from quickfit.fixes.script import Script

EVERY = range(100)


def moved(text, line, **known):
    script = Script("train.py", text)
    change = shuffle_first(script, line, **({"steady": EVERY} | known))
    return patched(text, change.edits) if change is not None else None


@pytest.mark.parametrize(
    ("before", "line", "after"),
    [
        pytest.param(
            "ds = slices(paths)\nds = ds.map(decode)\nds = ds.shuffle(800)\nds = ds.batch(2)\n",
            3,
            "ds = slices(paths)\nds = ds.shuffle(800)\nds = ds.map(decode)\nds = ds.batch(2)\n",
            id="statements",
        ),
        pytest.param(
            "# read\nds = ds.map(read)\n# mix\nds = ds.shuffle(8)  # all\n",
            4,
            "# mix\nds = ds.shuffle(8)  # all\n# read\nds = ds.map(read)\n",
            id="statements with comments",
        ),
        pytest.param(
            "ds = slices(x).map(read, num_parallel_calls=2).map(crop).shuffle(9).batch(2)\n",
            1,
            "ds = slices(x).shuffle(9).map(read, num_parallel_calls=2).map(crop).batch(2)\n",
            id="one line",
        ),
        pytest.param(
            "ds = (slices(x)\n      .map(\n          read,\n      )\n      .shuffle(9)\n"
            "      .batch(2))\n",
            5,
            "ds = (slices(x)\n      .shuffle(9)\n      .map(\n          read,\n      )\n"
            "      .batch(2))\n",
            id="lines of one expression",
        ),
        pytest.param(
            "def load(f):\n    ds = TextLineDataset(f).map(read)\n    return ds.shuffle(N)\n",
            3,
            "def load(f):\n    ds = TextLineDataset(f).shuffle(N)\n    return ds.map(read)\n",
            id="part of a statement",
        ),
        pytest.param(
            "ds = slices(x)\nds = ds.map(f)\nds = ds.shuffle(len(ds))\nds = ds.batch(2)\n",
            3,
            "ds = slices(x)\nds = ds.shuffle(len(ds))\nds = ds.map(f)\nds = ds.batch(2)\n",
            id="as large as the dataset, which a map does not change",
        ),
        pytest.param(
            "ds = ds.map(f).shuffle(ds.cardinality()).batch(2)\n",
            1,
            "ds = ds.shuffle(ds.cardinality()).map(f).batch(2)\n",
            id="as large as the dataset before",
        ),
    ],
)
def test_a_shuffle_moves_before_the_maps(before, line, after):
    assert moved(before, line) == after


@pytest.mark.parametrize(
    ("text", "line"),
    [
        pytest.param("ds = a.batch(2).shuffle(9)\n", 1, id="batches are shuffled"),
        pytest.param("ds = a.map(f).filter(g).shuffle(9)\n", 1, id="a filter is between"),
        pytest.param("ds = a.map(f).repeat().shuffle(9)\n", 1, id="a repeat is between"),
        pytest.param("ds = a.map(f).cache().shuffle(9)\n", 1, id="a cache is between"),
        pytest.param(
            "d = a.map(f)\nds = d.shuffle(9)\nval = d.take(3)\n", 2, id="others read the map"
        ),
        pytest.param(
            "ds = a.map(f)\nn = count()\nds = ds.shuffle(n)\n", 3, id="its size is made in between"
        ),
        pytest.param("ds = a.map(f)\nif mix:\n    ds = ds.shuffle(9)\n", 3, id="it is in a branch"),
        pytest.param(
            "ds = (a\n      .map(f)  # decode\n      .shuffle(9))\n", 3, id="a comment would move"
        ),
        pytest.param("ds = ds.shuffle(9)\n", 1, id="what is before is not written here"),
        pytest.param(
            "images = a.map(f)\nds = images.shuffle(len(images))\n",
            2,
            id="its size is that of a name which would come later",
        ),
    ],
)
def test_nothing_moves_where(text, line):
    assert moved(text, line) is None


def kind(text, **known):
    return shuffle_first(Script("train.py", text), 1, **({"steady": EVERY} | known)).kind


def test_results_stay_the_same_unless_something_random_is_involved():
    assert kind("ds = a.map(f).shuffle(9).batch(2)\n") is FixClass.SAME_RESULTS
    assert kind("ds = a.map(f).shuffle(9).batch(2)\n", steady=()) is FixClass.MAY_CHANGE_RESULTS


def test_a_shuffle_and_a_repeat_that_part_draw_otherwise():
    assert kind("ds = a.map(f).shuffle(9).repeat()\n") is FixClass.MAY_CHANGE_RESULTS
    assert kind("ds = a.map(f).shuffle(9)\n", is_repeated=True) is FixClass.MAY_CHANGE_RESULTS
    assert kind("ds = a.map(f).shuffle(9)\n", is_repeated=False) is FixClass.SAME_RESULTS


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param("ds = ds.shuffle(80_000)\n", "ds = ds.shuffle(2_000)\n", id="a number"),
        pytest.param(
            "ds = ds.shuffle(buffer_size=len(x), seed=1)\n",
            "ds = ds.shuffle(buffer_size=min(len(x), 2_000), seed=1)\n",
            id="an expression",
        ),
        pytest.param(
            "N = 90_000\nds = a.shuffle(N)\n", "N = 2_000\nds = a.shuffle(N)\n", id="once"
        ),
        pytest.param(
            "N = 90_000\nds = a.shuffle(N).take(N)\n",
            "N = 90_000\nds = a.shuffle(min(N, 2_000)).take(N)\n",
            id="a constant that is read twice",
        ),
    ],
)
def test_a_shuffle_gets_smaller(before, after):
    change = smaller_shuffle(Script("train.py", before), before.count("\n"), size=2000)
    assert patched(before, change.edits) == after
    assert change.kind is FixClass.MAY_CHANGE_RESULTS


def test_a_size_that_is_not_written_out_is_left_alone():
    assert smaller_shuffle(Script("t.py", "ds = ds.shuffle(*args)\n"), 1, size=10) is None


def test_a_shuffle_that_holds_less_already_is_left_alone():
    assert smaller_shuffle(Script("t.py", "ds = ds.shuffle(10)\n"), 1, size=10) is None
