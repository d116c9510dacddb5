"""A line behind the import of a module, however it is imported."""

import pytest

from quickfit.fixes.change import patched
from quickfit.fixes.imports import behind_import
from quickfit.fixes.script import Script


def after(text, module="tensorflow", alias="tf"):
    edits = behind_import(Script("train.py", text), module, alias, "{name}.set()")
    return edits if isinstance(edits, str) else patched(text, edits)


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
