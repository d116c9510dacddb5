"""Versions that a project asks for."""

import pytest

from quickfit.program.pins import asks_for_keras2, pins_keras2


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
