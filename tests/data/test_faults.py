"""Files that cannot be used are named; labels never shift."""

import pytest

from quickfit.data import images
from quickfit.data.entries import Reason, Rejection, SourceImageError, escape_name
from quickfit.data.faults import RecordFaults, format_rejection
from quickfit.errors import PipelineError

from hostile import bomb_jpeg, bomb_png, truncated_jpeg
from photos import folder, jpeg, photo

BAD = {
    "cat/00001.jpg": (truncated_jpeg(), "truncated: "),
    "dog/00009.jpg": (b"hello", "not-an-image: "),
    "cat/00004.jpg": (bomb_jpeg(), "too-large: "),
    "dog/00007.jpg": (bomb_png(), "too-large: "),
}


@pytest.fixture
def animals(tmp_path):
    folder(tmp_path, {"cat": 6, "dog": 4}, size=(30, 40))
    return tmp_path


def spoil(path, *names):
    for name in names:
        (path / name).write_bytes(BAD[name][0])


def epoch(dataset):
    return [int(label) for _, labels in dataset.as_numpy_iterator() for label in labels]


@pytest.mark.loads_tf
@pytest.mark.parametrize("name", BAD)
def test_the_error_names_the_file_and_the_reason(tf, animals, name):
    # Made before the file is spoiled, so that only decoding can notice it.
    dataset = images(animals, size=16, batch=4, shuffle=name.startswith("cat"))
    spoil(animals, name)

    with pytest.raises(tf.errors.OpError) as error:
        epoch(dataset)

    assert f"{name}: {BAD[name][1]}" in str(error.value)
    assert f"The file is {animals / name}" in str(error.value)
    assert 'images(..., on_bad="skip")' in str(error.value)


@pytest.mark.loads_tf
def test_a_file_that_vanished_is_named(tf, animals):
    dataset = images(animals, size=16, batch=4)
    (animals / "dog" / "00008.jpg").unlink()

    with pytest.raises(tf.errors.OpError, match=r"dog/00008\.jpg: vanished: "):
        epoch(dataset)


@pytest.mark.loads_tf
@pytest.mark.parametrize("cache", [None, "memory"])
def test_bad_files_are_left_out_and_listed(tf, animals, capsys, cache):
    spoil(animals, *BAD)
    dataset = images(animals, size=16, batch=4, on_bad="skip", cache=cache)

    assert [sorted(epoch(dataset)) for _ in range(3)] == [[0, 0, 0, 0, 1, 1]] * 3
    assert {item.name for item in dataset.bad_files} == set(BAD)
    assert dataset.class_counts == [4, 2]
    told = capsys.readouterr().err
    assert told.count("quickfit: left out 4 of 10 files") == 1
    assert "  cat/00001.jpg: truncated: ends after" in told
    assert "4 files left out" in repr(dataset)


@pytest.mark.loads_tf
def test_labels_do_not_shift_when_files_are_left_out(tf, animals):
    plain = images(animals, size=16, batch=10, shuffle=False)
    ((batch, labels),) = plain.as_numpy_iterator()
    label_of = {image.tobytes(): int(label) for image, label in zip(batch, labels, strict=True)}
    spoil(animals, "cat/00001.jpg", "dog/00007.jpg")

    dataset = images(animals, size=16, batch=3, on_bad="skip", cache="memory", drop_remainder=True)

    for _ in range(2):
        batches = list(dataset.as_numpy_iterator())
        assert [len(labels) for _, labels in batches] == [3, 3]
        for batch, labels in batches:
            for image, label in zip(batch, labels, strict=True):
                assert label_of[image.tobytes()] == label


@pytest.mark.loads_tf
def test_a_folder_of_nothing_but_bad_files_is_an_error(tf, tmp_path):
    for number in range(3):
        (tmp_path / f"{number}.jpg").write_bytes(truncated_jpeg())

    with pytest.raises(tf.errors.OpError) as error:
        list(images(tmp_path, size=16, on_bad="skip"))

    assert "none of the 3 images can be used; the first is" in str(error.value)


@pytest.mark.loads_tf
def test_an_error_of_the_augmentation_is_not_taken_for_a_bad_file(tf, animals):
    def broken(batch):
        return tf.debugging.check_numerics(tf.cast(batch, tf.float32) / 0.0, "mine")

    dataset = images(animals, size=16, batch=4, augment=broken, on_bad="skip")

    with pytest.raises(tf.errors.InvalidArgumentError, match="mine"):
        epoch(dataset)
    assert dataset.bad_files == []


@pytest.mark.loads_tf
def test_a_long_list_is_cut_short(tf, tmp_path, capsys):
    (tmp_path / "good.jpg").write_bytes(jpeg(photo(30, 40)))
    for number in range(12):
        (tmp_path / f"{number:02d}.jpg").write_bytes(truncated_jpeg())

    dataset = images(tmp_path, size=16, on_bad="skip")
    assert sum(len(batch) for batch in dataset) == 1

    told = capsys.readouterr().err
    assert "left out 12 of 13 files" in told
    assert told.count("truncated") == 10
    assert "and 2 more" in told


def test_a_rejection_is_one_line():
    rejection = Rejection("a\nb\udcff.jpg", Reason.TRUNCATED, "ends early")

    assert format_rejection(rejection) == r"a\nb\udcff.jpg: truncated: ends early"


def test_a_usual_name_stays_as_it_is():
    assert escape_name("Kätzchen 1.jpg") == "Kätzchen 1.jpg"


ERROR = SourceImageError(Reason.CORRUPT, "its bytes differ")


def test_the_first_is_an_error_that_says_what_to_do():
    with pytest.raises(PipelineError) as caught:
        RecordFaults(skips=False).note("a, record 3", ERROR, "Copy it again.")
    assert str(caught.value) == (
        "a, record 3: corrupt: its bytes differ.\nCopy it again.\n"
        'To leave out what is damaged: records(..., on_bad="skip")'
    )


def test_each_is_listed_once_and_the_first_ones_are_told(capsys):
    faults = RecordFaults(skips=True)
    for number in [*range(15), *range(15)]:
        faults.note(f"a, record {number}", ERROR, "")
    assert len(faults.rejections) == 15
    assert faults.rejections[0] == Rejection("a, record 0", Reason.CORRUPT, "its bytes differ")
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "quickfit: left out: a, record 0: corrupt: its bytes differ"
    assert len(lines) == 11
    assert "`bad_records`" in lines[-1]


def test_names_cannot_write_to_the_terminal(capsys):
    RecordFaults(skips=True).note("a\x1b[2J\nb\udcff", ERROR, "")
    assert "a\\x1b[2J\\nb\\udcff" in capsys.readouterr().err
