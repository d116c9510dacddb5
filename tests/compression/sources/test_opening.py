"""Samples from what a command line names."""

import sys
import zlib

import numpy as np
import pytest

from compression import models
from quickfit.compression.graph import graph_of
from quickfit.compression.sources.opening import (
    Limits,
    function_named,
    opened,
    without_labels,
)
from quickfit.errors import PipelineError, UsageError

pytestmark = [pytest.mark.loads_tf, pytest.mark.usefixtures("tf")]

LIMITS = Limits(1000)


@pytest.fixture(scope="module")
def graph(tf):
    """Return the graph of a model of 8 × 8 colour images, four classes."""
    return graph_of(models.sequential())


@pytest.fixture
def photos(tmp_path):
    """Return a folder of four classes of tiny images, each of one grey."""
    from PIL import Image

    for number, name in enumerate("abcd"):
        folder = tmp_path / "photos" / name
        folder.mkdir(parents=True)
        for index in range(3):
            Image.new("RGB", (10, 12), (number * 60,) * 3).save(folder / f"{index}.png")
    return tmp_path / "photos"


def bright(samples):
    """Return a mark that is best for images from 0 to 1."""
    return 1.0 if samples.arrays[0].max() == pytest.approx(180 / 255, abs=0.01) else 0.1


def test_a_folder_comes_in_the_size_and_the_scale_of_the_model(graph, photos):
    found = opened(str(photos), graph, LIMITS, bright)
    assert found.arrays[0].shape == (12, 8, 8, 3)
    assert found.class_names == ("a", "b", "c", "d")
    np.testing.assert_allclose(
        found.arrays[0][:, 0, 0, 0], found.labels * 60 / 255, rtol=0, atol=0.01
    )
    assert "Images go in with values from 0 to 1" in found.notes[-1]


def test_a_pack_is_read_too(graph, photos, tmp_path):
    from quickfit.data import pack

    pack(str(photos), str(tmp_path / "packed"), workers=1, progress=False)
    found = opened(str(tmp_path / "packed"), graph, LIMITS, bright)
    assert len(found) == 12
    assert sorted(found.labels.tolist()) == sorted([0, 1, 2, 3] * 3)


def test_grey_images_are_made_for_models_that_take_them(photos):
    import keras

    model = keras.Sequential(
        [keras.Input((4, 4, 1)), keras.layers.Flatten(), keras.layers.Dense(4)]
    )
    found = opened(str(photos), graph_of(model), LIMITS, lambda samples: 0.5)
    assert found.arrays[0].shape == (12, 4, 4, 1)
    assert found.arrays[0].max() == 180


def test_an_npz_file_is_read(graph, tmp_path):
    np.savez(tmp_path / "a.npz", x=np.ones((9, 8, 8, 3)), y=np.arange(9) % 4)
    assert len(opened(str(tmp_path / "a.npz"), graph, LIMITS, bright)) == 9


def test_a_function_is_called(graph, tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "argv", list(sys.argv))
    name = f"samples_{zlib.crc32(str(tmp_path).encode())}"
    (tmp_path / f"{name}.py").write_text(
        "import numpy as np\n"
        "def samples():\n    return np.zeros((9, 8, 8, 3)), np.arange(9) % 4\n"
        "def broken():\n    raise RuntimeError('no disk')\n"
    )
    found = opened(f"{tmp_path}/{name}.py:samples", graph, LIMITS, bright)
    assert len(found) == 9
    with pytest.raises(PipelineError, match="no disk"):
        opened(f"{tmp_path}/{name}.py:broken", graph, LIMITS, bright)
    with pytest.raises(UsageError, match="which function of it returns the samples"):
        opened(f"{tmp_path}/{name}.py", graph, LIMITS, bright)


def test_what_does_not_fit_is_said(graph, tmp_path, photos):
    np.savez(tmp_path / "a.npz", x=np.ones((9, 5, 5, 3)), y=np.arange(9))
    with pytest.raises(UsageError, match=r"a\.npz: the samples do not fit the model\. It takes"):
        opened(str(tmp_path / "a.npz"), graph, LIMITS, bright)
    with pytest.raises(UsageError, match="--data nowhere: there is no such file or folder"):
        opened("nowhere", graph, LIMITS, bright)
    with pytest.raises(UsageError, match="these are images, and the model takes something else"):
        opened(str(photos), graph_of(models.nested_sequential()), LIMITS, bright)


def test_images_of_any_size_need_somebody_who_says_which(photos):
    import keras

    inputs = keras.Input((None, None, 3))
    model = keras.Model(inputs, keras.layers.GlobalAveragePooling2D()(inputs))
    with pytest.raises(UsageError, match="the model takes images of any size"):
        opened(str(photos), graph_of(model), LIMITS, bright)


def test_images_without_class_folders_have_no_labels(graph, photos):
    with pytest.raises((UsageError, PipelineError)) as error:
        opened(str(photos / "a"), graph, LIMITS, bright)
    assert "label" in str(error.value) or "class" in str(error.value)


@pytest.fixture
def code(tmp_path, monkeypatch):
    """Return the path of a file with functions of a user."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "argv", list(sys.argv))
    file = tmp_path / f"functions_{zlib.crc32(str(tmp_path).encode())}.py"
    file.write_text(
        "import numpy as np\n"
        "def score(model):\n    return 0.5\n"
        "def samples():\n"
        "    x = {'image': np.zeros((40, 6, 6, 1)), 'size': np.zeros((40, 2))}\n"
        "    return x, {'kind': np.zeros(40), 'age': np.zeros(40)}\n"
    )
    return file


def test_a_function_that_judges_is_found_and_not_called(code):
    assert function_named("--evaluate", f"{code}:score")(None) == 0.5
    with pytest.raises(UsageError, match="there is no function 'mark' in"):
        function_named("--evaluate", f"{code}:mark")
    with pytest.raises(UsageError, match="name a function with a colon"):
        function_named("--evaluate", "score")


def test_labels_of_several_outputs_are_left_out(code, photos):
    graph = graph_of(models.named())
    assert len(without_labels(f"{code}:samples", graph, LIMITS)) == 40
    with pytest.raises(UsageError, match="the labels of folders and packs are classes"):
        without_labels(str(photos), graph, LIMITS)
