"""The demo's image folder: real photographs, the same every time."""

import builtins
import hashlib
import importlib.util

import pytest

from quickfit.demo.photographs import SIDES_PX, SOURCES, make_photographs
from quickfit.errors import UsageError

COUNT = 12


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("photographs")
    return folder, make_photographs(folder, COUNT)


def digests(paths):
    return [hashlib.sha256(path.read_bytes()).hexdigest() for path in paths]


def test_writes_as_many_as_asked_in_one_folder_per_class(made):
    folder, paths = made
    assert sorted(folder.glob("*/*.jpg")) == sorted(paths)
    assert len(paths) == COUNT
    assert {path.parent.name for path in paths} == set(SOURCES)


def test_every_file_is_a_jpeg_of_the_size_of_web_photographs(made):
    from PIL import Image

    for path in made[1]:
        with Image.open(path) as image:
            image.load()
            assert image.format == "JPEG"
            assert image.mode == "RGB"
            assert all(SIDES_PX[0] <= side <= SIDES_PX[1] for side in image.size)


def test_neighbouring_pixels_are_alike_as_in_photographs_and_not_as_in_noise(made):
    import numpy as np
    from PIL import Image

    for path in made[1]:
        with Image.open(path) as image:
            pixels = np.asarray(image.convert("L"), dtype=float)
        step = np.abs(np.diff(pixels, axis=1)).mean()
        assert pixels.std() > 10
        assert step < pixels.std() / 2


def test_all_pictures_differ(made):
    assert len(set(digests(made[1]))) == COUNT


def test_the_same_seed_gives_the_same_files(made, tmp_path):
    assert digests(make_photographs(tmp_path, COUNT)) == digests(made[1])


def test_another_seed_gives_other_files(made, tmp_path):
    assert not set(digests(make_photographs(tmp_path, COUNT, seed=1))) & set(digests(made[1]))


def test_tells_how_far_it_is(tmp_path):
    told = []
    make_photographs(tmp_path, 3, tell=told.append)
    assert told == [1, 2, 3]


def test_without_scikit_image_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(UsageError, match=r"scikit-image is not installed") as caught:
        make_photographs(tmp_path, 1)
    assert "pip install 'quickfit[demo]'" in str(caught.value)


def test_without_pillow_says_what_to_install(tmp_path, monkeypatch):
    plain_import = builtins.__import__

    def without_pillow(name, *args):
        if name == "PIL":
            raise ImportError(name)
        return plain_import(name, *args)

    monkeypatch.setattr(builtins, "__import__", without_pillow)
    with pytest.raises(UsageError, match=r"Pillow is not installed") as caught:
        make_photographs(tmp_path, 1)
    assert "pip install 'quickfit[demo]'" in str(caught.value)


def test_names_a_photograph_that_is_not_there(tmp_path, monkeypatch):
    monkeypatch.setitem(SOURCES, "nobody", "nobody.png")
    with pytest.raises(UsageError, match=r"lacks the photographs nobody\.png"):
        make_photographs(tmp_path, 1)
