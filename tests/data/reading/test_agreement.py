"""Fields that the user gave are compared with the first records."""

import pytest

import quickfit.data as data
from quickfit.errors import UsageError

from record_files import example, written

pytestmark = pytest.mark.loads_tf


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


@pytest.mark.parametrize("on_bad", ["error", "skip"])
def test_a_name_that_no_record_has_is_told_with_the_near_one(files, on_bad):
    text = told(files, on_bad, lable="int64")
    assert "no record has a field 'lable' (perhaps 'label' is meant)" in text
    assert "The fields in the files are box, label, tags" in text


def test_the_fields_that_are_there_are_told_with_their_kinds(files):
    text = told(files / "b.tfrecord", zebra="int64")
    assert "no record has a field 'zebra'.\n" in text
    assert '{"box": "float32[4]", "label": "int64", "tags": "string[]"}' in text


def test_another_kind_is_told(files):
    assert "'label' is given as 'float32', and is int64 in the files" in told(
        files, label="float32"
    )


def test_another_number_of_values_is_told(files):
    text = told(files, box="float32[3]")
    assert "'box' is given as 'float32[3]', and has 4 values in a record" in text
    assert "any number of them is 'float32[]'" in text
    assert "has 1 to 3 values" in told(files, tags="string[5]")


def test_features_of_tensorflow_are_compared_too(files, tf):
    assert "no record has a field 'tag'" in told(files, tag=tf.io.FixedLenFeature([], tf.string))


@pytest.mark.parametrize("kind", ["int64[]", "string[]"])
def test_a_list_may_be_missing_from_the_first_records(files, kind):
    assert data.records(files / "b.tfrecord", features={"rare": kind}).features == {"rare": kind}


def test_what_only_some_records_contradict_is_left_to_reading(files):
    data.records(files, features={"tags": "string[2]"}, on_bad="skip")
