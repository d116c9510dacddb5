"""What a dataset says about itself can be read by a person."""

from types import SimpleNamespace

import pytest

from quickfit.data.entries import Entry, Reason, Rejection
from quickfit.data.imaging.description import Description, counts_of

SPEC = (
    SimpleNamespace(shape=(None, 32, 32, 3), dtype=SimpleNamespace(name="uint8")),
    SimpleNamespace(shape=(None,), dtype=SimpleNamespace(name="int32")),
)


def entries(*names, label=0):
    return [Entry(name, label, 10, f"/data/{name}") for name in names]


def described(images, names=("cat", "dog"), bad=(), left_out=()):
    steps = ["shuffled", "cached in memory (6.1 kB)"]
    return Description(images, list(names), list(bad), lambda: left_out, steps).text(SPEC)


def test_everything_is_in_one_line():
    assert described([*entries("cat/1.jpg"), *entries("dog/2.JPEG", label=1)]) == (
        "<images: 2 JPEG in 2 classes (cat 1, dog 1) → (?, 32, 32, 3) uint8 and (?,) int32, "
        "shuffled, cached in memory (6.1 kB)>"
    )


@pytest.mark.parametrize(
    ("names", "kind"),
    [
        (("a.png", "b.PNG"), "2 PNG"),
        (("a.png", "b.jpg"), "2 images"),
        (("a", "b"), "2 images"),
        (("a.xyz", "b.xyz"), "2 images"),
    ],
)
def test_the_kind_is_told_if_there_is_one(names, kind):
    assert f"<images: {kind} in 2 classes" in described(entries(*names))


def test_many_classes_are_cut_short():
    names = [f"class{number}" for number in range(200)]

    text = described(entries("a.jpg"), names)

    assert "in 200 classes (class0 1, class1 0, class2 0, class3 0, class4 0, class5 0, …)" in text


def test_one_class_and_none():
    assert "1 JPEG in 1 class (cat 1)" in described(entries("a.jpg"), ["cat"])
    assert "1 JPEG without labels" in described(entries("a.jpg"), [])


def test_what_is_left_out_is_counted():
    bad = [Rejection("c.jpg", Reason.TRUNCATED, "ends early")]

    text = described(entries("a.jpg", "b.jpg", "c.jpg"), bad=bad, left_out={2})

    assert "2 JPEG in 2 classes (cat 2, dog 0), 1 file left out →" in text


def test_classes_are_counted():
    images = [*entries("a.jpg", label=0), *entries("b.jpg", "c.jpg", label=2)]

    assert counts_of(images, 3) == [1, 0, 2]
