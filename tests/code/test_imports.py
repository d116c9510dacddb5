"""Which files of a program run in one process."""

import pytest

from quickfit.code import Module
from quickfit.code.edits import apply_edits
from quickfit.code.imports import behind_import, files_run_together, respell_name, spelled_name

from programs import program_of

FILES = {
    "train.py": "from net import model\nimport settings\n",
    "other.py": "import settings\n",
    "settings.py": "SIZE = 3\n",
    "net/__init__.py": "",
    "net/model.py": "from .parts import block\n",
    "net/parts.py": "block = 1\n",
    "alone.py": "import numpy\n",
}


def names(path):
    found = files_run_together(program_of(FILES), f"/project/{path}")
    return {name.removeprefix("/project/") for name in found}


def test_a_script_runs_with_all_it_imports():
    package = {"net/__init__.py", "net/model.py", "net/parts.py"}
    assert names("train.py") == {"train.py", "settings.py"} | package


def test_a_part_runs_with_what_its_scripts_import():
    assert names("net/parts.py") >= {"train.py", "settings.py"}
    assert "other.py" not in names("net/parts.py")


def test_two_scripts_that_share_a_module_do_not_run_together():
    assert names("other.py") == {"other.py", "settings.py"}
    assert names("settings.py") >= {"train.py", "other.py"}


def test_a_file_may_run_alone():
    assert names("alone.py") == {"alone.py"}


def asked(text, function=spelled_name, *given):
    program = program_of(text)
    module = program.module("/project/train.py")
    (call,) = module.calls("print")
    return function(program, module, call.args[0], *given)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("import tensorflow as tf\nprint(tf.keras.layers.X)\n", "tensorflow.keras.layers.X"),
        ("import keras\nprint(keras.layers.X)\n", "keras.layers.X"),
        ("from tensorflow import keras\nprint(keras.X)\n", "tensorflow.keras.X"),
        ("from keras import backend as K\nprint(K.mean)\n", "keras.backend.mean"),
        ("import tensorflow.keras.backend as K\nprint(K.mean)\n", "tensorflow.keras.backend.mean"),
        ("import tensorflow as tf\nkeras = tf.keras\nprint(keras.X)\n", "tensorflow.keras.X"),
        ("import tensorflow.compat.v2 as tf\nprint(tf.log)\n", "tensorflow.log"),
        ("import tensorflow.compat.v1 as tf\nprint(tf.log)\n", "tensorflow.compat.v1.log"),
        ("import tensorflow as tf\nprint(tf.losses.X)\n", "tensorflow.keras.losses.X"),
        ("print(keras.X)\n", ""),
        ("from . import keras\nprint(keras.X)\n", ""),
        ("def f(keras):\n    print(keras.X)\n", ""),
        (
            "try:\n    import keras\nexcept ImportError:\n    from tensorflow import keras\n"
            "print(keras.X)\n",
            "",
        ),
    ],
)
def test_names_what_is_imported(text, name):
    assert asked(text) == name


def test_a_file_of_the_program_is_no_library():
    program = program_of({"train.py": "import keras\nprint(keras.X)\n", "keras.py": "X = 1\n"})
    module = program.module("/project/train.py")
    assert spelled_name(program, module, module.calls("print")[0].args[0]) == ""


@pytest.mark.parametrize(
    ("text", "name", "code"),
    [
        ("import tensorflow as tf\nprint(tf.log)\n", "tensorflow.math.log", "tf.math.log"),
        (
            "from tensorflow import keras\nprint(keras.layers.core.Dense)\n",
            "tensorflow.keras.layers.Dense",
            "keras.layers.Dense",
        ),
        ("from keras import layers\nprint(layers.core)\n", "keras.utils", ""),
    ],
)
def test_writes_another_name_in_the_same_way(text, name, code):
    assert asked(text, respell_name, name) == code


def after(text, module="tensorflow", alias="tf"):
    edits = behind_import(Module("train.py", text), module, alias, "{name}.set()")
    return edits if isinstance(edits, str) else apply_edits(text, edits)


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        pytest.param(
            "import tensorflow as tf\nx = 1\n",
            "import tensorflow as tf\ntf.set()\nx = 1\n",
            id="as usual",
        ),
        pytest.param(
            "import tensorflow\nimport a\n",
            "import tensorflow\ntensorflow.set()\nimport a\n",
            id="without another name",
        ),
        pytest.param(
            "import tensorflow.keras\n", "import tensorflow.keras\ntensorflow.set()\n", id="a part"
        ),
        pytest.param(
            "import os, tensorflow as T  # all\nx = 1\n",
            "import os, tensorflow as T  # all\nT.set()\nx = 1\n",
            id="with others",
        ),
        pytest.param(
            "from tensorflow.keras import layers\nimport tensorflow as tf\n",
            "from tensorflow.keras import layers\nimport tensorflow as tf\ntf.set()\n",
            id="a part first",
        ),
        pytest.param(
            "from tensorflow.keras import layers\nx = 1\n",
            "from tensorflow.keras import layers\nimport tensorflow as tf\ntf.set()\nx = 1\n",
            id="a part only",
        ),
        pytest.param(
            '"""Trains."""\nimport keras\nfrom nets import net\nx = 1\n',
            '"""Trains."""\nimport keras\nfrom nets import net\nimport tensorflow as tf\ntf.set()\n'
            "x = 1\n",
            id="not at all",
        ),
        pytest.param(
            "x = 1\n", "import tensorflow as tf\ntf.set()\nx = 1\n", id="no import at all"
        ),
        pytest.param(
            "from .tensorflow import x\n",
            "from .tensorflow import x\nimport tensorflow as tf\ntf.set()\n",
            id="a file of the same name",
        ),
    ],
)
def test_the_line_stands_behind_the_import(before, expected):
    assert after(before) == expected


def test_a_module_that_keeps_its_name_is_imported_plainly():
    assert after("x = 1\n", "keras", "keras") == "import keras\nkeras.set()\nx = 1\n"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (
            "def main():\n    import tensorflow as tf\n",
            "`tf` in train.py:1 is not imported at the top of the file",
        ),
        ("tf = 1\n", "`tf` in train.py:1 is not imported at the top of the file"),
        (
            "import tensorflow as tf; tf.ones(1)\n",
            "train.py:1 has other code in the line of the import",
        ),
    ],
)
def test_an_uncertain_place_is_told(text, why):
    assert after(text) == why
