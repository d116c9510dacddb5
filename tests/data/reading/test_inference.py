"""Fields found in the first records."""

import pytest

from quickfit.data.reading.inference import inferred
from quickfit.errors import PipelineError

from photos import jpeg, photo
from record_files import example, flipped, written

pytestmark = pytest.mark.loads_tf


def fields(*files):
    found = inferred({str(file): "" for file in files}).fields
    return {name: str(field) for name, field in found.items()}


def test_one_value_several_and_any_number_are_told_apart(tmp_path, tf):
    records = [example(one=n, three=[0.5] * 3, some=[b"x"] * n) for n in range(1, 5)]
    assert fields(written(tmp_path / "a", records)) == {
        "one": "int64",
        "some": "string[]",
        "three": "float32[3]",
    }


def test_a_field_that_some_records_lack_has_any_number(tmp_path, tf):
    records = [example(a=1, b=1), example(a=2), example(a=3, b=[])]
    assert fields(written(tmp_path / "a", records)) == {"a": "int64", "b": "int64[]"}


def test_a_field_that_some_records_have_may_be_missing_from_a_file(tmp_path, tf):
    first = written(tmp_path / "a", [example(a=1, b=1), example(a=2)])
    second = written(tmp_path / "b", [example(a=2)])
    assert fields(first, second) == fields(second, first) == {"a": "int64", "b": "int64[]"}


def test_image_files_are_told_from_other_bytes(tmp_path, tf):
    files = {
        "jpeg": jpeg(photo()),
        "png": b"\x89PNG\r\n\x1a\n" + bytes(9),
        "webp": b"RIFF\x00\x00\x00\x00WEBP",
        "text": b"cat",
        "bmp": b"BM\x0a\x00\x00\x00    ",
        "words": b"BMW is a car",
    }
    found = fields(written(tmp_path / "a", [example(**files)]))
    assert [name for name, kind in found.items() if kind == "image"] == [
        "bmp",
        "jpeg",
        "png",
        "webp",
    ]


def test_a_damaged_record_does_not_keep_the_others_from_being_looked_at(tmp_path, tf):
    file = written(tmp_path / "a", [example(a=1)] * 5)
    flipped(file, 60)
    assert fields(file) == {"a": "int64"}


def test_files_with_other_fields_are_named(tmp_path, tf):
    first = written(tmp_path / "a", [example(a=1)])
    more = written(tmp_path / "b", [example(a=1, z=2)])
    with pytest.raises(PipelineError) as caught:
        fields(first, more)
    assert f"{more}: its records differ from those of {first}: it has z too" in str(caught.value)
    with pytest.raises(PipelineError, match="it lacks z"):
        fields(more, first)


def test_fields_of_another_kind_are_named(tmp_path, tf):
    first = written(tmp_path / "a", [example(a=1)])
    second = written(tmp_path / "b", [example(a=0.5)])
    with pytest.raises(PipelineError, match=f"{second}: 'a' is float32, but int64 in {first}"):
        fields(first, second)


def test_an_empty_file_among_others_is_passed_over(tmp_path, tf):
    assert fields(written(tmp_path / "a", []), written(tmp_path / "b", [example(a=1)])) == {
        "a": "int64"
    }


def test_files_without_records_are_told(tmp_path, tf):
    files = [written(tmp_path / name, []) for name in "ab"]
    with pytest.raises(PipelineError, match="there is no record in it, nor in the other 1 files"):
        fields(*files)


def test_a_sequence_example_is_told(tmp_path, tf):
    message = tf.train.SequenceExample()
    message.feature_lists.feature_list["frames"].feature.add().int64_list.value.append(1)
    message.context.feature["id"].int64_list.value.append(1)
    file = written(tmp_path / "a", [message.SerializeToString()])
    with pytest.raises(PipelineError) as caught:
        fields(file)
    assert f"{file}, record 0: is a tf.train.SequenceExample (lists: frames)" in str(caught.value)
    assert "parse_single_sequence_example" in str(caught.value)


@pytest.mark.parametrize(
    ("record", "told"),
    [
        pytest.param(jpeg(photo()), "looks like an image file", id="image"),
        pytest.param(b'{"a": 1}', "looks like JSON", id="json"),
        pytest.param(b"\x80\x04\x95abc", "looks like a Python pickle", id="pickle"),
        pytest.param(b"a line of text", "looks like text", id="text"),
        pytest.param(bytes([255, 0, 200] * 9), "looks like data of another kind", id="noise"),
    ],
)
def test_records_of_another_kind_are_told_with_what_they_look_like(tmp_path, tf, record, told):
    with pytest.raises(PipelineError, match=told) as caught:
        fields(written(tmp_path / "a", [record]))
    assert "a, record 0: is no tf.train.Example" in str(caught.value)
    assert "parse=function" in str(caught.value)


def test_a_serialized_tensor_is_told_with_how_to_read_it(tmp_path, tf):
    record = tf.io.serialize_tensor(tf.zeros((3, 3))).numpy()
    with pytest.raises(PipelineError, match=r"written by tf\.io\.serialize_tensor") as caught:
        fields(written(tmp_path / "a", [record]))
    assert "tf.io.parse_tensor(record, tf.float32)" in str(caught.value)
