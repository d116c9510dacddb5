from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quickfit.data.entries import Entry, Reason
from quickfit.data.sources import split_entries
from quickfit.data.sources.labels import (
    encode_label_texts,
    encode_labels,
    folder_notes,
    label_by_folder,
)
from quickfit.data.sources.listing import Gathered
from quickfit.errors import UsageError

NAMES = ["a.jpg", "b.jpg", "c.jpg"]


def encoded(values, names=NAMES):
    numbers, classes = encode_labels(values, names)
    return list(numbers), classes


def test_numbers_with_a_point_in_a_text_file_are_numbers_as_in_a_table():
    values = [f"{number}.0" for number in (0, 2, 10)]
    numbers, classes = encode_label_texts(values, NAMES)
    assert list(numbers) == [0, 2, 10]
    assert len(classes) == 11
    with pytest.raises(UsageError, match="is no whole number"):
        encode_label_texts(["0.37", "0.74", "1.5"], NAMES)


@pytest.mark.parametrize(
    "values",
    [
        pytest.param([2, 0, 2], id="list"),
        pytest.param((2.0, 0.0, 2.0), id="floats of a table with gaps"),
        pytest.param(np.array([2, 0, 2], dtype=np.uint8), id="array"),
        pytest.param(np.array([[2], [0], [2]]), id="column"),
        pytest.param(iter([2, 0, 2]), id="iterator"),
    ],
)
def test_keeps_numbers_as_they_are(values):
    assert encoded(values) == ([2, 0, 2], ("0", "1", "2"))


def test_makes_sorted_classes_of_texts():
    assert encoded(["dog", "cat", "dog"]) == ([1, 0, 1], ("cat", "dog"))
    assert encoded(np.array([b"dog", b"cat", b"dog"])) == ([1, 0, 1], ("cat", "dog"))


def test_minus_one_stands_for_no_label():
    assert encoded([-1, 0, 1]) == ([-1, 0, 1], ("0", "1"))


def test_takes_truth_values_for_two_classes():
    assert encoded([True, False, True]) == ([1, 0, 1], ("0", "1"))


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ([1, 2], r"labels has 2 items for 3 images"),
        ([1, 2, None], r"the label of c\.jpg is missing \(None\)"),
        ([1, float("nan"), 2], r"the label of b\.jpg is missing \(nan\)"),
        (["x", float("nan"), "y"], r"the label of b\.jpg is missing"),
        (["x", 1, "y"], r"mixes texts \('x'\) and other values \(1, for b\.jpg\)"),
        (["x", " ", "y"], r"the label of b\.jpg is empty"),
        ([0.5, 1, 2], r"the label 0\.5 of a\.jpg is no whole number"),
        ([[1], [2], [3]], r"the label \[1\] of a\.jpg is no whole number"),
        ([0, 1, -2], r"labels go from -2 to 1"),
        ([0, 1, 10**9], r"labels go from 0 to 1,000,000,000"),
        (np.eye(3), r"shape \(3, 3\).*\n.*argmax"),
    ],
)
def test_says_which_label_is_wrong_and_why(values, says):
    with pytest.raises(UsageError, match=says):
        encoded(values)


def test_takes_whole_numbers_in_a_text_file_for_numbers():
    assert encode_label_texts(["2", "0", "10"], NAMES)[1] == tuple(
        str(number) for number in range(11)
    )


@pytest.mark.parametrize("values", [["01", "02", "03"], ["1", "2", "x"], ["100000", "1", "2"]])
def test_takes_other_numbers_in_a_text_file_for_names(values):
    assert encode_label_texts(values, NAMES)[1] == tuple(sorted(values))


def test_says_that_a_label_is_no_utf8():
    with pytest.raises(UsageError, match=r"of b\.jpg is no UTF-8"):
        encode_label_texts(["x", "caf\udce9", "y"], NAMES)


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
    [note] = folder_notes(found.names, classes, "", "")
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
    note = folder_notes([f"{name}/1.jpg" for name in names], names, "", "photos/")[0]
    assert "these look like splits" in note
    assert note.endswith(f"give photos/{names[0]}")


def test_says_that_the_only_class_has_folders_in_it():
    note = folder_notes(
        ["set/images/cat/1.jpg", "set/images/dog/1.jpg"], ("images",), "set/", "root=set/"
    )
    assert "one class, images, and folders in it (cat, dog)" in note[0]
    assert note[0].endswith("give root=set/images")


