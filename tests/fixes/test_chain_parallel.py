import pytest

from quickfit.findings import FixClass
from quickfit.fixes.chain_parallel import parallel_map
from quickfit.fixes.change import patched
from quickfit.fixes.script import Script


def change(text, line):
    return parallel_map(Script("train.py", text), line, is_random=False)


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
    assert patched(text, change(text, 2).edits) == f"import tensorflow as tf\n{after}\n"


def test_a_constant_of_the_file_is_used():
    text = "import tensorflow as tf\nAUTO = tf.data.AUTOTUNE\nds = ds.map(f)\n"
    assert "ds.map(f, num_parallel_calls=AUTO)" in patched(text, change(text, 3).edits)


def test_tensorflow_is_imported_where_it_is_not():
    text = "from data import base\nds = base.map(f)\n"
    assert patched(text, change(text, 2).edits) == (
        "from data import base\nimport tensorflow as tf\n"
        "ds = base.map(f, num_parallel_calls=tf.data.AUTOTUNE)\n"
    )


def test_random_numbers_may_change_results():
    text = "import tensorflow as tf\nds = ds.map(f)\n"
    found = parallel_map(Script("train.py", text), 2, is_random=True)
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
    after = patched(text, change(text, 5).edits)
    assert after == text.replace("(plus)", "(plus, num_parallel_calls=tf.data.AUTOTUNE)")
