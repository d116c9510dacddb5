import numpy as np
import pytest

from quickfit.data.packing.items import Labels, item, labels_of
from quickfit.errors import UsageError


class Tensor:
    """Has its value as tensors of TensorFlow do."""

    def __init__(self, value):
        self._value = value

    def numpy(self):
        return self._value


def taken(*value, labels=None):
    return item(value, 4, labels or Labels())


@pytest.mark.parametrize(
    ("label", "number"),
    [(3, 3), (np.int64(3), 3), (np.array([3]), 3), (Tensor(np.int32(3)), 3), (None, -1)],
)
def test_labels_of_every_library_are_numbers(label, number):
    assert taken(b"x", label).label == number


def test_texts_of_every_library_are_names():
    labels = Labels()
    for text in ("cat", b"cat", np.str_("cat"), Tensor(b"cat")):
        assert taken(b"x", text, labels=labels).label == 0
    assert labels.classes() == ["cat"]


def test_the_image_of_a_tensor_is_taken():
    pixels = np.zeros((4, 5, 3), np.uint8)
    assert taken(Tensor(pixels), 0).image.shape == (4, 5, 3)
    assert taken(Tensor(b"file"), 0).image == b"file"


def test_a_pil_image_is_taken_with_its_pixels():
    from PIL import Image

    gray = Image.fromarray(np.full((4, 5), 7, np.uint8))
    for mode, shape in (("L", (4, 5)), ("RGB", (4, 5, 3)), ("RGBA", (4, 5, 4)), ("P", (4, 5, 3))):
        image = taken(gray.convert(mode), 0).image
        assert image.shape == shape
        assert (image[..., 0] == 7).all()


@pytest.mark.parametrize("image", [b"file", np.zeros((4, 5, 3), np.uint8), Tensor(b"file")])
def test_an_image_alone_has_no_label_and_its_number_for_a_name(image):
    alone = item(image, 4, Labels())
    assert (alone.name, alone.label) == ("00000004", -1)


def test_a_dictionary_is_an_item():
    labels = Labels()
    given = item({"image": b"x", "label": "cat", "name": "n", "id": 5}, 4, labels)
    assert (given.image, given.label, given.name) == (b"x", 0, "n")
    assert item({"image": b"x"}, 4, Labels()).label == -1
    with pytest.raises(UsageError, match=r"of the iterable is dict \{'pixels': b'x'\}"):
        item({"pixels": b"x"}, 4, labels)


@pytest.mark.parametrize(
    ("value", "what"),
    [
        ((b"x",), "item 4 of the iterable is tuple (b'x',)"),
        ((b"x", 0, "a", 1), "Each item must be (image, label)"),
        ((5, 0), "the image is int 5"),
        ((None, 0), "the image is NoneType None"),
        (("", 0), "has the name str ''"),
        ((b"x", 0, 7), "has the name int 7"),
        ((b"x", -1), "has the label int -1. A label is a whole number from 0"),
        ((b"x", 0.5), "has the label float 0.5"),
        ((b"x", np.array([0, 1])), "Of a one-hot label give label.argmax()"),
        ((np.zeros((4, 4, 3)), 0), "has the type float64; pixels are uint8"),
        ((np.zeros((4, 4, 5), np.uint8), 0), "has the shape (4, 4, 5)"),
        ((np.zeros((0, 4, 3), np.uint8), 0), "has the shape (0, 4, 3)"),
        ((np.zeros((8, 4, 4, 3), np.uint8), 0), "This looks like a batch"),
    ],
)
def test_what_is_no_item_is_said_with_the_value(value, what):
    with pytest.raises(UsageError) as error:
        taken(*value)
    assert what in str(error.value)


def test_labels_must_be_all_names_or_all_numbers():
    labels = Labels()
    taken(b"x", "cat", labels=labels)
    with pytest.raises(UsageError, match="the labels before it were names"):
        taken(b"x", 1, labels=labels)


def test_a_label_that_was_not_given_is_an_error():
    with pytest.raises(UsageError, match=r"'owl', which is none of `labels` \(cat, dog\)"):
        taken(b"x", "owl", labels=labels_of(["cat", "dog"]))


@pytest.mark.parametrize("given", [[0, 1], ["cat", "cat"]])
def test_names_of_classes_must_be_names_each_once(given):
    with pytest.raises(
        UsageError, match=r"are the names of the classes(.|\n)*zip\(images, labels\)"
    ):
        labels_of(given)


def test_huge_numbers_are_no_classes():
    labels = Labels()
    taken(b"x", 10**12, labels=labels)
    assert labels.classes() == []
