"""Every option of `images` that makes no sense is told, with the value received and what to do."""

import numpy as np
import pytest

from quickfit.data.options import (
    check_image_options,
    check_record_options,
    check_source,
    check_split,
)
from quickfit.errors import UsageError

USUAL = {
    "size": (224, 224),
    "batch": 32,
    "shuffle": True,
    "seed": None,
    "augment": None,
    "dtype": "uint8",
    "scale": None,
    "resize": "bilinear",
    "on_bad": "error",
    "one_hot": False,
    "drop_remainder": False,
    "shard": None,
    "repeat": False,
    "cache": "auto",
}


def choices(**changed):
    return check_image_options({**USUAL, **changed})


@pytest.mark.parametrize("size", [96, (96, 96), [96, 96], np.int64(96), (np.int32(96), 96)])
def test_a_size_is_one_number_or_two(size):
    assert choices(size=size).size == (96, 96)


def test_an_image_has_three_channels():
    assert choices(size=(10, 20)).image_shape == (10, 20, 3)


def test_a_float_dtype_is_scaled_to_one_by_default():
    assert choices(dtype="float32").scale == (0.0, 1.0)
    assert choices(dtype=np.float32, scale=(-1, 1)).scale == (-1.0, 1.0)
    assert choices().scale is None


@pytest.mark.parametrize(
    ("option", "value", "told"),
    [
        ("size", None, "size=None): give height and width in pixels, as size=(224, 224)"),
        ("size", (224,), "give height and width"),
        ("size", (0, 5), "size=0): it must be a whole number, 1 or more"),
        ("size", 22.4, "size=22.4"),
        ("batch", 0, "batch=0): it must be a whole number, 1 or more"),
        ("batch", True, "batch=True"),
        ("shuffle", 1000, "shuffle=1000): it must be True or False"),
        ("seed", -1, "seed=-1): it must be a whole number, 0 or more"),
        ("seed", "a", "seed='a'"),
        ("augment", "flip", "augment='flip'): give a function of a batch of images, or a Keras"),
        ("dtype", "int8", "'int8'): it can be one of 'uint8', 'float32', 'float16', 'bfloat16'"),
        ("scale", (0, 1), "uint8 holds 0 to 255. Give dtype='float32' with it"),
        ("resize", "lanczos", "'lanczos'): it can be one of 'bilinear', 'antialias', 'crop'"),
        ("on_bad", "ignore", "on_bad='ignore'): it can be one of 'error', 'skip'"),
        ("one_hot", "yes", "one_hot='yes'): it must be True or False"),
        ("shard", 3, "shard=3): give the index of this worker"),
        ("shard", (2, 2), "of 2 workers the index goes from 0 to 1"),
        ("drop_remainder", None, "drop_remainder=None"),
        ("repeat", 2, "repeat=2): it must be True or False"),
    ],
)
def test_a_value_that_makes_no_sense_is_told(option, value, told):
    with pytest.raises(UsageError) as error:
        choices(**{option: value})

    assert told in str(error.value)
    assert str(error.value).startswith("images(")


@pytest.mark.parametrize("scale", [1 / 255, (0, 1, 2), ("a", "b"), (0, float("nan"))])
def test_a_scale_is_two_numbers(scale):
    with pytest.raises(UsageError, match="give what black and white become"):
        choices(dtype="float32", scale=scale)


def test_a_split_is_a_share_or_all_shares():
    assert check_split(None) is None
    assert check_split(0.25) == (0.75, 0.25)
    assert check_split([0.5, 0.25, 0.25]) == (0.5, 0.25, 0.25)


@pytest.mark.parametrize(
    ("split", "told"),
    [
        ((0.5, 0.6), "the shares add up to 1.1, not to 1"),
        (1.5, "every share must lie between 0 and 1"),
        (0, "every share must lie between 0 and 1"),
        ((1.0,), "two parts at least are needed"),
        ("0.2", "give the share of the validation part (split=0.2)"),
        ((0.5, "x"), "give the share of the validation part"),
        (True, "give the share of the validation part"),
    ],
)
def test_a_split_that_makes_no_sense_is_told(split, told):
    with pytest.raises(UsageError) as error:
        check_split(split)

    assert told in str(error.value)


@pytest.mark.parametrize(
    ("source", "what"),
    [
        (np.zeros((4, 8, 8, 3), np.uint8), "an array (4, 8, 8, 3)"),
        ([np.zeros((8, 8))], "a list of arrays (8, 8)"),
    ],
)
def test_pixels_are_no_files(source, what):
    with pytest.raises(UsageError) as error:
        check_source(source)

    assert f"{what} was given. These are pixels" in str(error.value)
    assert "use tf.data.Dataset.from_tensor_slices" in str(error.value)


@pytest.mark.parametrize("source", ["photos", [], ["a.jpg"], np.array(["a.jpg", "b.jpg"])])
def test_names_of_files_are_no_pixels(source):
    check_source(source)


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
        ({"batch": 0}, r"records\(batch=0\): it must be a whole number, 1 or more"),
        ({"batch": True}, "must be a whole number"),
        ({"batch": 3.5}, "must be a whole number"),
        ({"shuffle": 0}, r"shuffle=0"),
        ({"seed": -1}, r"seed=-1"),
        ({"size": (1, 2, 3)}, r"give height and width in pixels, as size=\(224, 224\)"),
        ({"size": "big"}, r"size='big'"),
        ({"size": (0, 5)}, r"size=0"),
        ({"resize": "nearest"}, "it can be one of 'bilinear', 'antialias', 'crop', 'pil'"),
        ({"dtype": "int8"}, "it can be one of 'uint8', 'float32', 'float16', 'bfloat16'"),
        ({"on_bad": "ignore"}, "it can be one of 'error', 'skip'"),
        ({"one_hot": 1}, r"one_hot=1"),
        ({"augment": "flip"}, "give a function of a batch of images"),
        ({"shard": 3}, r"shard=\(0, 4\)"),
        ({"shard": (4, 4)}, "of 4 workers the index goes from 0 to 3"),
        ({"scale": (0, 1)}, "uint8 holds 0 to 255"),
        ({"scale": 2, "dtype": "float32"}, r"scale=\(-1, 1\)"),
    ],
)
def test_a_wrong_value_is_told_with_a_right_one(wrong, told):
    with pytest.raises(UsageError, match=told):
        check_record_options(DEFAULTS | wrong)


def test_one_number_is_both_sides():
    assert check_record_options(DEFAULTS | {"size": 96}).size == (96, 96)
    assert check_record_options(DEFAULTS | {"size": [96, 128]}).size == (96, 128)


def test_without_workers_there_is_one():
    assert check_record_options(DEFAULTS).shard == (0, 1)


def test_batches_have_one_order_with_a_seed_or_without_shuffling():
    assert not check_record_options(DEFAULTS).is_reproducible
    assert check_record_options(DEFAULTS | {"seed": 0}).is_reproducible
    assert check_record_options(DEFAULTS | {"shuffle": False}).is_reproducible
