"""The fields of records, in the user's words."""

import pytest

import quickfit.data as data
from quickfit.data.record_fields import RecordField, RecordSpec, infer_spec, spec_from_features
from quickfit.errors import PipelineError, UsageError

from photos import jpeg, photo
from record_files import example, flipped, written


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("int64", RecordField("int64")),
        ("int", RecordField("int64")),
        ("float32[3]", RecordField("float32", (3,))),
        ("float [ 28, 28 ]", RecordField("float32", (28, 28))),
        ("bytes[]", RecordField("string", None)),
        ("jpeg", RecordField("image")),
    ],
)
def test_a_kind_is_read_from_a_text(text, field):
    assert spec_from_features({"a": text}).fields == {"a": field}


def test_what_is_printed_can_be_pasted():
    spec = RecordSpec(
        {
            "a/b": RecordField("int64"),
            "c": RecordField("float32", (2, 3)),
            "d": RecordField("string", None),
        }
    )
    assert str(spec) == '{"a/b": "int64", "c": "float32[2,3]", "d": "string[]"}'
    assert spec_from_features({name: str(field) for name, field in spec.fields.items()}) == spec


@pytest.mark.parametrize("features", [None, {}, "int64", ["a"]])
def test_what_is_no_dict_is_refused_with_an_example(features):
    with pytest.raises(UsageError, match="give a dict of names and kinds"):
        spec_from_features(features)


@pytest.mark.parametrize("kind", ["int32", "", "int64[x]", "[3]", "int64[3"])
def test_an_unknown_kind_is_refused_with_the_known_ones(kind):
    with pytest.raises(UsageError, match="kinds are 'int64', 'float32', 'string' and 'image'"):
        spec_from_features({"a": kind})


def test_a_type_is_refused_with_what_to_write():
    with pytest.raises(UsageError, match=r"Say its kind in a text, {'a': 'int64'}"):
        spec_from_features({"a": int})


def found(**kinds):
    fields = {name.replace("__", "/"): kind for name, kind in kinds.items()}
    return RecordSpec(spec_from_features(fields).fields, is_found=True)


@pytest.mark.parametrize(
    ("spec", "pair"),
    [
        pytest.param(found(x="image", n="int64"), ("x", "n"), id="the only number"),
        pytest.param(found(x="image", n="int64", label="int64"), ("x", "label"), id="named label"),
        pytest.param(
            found(image__encoded="image", image__class__label="int64", image__height="int64"),
            ("image/encoded", "image/class/label"),
            id="behind a slash",
        ),
        pytest.param(found(x="image", a="int64", b="int64"), None, id="two numbers"),
        pytest.param(found(x="image", label="int64", y="int64"), None, id="two labels"),
        pytest.param(found(x="image", y="image", label="int64"), None, id="two images"),
        pytest.param(found(x="image"), None, id="no number"),
        pytest.param(found(x="string", label="int64"), None, id="no image"),
        pytest.param(found(x="image", label="int64[2]"), None, id="several labels"),
        pytest.param(
            spec_from_features({"x": "image", "n": "int"}), ("x", "n"), id="two fields given"
        ),
        pytest.param(
            spec_from_features({"x": "image", "label": "int", "z": "string"}),
            None,
            id="three given",
        ),
    ],
)
def test_image_and_label_are_a_pair_only_where_it_is_obvious(spec, pair):
    assert spec.pair == pair


def fields(*files):
    found = infer_spec({str(file): "" for file in files}).fields
    return {name: str(field) for name, field in found.items()}


@pytest.mark.loads_tf
def test_one_value_several_and_any_number_are_told_apart(tmp_path, tf):
    records = [example(one=n, three=[0.5] * 3, some=[b"x"] * n) for n in range(1, 5)]
    assert fields(written(tmp_path / "a", records)) == {
        "one": "int64",
        "some": "string[]",
        "three": "float32[3]",
    }


@pytest.mark.loads_tf
def test_a_field_that_some_records_lack_has_any_number(tmp_path, tf):
    records = [example(a=1, b=1), example(a=2), example(a=3, b=[])]
    assert fields(written(tmp_path / "a", records)) == {"a": "int64", "b": "int64[]"}


@pytest.mark.loads_tf
def test_a_field_that_some_records_have_may_be_missing_from_a_file(tmp_path, tf):
    first = written(tmp_path / "a", [example(a=1, b=1), example(a=2)])
    second = written(tmp_path / "b", [example(a=2)])
    assert fields(first, second) == fields(second, first) == {"a": "int64", "b": "int64[]"}


@pytest.mark.loads_tf
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


@pytest.mark.loads_tf
def test_a_damaged_record_does_not_keep_the_others_from_being_looked_at(tmp_path, tf):
    file = written(tmp_path / "a", [example(a=1)] * 5)
    flipped(file, 60)
    assert fields(file) == {"a": "int64"}


