"""What a command line asks for."""

from pathlib import Path

import pytest

from quickfit.compression.shrinking.request import Request, checked
from quickfit.errors import UsageError


@pytest.fixture
def request_of(tmp_path):
    """Return a maker of requests for files that are there."""
    (tmp_path / "model.keras").touch()
    (tmp_path / "data.npz").touch()

    def make(**other):
        fields = {
            "model": tmp_path / "model.keras",
            "data": str(tmp_path / "data.npz"),
            "out": tmp_path / "out",
        }
        return Request(**(fields | other))

    return make


def test_a_request_that_can_be_met_is_returned(request_of):
    assert checked(request_of()) == request_of()
    assert checked(request_of(data="train.py:samples")).data == "train.py:samples"


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ({"model": Path("none.keras")}, "none.keras: there is no such file"),
        ({"data": "nowhere"}, "--data nowhere: there is no such file or folder"),
        ({"target": "tiny"}, "'tiny' is not understood"),
        ({"evaluate": "score"}, "--evaluate score: name a function with a colon"),
    ],
)
def test_mistakes_are_found_before_anything_is_loaded(request_of, other, said):
    with pytest.raises(UsageError, match=said):
        checked(request_of(**other))


def test_a_file_in_place_of_the_folder_is_found_too(request_of, tmp_path):
    with pytest.raises(UsageError, match="this is a file"):
        checked(request_of(out=tmp_path / "data.npz"))
