"""What `quickfit.data` and `quickfit.tuning` offer is there, and loads nothing before its use."""

import subprocess
import sys

import pytest

import quickfit


@pytest.mark.parametrize("package", ["compression", "data", "tuning"])
def test_importing_a_package_loads_no_tensorflow_and_nothing_heavy(package):
    code = f"import sys, quickfit.{package}; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert not {"tensorflow", "keras", "PIL", "numpy", "pandas"} & set(loaded)


def test_every_name_is_a_function_also_after_its_package_was_imported():
    for name in quickfit.data.__all__:
        assert callable(getattr(quickfit.data, name)), name
        assert getattr(quickfit.data, name).__doc__, name


def test_a_name_that_is_not_there_is_said_to_be():
    with pytest.raises(AttributeError, match=r"'quickfit.data' has no attribute 'image'"):
        quickfit.data.image  # noqa: B018 - asking for it is the test
    with pytest.raises(AttributeError, match=r"'quickfit.tuning' has no attribute 'tune'"):
        quickfit.tuning.tune  # noqa: B018 - asking for it is the test
