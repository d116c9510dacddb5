"""Images in a pipeline: what a function shrinks, and how large the images of a source are."""

import struct
import sys
from types import SimpleNamespace

import pytest

from quickfit.probes.tf_data_images import MAX_LOOKS, image_sizes, shrinks_of


class Op:
    """An operation of a graph; its first input is the image."""

    def __init__(self, kind, *inputs, **attributes):
        self.type = kind
        self.inputs = [SimpleNamespace(op=op) for op in inputs]
        self.get_attr = attributes.get


@pytest.fixture(autouse=True)
def _constants(monkeypatch):
    """Stand in for TensorFlow's reader of constants."""
    module = SimpleNamespace(constant_value=lambda tensor: tensor.op.get_attr("value"))
    monkeypatch.setitem(sys.modules, "tensorflow.python.framework.tensor_util", module)


def size(*sides):
    return Op("Const", value=sides or None)


def test_a_resize_of_a_decoded_image_is_told_with_its_sizes():
    decoder = Op("DecodeJpeg", Op("ReadFile"), ratio=2)
    resize = Op("ResizeBilinear", Op("ExpandDims", Op("Cast", decoder)), size(96, 128))
    assert shrinks_of([decoder, resize]) == [
        {"decoder": "DecodeJpeg", "ratio": 2, "to": [96, 128], "is_cropped": False}
    ]


def test_a_crop_on_the_way_is_told():
    resize = Op("ScaleAndTranslate", Op("Slice", Op("DecodeImage", Op("Placeholder"))), size(9, 9))
    (found,) = shrinks_of([resize])
    assert found["is_cropped"]
    assert found["ratio"] == 1


def test_a_size_that_is_computed_is_unknown():
    resize = Op("ResizeArea", Op("DecodePng", Op("Placeholder")), size())
    (found,) = shrinks_of([resize])
    assert found["to"] is None


def test_a_resize_of_something_else_is_not_told():
    assert shrinks_of([Op("ResizeBilinear", Op("Placeholder"), size(9, 9)), Op("Cast")]) == []


class Strings:
    """A tensor of strings."""

    dtype = SimpleNamespace(name="string")

    def __init__(self, values):
        self.values = values
        self.shape = Shape((len(values),))

    def numpy(self):
        raise AssertionError("all of it was copied")

    def __getitem__(self, place):
        return SimpleNamespace(numpy=lambda: self.values[place])


class Shape(tuple):
    rank = property(len)


PNG = b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"IHDR", 40, 30)


def test_a_few_images_of_a_source_are_looked_at():
    found = image_sizes(SimpleNamespace(_tensors=[Strings([PNG] * 1000)]))
    assert found == [["png", 30, 40, len(PNG)]] * MAX_LOOKS


def test_sources_without_images_have_no_sizes():
    numbers = SimpleNamespace(dtype=SimpleNamespace(name="int64"))
    assert image_sizes(SimpleNamespace(_tensors=[numbers, Strings([b"some text"] * 3)])) == []
    assert image_sizes(SimpleNamespace(_tensors=[Strings([])])) == []
    assert image_sizes(SimpleNamespace()) == []


def test_the_line_of_the_decoder_is_told_and_a_padded_image_by_what_comes_out(tmp_path):
    decoder = Op("DecodePng", Op("Placeholder"))
    frames = [("/usr/lib/python3/site-packages/x.py", 5), (str(tmp_path / "load.py"), 7)]
    decoder.traceback = [SimpleNamespace(filename=f, lineno=n) for f, n in frames]
    shape = SimpleNamespace(rank=3, as_list=lambda: [96, 64, 1])
    (found,) = shrinks_of([Op("ResizeArea", decoder, size())], [SimpleNamespace(shape=shape)])
    assert (found["file"], found["line"]) == (str(tmp_path / "load.py"), 7)
    assert found["to"] == [96, 64]
