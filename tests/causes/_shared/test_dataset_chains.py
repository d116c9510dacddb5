import pytest

from quickfit.causes._shared.dataset_cache import cached
from quickfit.causes._shared.dataset_chains import shuffle_first
from quickfit.causes._shared.map_threads import parallel_map
from quickfit.causes.input.shuffle_buffer_too_big import smaller_shuffle
from quickfit.code import Module
from quickfit.code.edits import apply_edits, is_in_conflict
from quickfit.findings import FixClass


def change(text, line):
    return parallel_map(Module("train.py", text), line, is_random=False)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(
            "ds = ds.map(augment)",
            "ds = ds.map(augment, num_parallel_calls=tf.data.AUTOTUNE)",
            id="a function",
        ),
        pytest.param(
            "ds = ds.map(lambda x: x + 1).batch(2)",
            "ds = ds.map(lambda x: x + 1, num_parallel_calls=tf.data.AUTOTUNE).batch(2)",
            id="a lambda in a chain",
        ),
        pytest.param(
            "ds = ds.map(map_func=augment)",
            "ds = ds.map(map_func=augment, num_parallel_calls=tf.data.AUTOTUNE)",
            id="by keyword",
        ),
        pytest.param(
            "ds = ds.map(augment, 1)", "ds = ds.map(augment, tf.data.AUTOTUNE)", id="one, by place"
        ),
        pytest.param(
            "ds = ds.map(augment, num_parallel_calls=None)",
            "ds = ds.map(augment, num_parallel_calls=tf.data.AUTOTUNE)",
            id="none, by name",
        ),
    ],
)
def test_a_map_gets_several_threads(before, after):
    text = f"import tensorflow as tf\n{before}\n"
    assert apply_edits(text, change(text, 2).edits) == f"import tensorflow as tf\n{after}\n"


def test_a_constant_of_the_file_is_used():
    text = "import tensorflow as tf\nAUTO = tf.data.AUTOTUNE\nds = ds.map(f)\n"
    assert "ds.map(f, num_parallel_calls=AUTO)" in apply_edits(text, change(text, 3).edits)


def test_tensorflow_is_imported_where_it_is_not():
    text = "from data import base\nds = base.map(f)\n"
    assert apply_edits(text, change(text, 2).edits) == (
        "from data import base\nimport tensorflow as tf\n"
        "ds = base.map(f, num_parallel_calls=tf.data.AUTOTUNE)\n"
    )


def test_random_numbers_may_change_results():
    text = "import tensorflow as tf\nds = ds.map(f)\n"
    found = parallel_map(Module("train.py", text), 2, is_random=True)
    assert found.kind is FixClass.MAY_CHANGE_RESULTS
    assert change(text, 2).kind is FixClass.SAME_RESULTS


@pytest.mark.parametrize(
    "line",
    [
        pytest.param("ds = ds.map(f, num_parallel_calls=threads)", id="threads of the user's"),
        pytest.param("ds = ds.map(f, 4)", id="a number of the user's"),
        pytest.param("ds = ds.map(f, **options)", id="options that may hold it"),
        pytest.param("ds = ds.map(*given)", id="arguments that are not written out"),
        pytest.param("ds = ds.map(f).map(g)", id="two maps on one line"),
        pytest.param("ds = chain.then('map', f)", id="no call of map"),
    ],
)
def test_nothing_is_edited_for(line):
    assert change(f"import tensorflow as tf\n{line}\n", 2) is None


def test_nothing_is_edited_where_tf_is_something_else():
    assert change("import transforms as tf\nds = tf.read().map(f)\n", 2) is None


@pytest.mark.parametrize("indent", ["    ", "        ", "\t"])
def test_a_map_on_a_line_of_its_own_in_a_function_is_edited(indent):
    text = (
        "import tensorflow as tf\ndef f():\n"
        f"{indent}return (\n{indent}    Dataset.range(1)  # one\n"
        f"{indent}    .map(plus)\n{indent}    .batch(2)\n{indent})\n"
    )
    after = apply_edits(text, change(text, 5).edits)
    assert after == text.replace("(plus)", "(plus, num_parallel_calls=tf.data.AUTOTUNE)")


EVERY = range(100)


def moved(text, line, **known):
    script = Module("train.py", text)
    change = shuffle_first(script, line, **({"steady": EVERY} | known))
    return apply_edits(text, change.edits) if change is not None else None


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
    return shuffle_first(Module("train.py", text), 1, **({"steady": EVERY} | known)).kind


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
    change = smaller_shuffle(Module("train.py", before), before.count("\n"), size=2000)
    assert apply_edits(before, change.edits) == after
    assert change.kind is FixClass.MAY_CHANGE_RESULTS


def test_a_size_that_is_not_written_out_is_left_alone():
    assert smaller_shuffle(Module("t.py", "ds = ds.shuffle(*args)\n"), 1, size=10) is None


def test_a_shuffle_that_holds_less_already_is_left_alone():
    assert smaller_shuffle(Module("t.py", "ds = ds.shuffle(10)\n"), 1, size=10) is None


def test_no_other_change_comes_between_operations_that_change_places():
    text = "ds = ds.map(load)\nds = ds.shuffle(9)\n"
    module = Module("train.py", text)
    moved = shuffle_first(module, 2, steady={1})
    kept = cached(module, 1, method="map")
    assert apply_edits(text, moved.edits) == "ds = ds.shuffle(9)\nds = ds.map(load)\n"
    assert kept is not None
    assert is_in_conflict(moved.edits, kept.edits)
