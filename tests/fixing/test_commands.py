"""A command to paste runs the same target with the same arguments."""

import pytest

from quickfit.fixing.commands import words_of
from quickfit.launch.target import Target


@pytest.mark.parametrize(
    ("target", "words"),
    [
        (Target(script="a/train.py"), "a/train.py"),
        (Target(script="my train.py", args=("--lr", "1")), "'my train.py' --lr 1"),
        (Target(module="proj.main", args=("4",)), "-m proj.main 4"),
    ],
)
def test_the_words_are_those_that_one_types(target, words):
    assert words_of(target) == words
