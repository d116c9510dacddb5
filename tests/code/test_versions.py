"""Versions that a project asks for."""

import ast
import json

import pytest

from quickfit.code import Program
from quickfit.code.versions import (
    asks_for_keras2,
    backend,
    is_version_guarded,
    pins_keras2,
    uses_legacy_keras,
)

from programs import program_of


@pytest.mark.parametrize(
    "text",
    [
        *("tensorflow==2.10.1\n", "tensorflow-gpu==1.15\n", "numpy\nkeras==2.4.3\n"),
        *("tensorflow>=2.8,<2.16\n", "tensorflow<=2.15\n", "keras<3\n", "  - tensorflow=2.9\n"),
        *('"tensorflow~=2.12",\n', 'tensorflow = "==2.11"\n', "tensorflow[and-cuda]==2.14\n"),
    ],
)
def test_knows_old_versions(text):
    assert pins_keras2(text)


@pytest.mark.parametrize(
    "text",
    [
        *(
            "tensorflow\n",
            "tensorflow>=2.10\n",
            "tensorflow==2.17.0\n",
            "keras>=2\n",
            "keras==3.5\n",
        ),
        *("tensorflow<3\n", "tensorflow-datasets==1.2\n", "# none\n", "keras-tuner==1.0\n"),
        *("tensorflow  # ==2.10 is too old\n", "numpy==1.2\n", "tensorflow<2.18\n", ""),
    ],
)
def test_knows_versions_of_today(text):
    assert not pins_keras2(text)


def test_looks_above_a_file_up_to_its_repository(tmp_path):
    (tmp_path / "requirements.txt").write_text("tensorflow==2.10\n")
    inner = tmp_path / "project" / "src"
    inner.mkdir(parents=True)
    assert asks_for_keras2(str(inner / "train.py"))
    other = tmp_path / "other"
    (other / ".git").mkdir(parents=True)
    assert not asks_for_keras2(str(other / "train.py"))


def test_a_notebook_may_install_its_own(tmp_path):
    (tmp_path / ".git").mkdir()
    old, new = tmp_path / "old.ipynb", tmp_path / "new.ipynb"
    old.write_text('{"source": ["!pip install -q tensorflow==2.12 numpy\\n", "import keras"]}')
    new.write_text('{"source": ["!pip install -q tensorflow==2.18\\n", "keras==1"]}')
    assert asks_for_keras2(str(old))
    assert not asks_for_keras2(str(new))


def legacy(source, file="train.py"):
    program = program_of(source)
    return uses_legacy_keras(program, program.module(f"/project/{file}"))


@pytest.mark.parametrize(
    "text",
    [
        'import os\nos.environ["TF_USE_LEGACY_KERAS"] = "1"\nimport keras\n',
        "import os\nos.environ.setdefault('TF_USE_LEGACY_KERAS', 'True')\n",
        'import os\nos.environ.update({"TF_USE_LEGACY_KERAS": "1"})\n',
        'import os\nos.environ["TF_USE_LEGACY_KERAS"] = str(int(True))\n',
        "import tf_keras as keras\n",
        "from tf_keras.layers import Dense\n",
        "try:\n    import tf_keras as keras\nexcept ImportError:\n    import keras\n",
    ],
)
def test_knows_legacy_keras(text):
    assert legacy(text)


@pytest.mark.parametrize(
    "text",
    [
        "import keras\n",
        'import os\nos.environ["TF_USE_LEGACY_KERAS"] = "0"\n',
        'import os\n# os.environ["TF_USE_LEGACY_KERAS"] = "1"\n',
        'import os\nos.environ.pop("TF_USE_LEGACY_KERAS", None)\n',
        "tf_keras = 3\n",
    ],
)
def test_knows_keras_3(text):
    assert not legacy(text)


SETTER = 'import os\nos.environ["TF_USE_LEGACY_KERAS"] = "1"\n'


