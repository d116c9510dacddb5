"""The user's function is found and called, and what it gives is looked at."""

import pickle
import sys
from pathlib import Path

import pytest

from quickfit.errors import ModelError
from quickfit.tuning.trials.building import Builder
from quickfit.tuning.trials.orders import Order
from quickfit.tuning.trials.recipes import Kind
from quickfit.tuning.trials.settings import Setting

SOURCE = """
LIMIT = 3
def build(): return None
def sized(batch_size=16): return None
def must(batch): return None
def many(a, b, c=1): return None
class Maker:
    @staticmethod
    def build(): return None
"""


def order(name, batch_size=None):
    return Order(Kind.NAME, name, Path(), batch_size, Setting(), Path(), None, 1)


@pytest.fixture
def module(tmp_path, monkeypatch):
    """Return the name of a module that a fresh interpreter would find in its folder."""
    (tmp_path / "mytraining.py").write_text(SOURCE)
    (tmp_path / "broken.py").write_text("import nothing_like_this\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield "mytraining"
    sys.modules.pop("mytraining", None)


def refusal(name):
    with pytest.raises(ModelError) as caught:
        Builder(order(name))
    return str(caught.value)


@pytest.mark.parametrize("name", ["build", "Maker.build"])
def test_a_function_is_found(module, name):
    assert Builder(order(f"{module}:{name}")).own_batch == 32


def test_a_module_that_is_not_there_is_told_with_near_names(module):
    text = refusal("mytrainin:build")
    assert "there is no module 'mytrainin' (for mytrainin), looked for from" in text
    assert "There is: mytraining." in text


def test_a_package_that_is_not_there_is_told_too(module):
    assert "there is no module 'nowhere' (for nowhere.train)" in refusal("nowhere.train:build")


def test_a_module_that_theirs_imports_keeps_its_own_error(module):
    with pytest.raises(ModuleNotFoundError, match="nothing_like_this"):
        Builder(order("broken:build"))


def test_a_function_that_is_not_there_is_told_with_near_names(module):
    text = refusal(f"{module}:biuld")
    assert text.startswith("mytraining has no function 'biuld'. There is: build.")


def test_something_that_is_no_function_is_told(module):
    assert refusal(f"{module}:LIMIT") == "mytraining:LIMIT is a int, not a function."


def test_a_function_that_needs_arguments_is_told(module):
    assert refusal(f"{module}:many").startswith("mytraining:many needs arguments (a, b),")


@pytest.mark.parametrize(
    ("name", "batch_size", "expected"),
    [
        ("build", None, 32),
        ("build", 8, 8),
        ("sized", None, 16),
        ("sized", 8, 8),
        ("must", None, 32),
    ],
)
def test_the_own_batch_is_what_the_user_has(module, name, batch_size, expected):
    assert Builder(order(f"{module}:{name}", batch_size)).own_batch == expected


def test_a_pickled_function_is_found(tmp_path):
    path = tmp_path / "function.pickle"
    path.write_bytes(pickle.dumps(dict))
    Builder(Order(Kind.FUNCTION, "dict", path, None, Setting(), tmp_path, None, 1))