def test_says_nothing_about_ordinary_classes():
    assert folder_notes(["cat/1.jpg", "dog/x/1.jpg"], ("cat", "dog"), "", "") == []
    assert folder_notes(["train/1.jpg"], ("train",), "", "") == []


def entries(*counts):
    return [
        Entry(f"class{label}/{number}.jpg", label, 1, "x")
        for label, count in enumerate(counts)
        for number in range(count)
    ]


def counted(part):
    return dict(Counter(entry.label for entry in part))


def test_splits_every_class_alike():
    train, validation = split_entries(entries(100, 50, 10), 0.2, seed=1)
    assert counted(train) == {0: 80, 1: 40, 2: 8}
    assert counted(validation) == {0: 20, 1: 10, 2: 2}


def test_makes_as_many_parts_as_there_are_shares():
    parts = split_entries(entries(100, 50), (0.8, 0.1, 0.1), seed=1)
    assert [counted(part) for part in parts] == [{0: 80, 1: 40}, {0: 10, 1: 5}, {0: 10, 1: 5}]


def test_small_classes_share_the_images_that_rounding_leaves():
    parts = split_entries(entries(*[2] * 50), 0.2, seed=1)
    assert [len(part) for part in parts] == [80, 20]
    assert max(counted(parts[1]).values()) == 1


@given(
    counts=st.lists(st.integers(1, 30), min_size=1, max_size=8),
    shares=st.sampled_from([(0.5, 0.5), (0.8, 0.1, 0.1), (1 / 3, 1 / 3, 1 / 3), (0.7, 0.3)]),
    seed=st.integers(0, 5),
)
def test_loses_and_doubles_nothing_and_stays_near_the_shares(counts, shares, seed):
    given_entries = entries(*counts)
    try:
        parts = split_entries(given_entries, shares, seed)
    except UsageError:
        assert len(given_entries) < 12
        return
    assert sorted(entry.name for part in parts for entry in part) == sorted(
        entry.name for entry in given_entries
    )
    for part, share in zip(parts, shares, strict=True):
        assert abs(len(part) - share * len(given_entries)) < 1
        for label, count in enumerate(counts):
            assert abs(counted(part).get(label, 0) - share * count) < len(shares)


def test_the_order_of_the_entries_does_not_matter():
    forward = split_entries(entries(30, 20), 0.3, seed=4)
    backward = split_entries(entries(30, 20)[::-1], 0.3, seed=4)
    assert [{e.name for e in part} for part in forward] == [
        {e.name for e in part} for part in backward
    ]


def test_each_part_keeps_the_order_of_the_entries():
    for part in split_entries(entries(30, 20), 0.3, seed=4):
        assert part == [entry for entry in entries(30, 20) if entry in part]


def test_an_image_stays_on_its_side_when_others_are_added():
    before = {e.name for e in split_entries(entries(100, 100), 0.2, seed=0)[1]}
    added_elsewhere = {e.name for e in split_entries(entries(100, 100, 50), 0.2, seed=0)[1]}
    assert before <= added_elsewhere
    added_here = {e.name for e in split_entries(entries(110, 100), 0.2, seed=0)[1]}
    assert len(before - added_here) <= 4


def test_another_seed_gives_another_split_and_the_same_the_same():
    first, again, other = (
        {e.name for e in split_entries(entries(100), 0.5, seed=seed)[1]} for seed in (0, 0, 1)
    )
    assert first == again != other
    assert 10 < len(first & other) < 40


def test_splits_names_that_are_no_utf8():
    odd = [Entry(f"caf\udce9{number}.jpg", -1, 1, "x") for number in range(4)]
    assert [len(part) for part in split_entries(odd, 0.5)] == [2, 2]


@pytest.mark.parametrize(
    ("shares", "says"),
    [
        (0, r"the split 0 is none"),
        (1.0, r"the split 1\.0 is none"),
        (-0.2, r"the split -0\.2 is none"),
        ((1.0,), r"is none: give the share"),
        ((), r"is none"),
        ((0.5, 0.2), r"\(0\.5, 0\.2\) sum to 0\.7: they have to sum to 1"),
        ((0.9, 0.1), r"3 images cannot be split into 0\.9, 0\.1: the parts would have 3, 0"),
    ],
)
def test_says_what_is_wrong_with_the_shares(shares, says):
    with pytest.raises(UsageError, match=says):
        split_entries(entries(3), shares)
