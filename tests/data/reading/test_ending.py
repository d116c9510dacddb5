"""Length, gaps and options of a finished pipeline."""

import pytest

import quickfit.data as data
from quickfit.data.entries import Reason, SourceImageError
from quickfit.data.reading.ending import steps, without_gaps
from quickfit.data.reading.faults import Faults
from quickfit.data.reading.options import Options

pytestmark = pytest.mark.loads_tf


def options(**values):
    names = Options.__dataclass_fields__
    return Options(**dict.fromkeys(names) | {"batch": 4, "drop_remainder": False} | values)


@pytest.mark.parametrize(("count", "whole", "all_of_them"), [(8, 2, 2), (9, 2, 3), (3, 0, 1)])
def test_a_last_batch_counts_unless_it_is_dropped(count, whole, all_of_them):
    assert steps(count, options(drop_remainder=True)) == whole
    assert steps(count, options()) == all_of_them


def sizes(dataset):
    return [len(first) for first, _ in dataset]


def test_a_batch_that_lost_everything_is_left_out(tf):
    batches = tf.data.Dataset.from_tensor_slices([4, 0, 3]).map(
        lambda size: (tf.range(size), tf.range(size))
    )
    assert sizes(without_gaps(batches, options(), Faults(skips=True), 7)) == [4, 3]


def test_batches_that_must_be_full_are_filled_up(tf):
    batches = tf.data.Dataset.from_tensor_slices([4, 0, 3, 4]).map(
        lambda size: (tf.range(size), tf.range(size))
    )
    assert sizes(without_gaps(batches, options(drop_remainder=True), Faults(skips=True), 11)) == [
        4,
        4,
    ]


@pytest.mark.parametrize("drop_remainder", [False, True])
def test_a_pass_that_lost_everything_is_an_error(tf, drop_remainder):
    faults = Faults(skips=True)
    faults.note("a.tfrecord, record 0", SourceImageError(Reason.CORRUPT, "it is odd"), "")
    batches = tf.data.Dataset.from_tensor_slices([0, 0]).map(
        lambda size: (tf.range(size), tf.fill([size], "text"))
    )
    dataset = without_gaps(batches, options(drop_remainder=drop_remainder), faults, 1234)
    with pytest.raises(tf.errors.OpError) as caught:
        list(dataset)
    assert "none of the 1,234 records can be used; the first is\n" in str(caught.value)
    assert "a.tfrecord, record 0: corrupt: it is odd" in str(caught.value)


def test_tensorflow_does_not_divide_what_is_a_share_already(tmp_path, tf):
    from record_files import packed

    pack = packed(tmp_path, classes={"cat": 4, "dog": 3})
    policies = tf.data.experimental.AutoShardPolicy
    found = [
        data.records(pack, shard=shard).options().experimental_distribute.auto_shard_policy
        for shard in (None, (0, 2))
    ]
    assert found == [policies.DATA, policies.OFF]
