"""Numbers of threads, set before TensorFlow starts any."""

import pytest

from quickfit.findings import FixClass
from quickfit.fixes.change import patched
from quickfit.fixes.script import Project
from quickfit.fixes.thread_settings import with_threads


def change(text, pool="inter", threads=1, **others):
    files = {"train.py": text, **{f"{name}.py": other for name, other in others.items()}}
    found = Project(files)
    return with_threads(found.script("train.py"), pool, threads, found)


@pytest.mark.parametrize(
    ("pool", "threads", "call", "title"),
    [
        ("inter", 1, "set_inter_op_parallelism_threads(1)", "Let TensorFlow run 1 operation at a"),
        ("inter", 4, "set_inter_op_parallelism_threads(4)", "Let TensorFlow run 4 operations at a"),
        ("intra", 1, "set_intra_op_parallelism_threads(1)", "Give an operation 1 thread"),
        ("intra", 2, "set_intra_op_parallelism_threads(2)", "Give an operation 2 threads"),
    ],
)
def test_a_pool_is_set_right_behind_the_import(pool, threads, call, title):
    text = "import tensorflow as tf\nx = tf.ones(3)\n"
    made = change(text, pool, threads)
    assert patched(text, made.edits) == (
        f"import tensorflow as tf\ntf.config.threading.{call}\nx = tf.ones(3)\n"
    )
    assert made.title.startswith(title)
    assert made.kind is FixClass.MAY_CHANGE_RESULTS


def test_a_script_that_sets_threads_itself_is_left_alone():
    own = "import tensorflow as tf\n\ntf.config.threading.set_intra_op_parallelism_threads(8)\n"
    assert change(own) == "train.py:3 sets the number of threads itself"
    assert change("import setup_tf\n", setup_tf=own) == (
        "setup_tf.py:3 sets the number of threads itself"
    )


def test_a_file_without_a_certain_place_is_left_alone():
    said = change("def main():\n    import tensorflow as tf\n")
    assert said == "`tf` in train.py:1 is not imported at the top of the file"
