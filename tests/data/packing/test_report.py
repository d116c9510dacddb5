import io
import os
import shutil

import numpy as np
import pytest

from quickfit.data import pack
from quickfit.data.packing.report import (
    NoDisplay,
    ProgressBar,
    ProgressLines,
    ProgressTally,
    UnpackingProgress,
    plain_tensorflow_code,
    progress_display,
)
from quickfit.data.packing.workers import PackProgress, ProgressTicker

from hostile import truncated_jpeg
from photos import folder


class Clock:
    """A clock that a test sets."""

    def __init__(self):
        self.now_s = 100.0

    def __call__(self):
        return self.now_s


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def clock():
    return Clock()


def test_the_tally_tells_all_of_it(clock):
    tally = ProgressTally(2000, clock)
    clock.now_s += 10
    tally.done = PackProgress(500, 50_000_000, 3)
    assert tally.sentence() == (
        "500 of 2,000 images, 50 MB, 50 images/s, 5.0 MB/s, 30 s to go, 3 left out"
    )


def test_images_that_were_there_do_not_make_it_look_fast(clock):
    tally = ProgressTally(2000, clock)
    clock.now_s += 10
    tally.done = PackProgress(1100, 110_000_000, 0, kept=1000)
    assert "10 images/s, 1.0 MB/s, 90 s to go" in tally.sentence()


def test_nothing_is_said_of_speed_before_there_is_any(clock):
    assert ProgressTally(2000, clock).sentence() == "0 of 2,000 images, 0 bytes"
    assert ProgressTally(None, clock).sentence() == "0 images, 0 bytes"


def test_a_log_gets_a_line_every_few_seconds(clock):
    stream = io.StringIO()
    lines = ProgressLines(stream, 100, clock=clock)
    for _ in range(50):
        clock.now_s += 0.5
        lines.show(PackProgress(1, 1000))
    lines.close()
    assert stream.getvalue().count("\n") == 5
    assert stream.getvalue().startswith("packing: 10 of 100 images, 10 kB, 2 images/s")


def test_a_reader_that_has_gone_does_not_end_the_pack(clock):
    read, write = os.pipe()
    os.close(read)
    with open(write, "w") as stream:
        lines = ProgressLines(stream, 100, clock=clock)
        clock.now_s += 10
        lines.show(PackProgress(1, 1000))
        lines.show(PackProgress(1, 1000))
        os.dup2(os.open(os.devnull, os.O_WRONLY), write)  # for what it still holds


def test_no_time_is_guessed_at_the_start(clock):
    tally = ProgressTally(2000, clock)
    clock.now_s += 1
    tally.done = PackProgress(1, 1000)
    assert "to go" not in tally.sentence()


def test_a_terminal_gets_a_bar_that_goes_away():
    stream = Terminal()
    bar = progress_display(stream, 10)
    assert isinstance(bar, ProgressBar)
    bar.show(PackProgress(3, 1000))
    bar.close()
    assert "3 of 10 images" in stream.getvalue()


def test_unpacking_is_told_every_few_seconds(clock):
    stream = io.StringIO()
    unpacking = UnpackingProgress(stream, clock)
    for step in range(20):
        clock.now_s += 0.5
        unpacking.show(step * 1000, 20_000)
    assert stream.getvalue() == "unpacking: 9.0 kB of 20 kB\nunpacking: 19 kB of 20 kB\n"


def test_nobody_is_told_without_a_stream():
    silence = progress_display(None, 10)
    assert isinstance(silence, NoDisplay)
    silence.show(PackProgress(3, 1000))
    silence.close()


def test_progress_is_reported_ten_times_a_second(clock):
    heard = []
    ticker = ProgressTicker(heard.append, clock)
    for _ in range(100):
        clock.now_s += 0.01
        ticker.add(PackProgress(1, 10))
    ticker.flush()
    assert 8 <= len(heard) <= 11
    assert sum(done.images for done in heard) == 100


def test_what_a_dead_worker_had_done_is_taken_back():
    done = PackProgress(5, 100, 1, 2)
    assert done.plus(done.negative()) == PackProgress()


def test_it_reads_like_a_report(photos, tmp_path):
    text = repr(pack(photos, tmp_path / "pack", progress=False))
    first, second, *_ = text.splitlines()
    assert first.startswith("packed: 40 images as they are, ")
    assert first.endswith(f"kB in 1 shard in {first.split(' in ')[-1]}")
    assert second == "classes: cat 25, dog 15"
    assert f"quickfit.data.records({str(tmp_path / 'pack')!r}, batch=32, size=224)" in text
    assert '"image": tf.io.FixedLenFeature([], tf.string)' in text


def test_the_forms_are_said_in_words(photos, tmp_path):
    small = repr(pack(photos, tmp_path / "small", form="jpeg256", progress=False))
    assert "40 images as JPEG, short side at most 256, quality 90" in small
    raw = repr(pack(photos, tmp_path / "raw", form="raw", size="8x9", progress=False))
    assert "40 images as raw pixels 8x9" in raw
    assert f"quickfit.data.records({str(tmp_path / 'raw')!r}, batch=32)" in raw