def test_a_setting_counts_for_all_that_run_together():
    source = {
        "train.py": "import setting\nimport model\n",
        "setting.py": SETTER,
        "model.py": "import keras\n",
        "other.py": "import model\n",
    }
    assert legacy(source)
    assert legacy(source, "model.py")
    assert not legacy(source, "other.py")


def test_a_setting_of_a_package_counts_for_its_modules():
    source = {"net/__init__.py": SETTER, "net/model.py": "import keras\n", "a.py": "import keras\n"}
    assert legacy(source, "net/model.py")
    assert not legacy(source, "a.py")


def test_reads_the_environment_set_by_a_notebook(tmp_path):
    path = tmp_path / "train.ipynb"
    cell = {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None}
    cells = [{**cell, "source": ["%env TF_USE_LEGACY_KERAS=1\n", "import keras"]}]
    path.write_text(json.dumps({"cells": cells, "metadata": {}, "nbformat": 4}))
    program = Program([str(path)])
    assert uses_legacy_keras(program, program.module(str(path)))


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("import keras\n", "tensorflow"),
        ('import os\nos.environ["KERAS_BACKEND"] = "jax"\nimport keras\n', "jax"),
        ('import os\nos.environ.setdefault("KERAS_BACKEND", "torch")\n', "torch"),
        ('a = {"KERAS_BACKEND": "jax"}\nb = {"KERAS_BACKEND": "torch"}\n', ""),
    ],
)
def test_knows_the_backend(text, name):
    program = program_of(text)
    assert backend(program, program.module("/project/train.py")) == name


def guarded(text, *raised):
    module = program_of(text).module("/project/train.py")
    (call,) = module.calls("gone")
    assert isinstance(call, ast.Call)
    return is_version_guarded(module, call, *raised)


@pytest.mark.parametrize(
    "text",
    [
        "try:\n    gone()\nexcept AttributeError:\n    new()\n",
        "try:\n    gone()\nexcept (OSError, TypeError):\n    new()\n",
        "try:\n    gone()\nexcept:\n    pass\n",
        "try:\n    new()\nexcept ImportError:\n    gone()\n",
        "if tf.__version__ < '2.16':\n    gone()\n",
        "if tf.__version__ >= '2.16':\n    new()\nelse:\n    gone()\n",
        "if hasattr(model, 'gone'):\n    model.gone()\n",
        "x = gone() if IS_KERAS_2 else new()\n",
        "if False:\n    gone()\n",
        "if TYPE_CHECKING:\n    gone()\n",
        "hasattr(m, 'gone') and m.gone()\n",
        "def f():\n    if version >= 3:\n        return new()\n    return gone()\n",
        "if keras_version < 3:\n    def f():\n        gone()\n",
        "MAJOR = int(keras.__version__.split('.')[0])\nif MAJOR < 3:\n    gone()\n",
        "old = hasattr(keras, 'gone')\nif old:\n    gone()\n",
    ],
)
def test_knows_code_that_is_kept_for_another_version(text):
    assert guarded(text)


@pytest.mark.parametrize(
    "text",
    [
        "gone()\n",
        "try:\n    gone()\nexcept KeyboardInterrupt:\n    pass\n",
        "try:\n    gone()\nexcept Exception:\n    clean()\n    raise\n",
        "try:\n    gone()\nexcept Exception as error:\n    print(error)\n",
        "try:\n    gone()\nfinally:\n    clean()\n",
        "try:\n    a()\nexcept TypeError:\n    b()\nelse:\n    gone()\n",
        "if epochs > 3:\n    gone()\n",
        "if __name__ == '__main__':\n    gone()\n",
        "def f():\n    if data is None:\n        return new()\n    return gone()\n",
    ],
)
def test_knows_code_that_runs_as_it_stands(text):
    assert not guarded(text)


def test_asks_for_the_errors_that_matter():
    text = "try:\n    gone()\nexcept ValueError:\n    new()\n"
    assert guarded(text)
    assert not guarded(text, "AttributeError")
