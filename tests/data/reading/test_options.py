"""Options of `records` that make no sense."""

import pytest

from quickfit.data.reading.options import checked
from quickfit.errors import UsageError

DEFAULTS = {
    "batch": 32,
    "shuffle": True,
    "seed": None,
    "size": None,
    "resize": "antialias",
    "shard": None,
    "cache": "auto",
    "dtype": "uint8",
    "scale": None,
    "augment": None,
    "on_bad": "error",
    "drop_remainder": False,
    "one_hot": False,
    "repeat": False,
}


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"batch": 0}, r"records\(batch=0\): it must be a whole number from 1 on"),
        ({"batch": True}, "must be a whole number"),
        ({"batch": 3.5}, "must be a whole number"),
        ({"shuffle": 0}, r"shuffle=0"),
        ({"seed": -1}, r"seed=-1"),
        ({"size": (1, 2, 3)}, r"give height and width, size=\(224, 224\)"),
        ({"size": "big"}, r"size='big'"),
        ({"size": (0, 5)}, r"size=0"),
        ({"resize": "nearest"}, "choose one of 'bilinear', 'antialias', 'crop', 'pil'"),
        ({"dtype": "int8"}, "choose one of 'uint8', 'float32', 'float16', 'bfloat16'"),
        ({"on_bad": "ignore"}, "choose one of 'error', 'skip'"),
        ({"one_hot": 1}, r"one_hot=1"),
        ({"augment": "flip"}, "must be a function of a batch of images"),
        ({"shard": 3}, r"shard=\(0, 4\)"),
        ({"shard": (4, 4)}, r"the last of 4 workers is shard=\(3, 4\)"),
        ({"scale": (0, 1)}, "uint8 has no room for it"),
        ({"scale": 2, "dtype": "float32"}, r"scale=\(-1, 1\)"),
    ],
)
def test_a_wrong_value_is_told_with_a_right_one(wrong, told):
    with pytest.raises(UsageError, match=told):
        checked(**DEFAULTS | wrong)


def test_one_number_is_both_sides():
    assert checked(**DEFAULTS | {"size": 96}).size == (96, 96)
    assert checked(**DEFAULTS | {"size": [96, 128]}).size == (96, 128)


def test_without_workers_there_is_one():
    assert checked(**DEFAULTS).shard == (0, 1)


def test_batches_have_one_order_with_a_seed_or_without_shuffling():
    assert not checked(**DEFAULTS).is_reproducible
    assert checked(**DEFAULTS | {"seed": 0}).is_reproducible
    assert checked(**DEFAULTS | {"shuffle": False}).is_reproducible