def test_many_classes_are_a_few_and_a_number(tmp_path):
    folder(tmp_path / "photos", {f"class{number:02d}": 1 for number in range(12)})
    packed = pack(tmp_path / "photos", tmp_path / "pack", form="raw", size=4, progress=False)
    assert "class07 1, and 4 more" in repr(packed)


def test_what_was_left_out_can_be_asked_for(tmp_path):
    folder(tmp_path / "photos", {"cat": 2})
    (tmp_path / "photos" / "cat" / "half.jpg").write_bytes(truncated_jpeg())
    packed = pack(tmp_path / "photos", tmp_path / "pack", progress=False)
    (rejection,) = packed.rejections()
    assert (rejection.name, rejection.reason) == ("cat/half.jpg", "truncated")
    assert "1 of 3 images were left out: 1 truncated (" in repr(packed)


@pytest.mark.loads_tf
@pytest.mark.parametrize("form", ["original", "jpeg256", "raw"])
def test_the_printed_lines_read_the_pack_with_plain_tensorflow(photos, tmp_path, tf, form):
    packed = pack(photos, tmp_path / "pack", form=form, shard_bytes=20_000, progress=False)
    names = {"tf": tf}
    exec(plain_tensorflow_code(packed.folder, packed.manifest), names)
    elements = list(names["dataset"].as_numpy_iterator())
    assert len(elements) == 40
    assert sorted(int(label) for _, label in elements) == [0] * 25 + [1] * 15
    shape = (224, 224, 3) if form == "raw" else (60, 80, 3)
    assert {image.shape for image, _ in elements} == {shape}


@pytest.mark.loads_tf
def test_tensorflow_writes_the_same_fields(photos, tmp_path, tf, read_pack):
    packed = pack(photos, tmp_path / "pack", progress=False)
    files = [str(file) for file in sorted(packed.folder.glob("*.tfrecord"))]
    for message, record in zip(
        tf.data.TFRecordDataset(files).as_numpy_iterator(), read_pack(packed.folder), strict=True
    ):
        features = tf.train.Example.FromString(message).features.feature
        assert features["image"].bytes_list.value[0] == record.image
        assert features["path"].bytes_list.value[0] == record.path.encode()
        assert features["sha256"].bytes_list.value[0] == record.sha256
        assert features["label"].int64_list.value[:] == [record.label]
        assert features["height"].int64_list.value[:] == [60]
        assert len(features) == 8


@pytest.mark.loads_tf
def test_a_dataset_of_tensorflow_can_be_packed(tmp_path, tf, read_pack):
    images = np.arange(5 * 4 * 6 * 3, dtype=np.uint8).reshape(5, 4, 6, 3)
    dataset = tf.data.Dataset.from_tensor_slices((images, [3, 1, 4, 1, 5]))
    packed = pack(dataset, tmp_path / "pack", progress=False)
    assert [record.label for record in read_pack(packed.folder)] == [3, 1, 4, 1, 5]
    assert packed.class_counts == (0, 2, 0, 1, 1, 1)


def test_a_loss_that_nobody_can_count_is_a_warning_and_no_image(tmp_path):
    folder(tmp_path / "photos", {"cat": 3})
    (tmp_path / "photos" / "cat" / "half.jpg").write_bytes(truncated_jpeg())
    shutil.make_archive(str(tmp_path / "x"), "tar", tmp_path / "photos")
    with (tmp_path / "x.tar").open("ab") as stream:
        stream.write(b"?" * 512)
    pack(tmp_path / "x.tar", tmp_path / "pack", progress=False)
    again = pack(tmp_path / "x.tar", tmp_path / "pack", progress=False)
    first, second, *rest = repr(again).splitlines()
    verify = f"quickfit pack --verify {tmp_path / 'pack'}"
    assert first.endswith(f" (not compared byte by byte: {verify})")
    assert second.startswith("WARNING: x.tar: the archive is damaged at byte")
    assert second.endswith("an unknown number of images is missing. Get a whole copy of it")
    assert "1 of 4 images were left out: 1 truncated (" in "\n".join(rest)


def test_folders_that_cannot_be_listed_are_counted_as_folders(tmp_path):
    folder(tmp_path / "photos", {"cat": 1})
    handle = os.open(tmp_path / "photos", os.O_RDONLY)
    for _ in range(20):  # deeper than a path can be long
        os.mkdir("n" * 250, dir_fd=handle)
        inner = os.open("n" * 250, os.O_RDONLY, dir_fd=handle)
        os.close(handle)
        handle = inner
    os.close(handle)
    packed = pack(tmp_path / "photos", tmp_path / "pack", progress=False)
    (warning,) = packed.warnings()
    assert warning.startswith("1 folder could not be listed (nnn")
    assert warning.endswith("): an unknown number of images is missing")
    assert len(warning) < 350
    assert "left out" not in repr(packed)
