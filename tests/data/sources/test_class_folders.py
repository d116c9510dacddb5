import pytest

from quickfit.data.entries import Reason
from quickfit.data.sources.class_folders import label_by_folder, notes_on
from quickfit.data.sources.listing import Gathered


def gathered(*names, folders=(), others=()):
    found = Gathered()
    for name in names:
        found.add(name, 1)
    found.folders = list(folders)
    for name in others:
        found.pass_over(name)
    return found


def test_the_first_level_names_the_class_of_all_that_lies_in_it():
    labels, classes = label_by_folder(gathered("cat/1.jpg", "cat/x/2.jpg", "dog/3.jpg"))
    assert list(labels) == [0, 0, 1]
    assert classes == ("cat", "dog")


def test_a_folder_without_class_folders_has_no_labels():
    assert label_by_folder(gathered("1.jpg", "2.jpg", folders=["empty"])) == (None, ())


def test_an_image_beside_class_folders_is_rejected_and_no_label_shifts():
    found = gathered("a/1.jpg", "beside.jpg", "z/2.jpg")
    labels, classes = label_by_folder(found)
    assert list(labels) == [0, 1]
    assert classes == ("a", "z")
    assert found.names == ["a/1.jpg", "z/2.jpg"]
    assert len(found.sizes) == len(found.offsets) == 2
    assert found.rejected[0].name == "beside.jpg"
    assert "outside of the class folders" in found.rejected[0].detail


def test_an_empty_class_folder_keeps_its_number():
    found = gathered("a/1.jpg", "z/2.jpg", folders=["a", "m", "z"])
    labels, classes = label_by_folder(found)
    assert classes == ("a", "m", "z")
    assert list(labels) == [0, 2]


def test_a_folder_of_other_files_keeps_its_number_and_is_told():
    found = gathered("owl/1.jpg", folders=["dog", "owl"], others=["dog/1.xml", "owl/x.txt"])
    labels, classes = label_by_folder(found)
    assert classes == ("dog", "owl")
    assert list(labels) == [1]
    [note] = notes_on(found.names, classes, "", "")
    assert note.startswith("no image in the class dog: it keeps its number")


def test_a_class_all_of_whose_images_are_rejected_keeps_its_number():
    found = gathered("b/1.jpg")
    found.reject("a/1.jpg", Reason.EMPTY, "")
    found.reject("../x/1.jpg", Reason.UNSAFE_PATH, "")
    labels, classes = label_by_folder(found)
    assert classes == ("a", "b")
    assert list(labels) == [1]


def test_a_link_loop_is_no_class():
    found = gathered("b/1.jpg", folders=["b", "loop"])
    found.reject("loop", Reason.LINK_LOOP, "")
    assert label_by_folder(found)[1] == ("b",)


def test_classes_can_lie_below_a_top_folder():
    labels, classes = label_by_folder(gathered("set/cat/1.jpg", "set/dog/1.jpg"), "set/")
    assert (list(labels), classes) == ([0, 1], ("cat", "dog"))


@pytest.mark.parametrize("names", [("train", "val"), ("Test", "Train", "Valid")])
def test_says_that_classes_look_like_splits(names):
    note = notes_on([f"{name}/1.jpg" for name in names], names, "", "photos/")[0]
    assert "these look like splits" in note
    assert note.endswith(f"give photos/{names[0]}")


def test_says_that_the_only_class_has_folders_in_it():
    note = notes_on(
        ["set/images/cat/1.jpg", "set/images/dog/1.jpg"], ("images",), "set/", "root=set/"
    )
    assert "one class, images, and folders in it (cat, dog)" in note[0]
    assert note[0].endswith("give root=set/images")


def test_says_nothing_about_ordinary_classes():
    assert notes_on(["cat/1.jpg", "dog/x/1.jpg"], ("cat", "dog"), "", "") == []
    assert notes_on(["train/1.jpg"], ("train",), "", "") == []
