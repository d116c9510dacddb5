"""Settings that cannot be meant are told before anything starts."""

import numpy as np
import pytest

from quickfit.errors import UsageError
from quickfit.tuning.advice.setting_checks import check_batches, checked
from quickfit.tuning.trials.settings import Setting


@pytest.mark.parametrize("name", ["batch", "steps_per_execution", "intra_threads", "inter_threads"])
@pytest.mark.parametrize("value", [0, -4, 2.5, "64", True])
def test_a_count_that_is_none_is_told(name, value):
    with pytest.raises(UsageError) as caught:
        checked(Setting(**{name: value}))
    assert f"Setting({name}={value!r}): give a whole number, 1 or more" in str(caught.value)


def test_numbers_of_numpy_become_plain_ones():
    found = checked(Setting(batch=np.int64(64), jit=True, policy="mixed_float16"))
    assert found == Setting(batch=64, jit=True, policy="mixed_float16")
    assert type(found.batch) is int


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        (Setting(policy="float8"), "'float8' is no policy that quickfit applies"),
        (Setting(jit="yes"), r"Setting\(jit='yes'\): give True or False"),
        (Setting(in_memory=True), "in_memory is no setting to train with"),
    ],
)
def test_other_values_are_told(setting, message):
    with pytest.raises(UsageError, match=message):
        checked(setting)


def test_a_batch_beyond_the_arrays_is_told():
    arrays = (np.zeros((20, 3)), np.zeros(20))
    with pytest.raises(UsageError, match=r"batch=64\): the data has only 20 samples.\nGive a"):
        check_batches((Setting(jit=True), Setting(batch=64)), arrays)
    check_batches((Setting(batch=20),), arrays)


def test_of_other_data_nothing_is_known_yet():
    check_batches((Setting(batch=64),), None)
    check_batches((Setting(batch=64),), iter([1]))