@pytest.mark.loads_tf
def test_files_with_other_fields_are_named(tmp_path, tf):
    first = written(tmp_path / "a", [example(a=1)])
    more = written(tmp_path / "b", [example(a=1, z=2)])
    with pytest.raises(PipelineError) as caught:
        fields(first, more)
    assert f"{more}: its records differ from those of {first}: it has z too" in str(caught.value)
    with pytest.raises(PipelineError, match="it lacks z"):
        fields(more, first)


@pytest.mark.loads_tf
def test_fields_of_another_kind_are_named(tmp_path, tf):
    first = written(tmp_path / "a", [example(a=1)])
    second = written(tmp_path / "b", [example(a=0.5)])
    with pytest.raises(PipelineError, match=f"{second}: 'a' is float32, but int64 in {first}"):
        fields(first, second)


@pytest.mark.loads_tf
def test_an_empty_file_among_others_is_passed_over(tmp_path, tf):
    assert fields(written(tmp_path / "a", []), written(tmp_path / "b", [example(a=1)])) == {
        "a": "int64"
    }


@pytest.mark.loads_tf
def test_files_without_records_are_told(tmp_path, tf):
    files = [written(tmp_path / name, []) for name in "ab"]
    with pytest.raises(PipelineError, match="there is no record in it, nor in the other 1 files"):
        fields(*files)


@pytest.mark.loads_tf
def test_a_sequence_example_is_told(tmp_path, tf):
    message = tf.train.SequenceExample()
    message.feature_lists.feature_list["frames"].feature.add().int64_list.value.append(1)
    message.context.feature["id"].int64_list.value.append(1)
    file = written(tmp_path / "a", [message.SerializeToString()])
    with pytest.raises(PipelineError) as caught:
        fields(file)
    assert f"{file}, record 0: is a tf.train.SequenceExample (lists: frames)" in str(caught.value)
    assert "parse_single_sequence_example" in str(caught.value)


@pytest.mark.loads_tf
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


@pytest.mark.loads_tf
def test_a_serialized_tensor_is_told_with_how_to_read_it(tmp_path, tf):
    record = tf.io.serialize_tensor(tf.zeros((3, 3))).numpy()
    with pytest.raises(PipelineError, match=r"written by tf\.io\.serialize_tensor") as caught:
        fields(written(tmp_path / "a", [record]))
    assert "tf.io.parse_tensor(record, tf.float32)" in str(caught.value)


@pytest.fixture(scope="module")
def files(tmp_path_factory, tf):
    folder = tmp_path_factory.mktemp("records")
    contents = [example(label=n, box=[0.5] * 4, tags=[b"x"] * (1 + n % 3)) for n in range(20)]
    written(folder / "a.tfrecord", [b"no example", *contents])
    written(folder / "b.tfrecord", contents)
    return folder


def told(files, on_bad="error", **features):
    with pytest.raises(UsageError) as caught:
        data.records(files, features=features, on_bad=on_bad)
    return str(caught.value)


@pytest.mark.loads_tf
@pytest.mark.parametrize("on_bad", ["error", "skip"])
def test_a_name_that_no_record_has_is_told_with_the_near_one(files, on_bad):
    text = told(files, on_bad, lable="int64")
    assert "no record has a field 'lable' (perhaps 'label' is meant)" in text
    assert "The fields in the files are box, label, tags" in text


@pytest.mark.loads_tf
def test_the_fields_that_are_there_are_told_with_their_kinds(files):
    text = told(files / "b.tfrecord", zebra="int64")
    assert "no record has a field 'zebra'.\n" in text
    assert '{"box": "float32[4]", "label": "int64", "tags": "string[]"}' in text


@pytest.mark.loads_tf
def test_another_kind_is_told(files):
    assert "'label' is given as 'float32', and is int64 in the files" in told(
        files, label="float32"
    )


@pytest.mark.loads_tf
def test_another_number_of_values_is_told(files):
    text = told(files, box="float32[3]")
    assert "'box' is given as 'float32[3]', and has 4 values in a record" in text
    assert "any number of them is 'float32[]'" in text
    assert "has 1 to 3 values" in told(files, tags="string[5]")


@pytest.mark.loads_tf
def test_features_of_tensorflow_are_compared_too(files, tf):
    assert "no record has a field 'tag'" in told(files, tag=tf.io.FixedLenFeature([], tf.string))


@pytest.mark.loads_tf
@pytest.mark.parametrize("kind", ["int64[]", "string[]"])
def test_a_list_may_be_missing_from_the_first_records(files, kind):
    assert data.records(files / "b.tfrecord", features={"rare": kind}).features == {"rare": kind}


@pytest.mark.loads_tf
def test_what_only_some_records_contradict_is_left_to_reading(files):
    data.records(files, features={"tags": "string[2]"}, on_bad="skip")
