"""Samples from `.npz` files."""

import numpy as np
import pytest

from quickfit.compression.calibrating.inputs import Wanted
from quickfit.compression.sources.npz import read_npz
from quickfit.errors import UsageError

IMAGE = [Wanted("image", ("image",), (None, 2, 2), "float32")]
TWO = [*IMAGE, Wanted("size", ("size",), (None, 1), "float32")]
X, Y = np.zeros((5, 2, 2)), np.arange(5)


@pytest.mark.parametrize(
    "names",
    [("x", "y"), ("X", "Y"), ("images", "labels"), ("x_test", "y_test"), ("data", "target")],
)
def test_usual_names_are_known(tmp_path, names):
    np.savez(tmp_path / "a.npz", **dict(zip(names, (X, Y), strict=True)))
    x, y = read_npz(tmp_path / "a.npz", IMAGE)
    assert x.shape == X.shape
    np.testing.assert_array_equal(y, Y)


def test_arrays_without_names_are_known_by_their_order(tmp_path):
    np.savez_compressed(tmp_path / "a.npz", X, Y)
    assert len(read_npz(tmp_path / "a.npz", IMAGE)[1]) == 5


def test_samples_that_were_not_trained_on_come_first(tmp_path):
    np.savez(tmp_path / "a.npz", x_train=X, y_train=Y, x_test=X[:2], y_test=Y[:2])
    assert len(read_npz(tmp_path / "a.npz", IMAGE)[1]) == 2


def test_several_inputs_are_found_by_name(tmp_path):
    np.savez(tmp_path / "a.npz", image=X, size=Y[:, None], labels=Y)
    x, y = read_npz(tmp_path / "a.npz", TWO)
    assert set(x) == {"image", "size"}
    assert len(y) == 5


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "it cannot be read"),
        (b"PK\x03\x04 and nothing more", "it cannot be read"),
        (b"just words", "it cannot be read"),
    ],
)
def test_what_is_no_such_file_is_said(tmp_path, content, said):
    path = tmp_path / "a.npz"
    path.write_bytes(content)
    with pytest.raises(UsageError, match=said) as error:
        read_npz(path, IMAGE)
    assert "np.savez('data.npz', x=samples, y=labels)" in str(error.value)


def test_a_file_that_ends_early_is_said(tmp_path):
    path = tmp_path / "a.npz"
    np.savez(path, x=X, y=Y)
    path.write_bytes(path.read_bytes()[:-60])
    with pytest.raises(UsageError, match="it cannot be read"):
        read_npz(path, IMAGE)


def test_python_objects_are_not_loaded(tmp_path):
    np.savez(tmp_path / "a.npz", x=np.array([{}, 1], dtype=object), y=Y)
    with pytest.raises(UsageError, match="it holds Python objects, which are not loaded"):
        read_npz(tmp_path / "a.npz", IMAGE)


def test_other_names_are_listed(tmp_path):
    np.savez(tmp_path / "a.npz", inputs=X, truth=Y)
    with pytest.raises(UsageError, match=r"which arrays.*It has inputs, truth"):
        read_npz(tmp_path / "a.npz", IMAGE)


def test_a_single_array_is_said(tmp_path):
    np.save(tmp_path / "a.npy", X)
    with pytest.raises(UsageError, match="this is a single array"):
        read_npz(tmp_path / "a.npy", IMAGE)
