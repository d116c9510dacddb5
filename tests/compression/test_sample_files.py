"""Samples from what a command line names."""

import sys
import zlib
from pathlib import Path

import numpy as np
import pytest

from compression import models
from quickfit.compression.calibration import ModelInput
from quickfit.compression.graph import graph_of
from quickfit.compression.sample_files import (
    SCALES,
    SampleLimits,
    best_scale,
    function_named,
    image_size,
    in_channels,
    is_pack,
    read_npz,
    read_samples,
    scale_images,
    without_labels,
)
from quickfit.errors import PipelineError, UsageError

LIMITS = SampleLimits(1000)


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


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_a_folder_comes_in_the_size_and_the_scale_of_the_model(graph, photos):
    found = read_samples(str(photos), graph, LIMITS, bright)
    assert found.arrays[0].shape == (12, 8, 8, 3)
    assert found.class_names == ("a", "b", "c", "d")
    np.testing.assert_allclose(
        found.arrays[0][:, 0, 0, 0], found.labels * 60 / 255, rtol=0, atol=0.01
    )
    assert "Images go in with values from 0 to 1" in found.notes[-1]


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_a_pack_is_read_too(graph, photos, tmp_path):
    from quickfit.data import pack

    pack(str(photos), str(tmp_path / "packed"), workers=1, progress=False)
    found = read_samples(str(tmp_path / "packed"), graph, LIMITS, bright)
    assert len(found) == 12
    assert sorted(found.labels.tolist()) == sorted([0, 1, 2, 3] * 3)


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_grey_images_are_made_for_models_that_take_them(photos):
    import keras

    model = keras.Sequential(
        [keras.Input((4, 4, 1)), keras.layers.Flatten(), keras.layers.Dense(4)]
    )
    found = read_samples(str(photos), graph_of(model), LIMITS, lambda samples: 0.5)
    assert found.arrays[0].shape == (12, 4, 4, 1)
    assert found.arrays[0].max() == 180


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_an_npz_file_is_read(graph, tmp_path):
    np.savez(tmp_path / "a.npz", x=np.ones((9, 8, 8, 3)), y=np.arange(9) % 4)
    assert len(read_samples(str(tmp_path / "a.npz"), graph, LIMITS, bright)) == 9


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_a_function_is_called(graph, tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "argv", list(sys.argv))
    name = f"samples_{zlib.crc32(str(tmp_path).encode())}"
    (tmp_path / f"{name}.py").write_text(
        "import numpy as np\n"
        "def samples():\n    return np.zeros((9, 8, 8, 3)), np.arange(9) % 4\n"
        "def broken():\n    raise RuntimeError('no disk')\n"
    )
    found = read_samples(f"{tmp_path}/{name}.py:samples", graph, LIMITS, bright)
    assert len(found) == 9
    with pytest.raises(PipelineError, match="no disk"):
        read_samples(f"{tmp_path}/{name}.py:broken", graph, LIMITS, bright)
    with pytest.raises(UsageError, match="which function of it returns the samples"):
        read_samples(f"{tmp_path}/{name}.py", graph, LIMITS, bright)


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_what_does_not_fit_is_said(graph, tmp_path, photos):
    np.savez(tmp_path / "a.npz", x=np.ones((9, 5, 5, 3)), y=np.arange(9))
    with pytest.raises(UsageError, match=r"a\.npz: the samples do not fit the model\. It takes"):
        read_samples(str(tmp_path / "a.npz"), graph, LIMITS, bright)
    with pytest.raises(UsageError, match="--data nowhere: there is no such file or folder"):
        read_samples("nowhere", graph, LIMITS, bright)
    with pytest.raises(UsageError, match="these are images, and the model takes something else"):
        read_samples(str(photos), graph_of(models.nested_sequential()), LIMITS, bright)


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_images_of_any_size_need_somebody_who_says_which(photos):
    import keras

    inputs = keras.Input((None, None, 3))
    model = keras.Model(inputs, keras.layers.GlobalAveragePooling2D()(inputs))
    with pytest.raises(UsageError, match="the model takes images of any size"):
        read_samples(str(photos), graph_of(model), LIMITS, bright)


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_images_without_class_folders_have_no_labels(graph, photos):
    with pytest.raises((UsageError, PipelineError)) as error:
        read_samples(str(photos / "a"), graph, LIMITS, bright)
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


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_a_function_that_judges_is_found_and_not_called(code):
    assert function_named("--evaluate", f"{code}:score")(None) == 0.5
    with pytest.raises(UsageError, match="there is no function 'mark' in"):
        function_named("--evaluate", f"{code}:mark")
    with pytest.raises(UsageError, match="name a function with a colon"):
        function_named("--evaluate", "score")


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_labels_of_several_outputs_are_left_out(code, photos):
    graph = graph_of(models.named())
    assert len(without_labels(f"{code}:samples", graph, LIMITS)) == 40
    with pytest.raises(UsageError, match="the labels of folders and packs are classes"):
        without_labels(str(photos), graph, LIMITS)


IMAGE = [ModelInput("image", ("image",), (None, 2, 2), "float32")]
TWO = [*IMAGE, ModelInput("size", ("size",), (None, 1), "float32")]
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


PATH = Path("photos")
BYTES = np.arange(256, dtype="uint8").reshape(1, 16, 16, 1)


def wanted(*shape):
    return [ModelInput("image", ("image",), shape, "float32")]


def test_the_size_is_that_of_the_input():
    assert image_size(wanted(None, 8, 9, 3), PATH) == (8, 9)


@pytest.mark.parametrize(
    ("shape", "said"),
    [
        ((None, 20), "these are images, and the model takes something else"),
        ((None, 8, 8, 4), "these are images, and the model takes something else"),
        ((None, None, None, 3), "the model takes images of any size"),
    ],
)
def test_what_is_no_image_of_a_size_is_said(shape, said):
    with pytest.raises(UsageError, match=said):
        image_size(wanted(*shape), PATH)


def test_records_make_a_pack(tmp_path):
    assert not is_pack(tmp_path)
    (tmp_path / "a-00000.tfrecord").touch()
    assert is_pack(tmp_path)
    assert is_pack(tmp_path / "a-00000.tfrecord")
    assert not is_pack(tmp_path / "nowhere")


@pytest.mark.parametrize("name", SCALES)
def test_black_and_white_are_where_the_scale_has_them(name):
    images = scale_images(BYTES, SCALES[name])
    assert images.dtype == np.float32
    assert (images.min(), images.max()) == pytest.approx(SCALES[name], abs=1e-6)


def test_colours_become_grey_by_their_brightness():
    colours = np.zeros((1, 2, 2, 3), "uint8")
    colours[..., 1] = 100
    grey = in_channels(colours, 1)
    assert (grey.shape, grey.dtype, grey.max()) == ((1, 2, 2, 1), np.uint8, 59)
    assert in_channels(colours, 3) is colours


def test_the_best_scale_is_the_one_with_most_right_answers():
    name, tried = best_scale(BYTES, lambda images: 0.9 if images.min() < 0 else 0.3)
    assert name == "-1 to 1"
    assert tried == {"0 to 255": 0.3, "0 to 1": 0.3, "-1 to 1": 0.9}
