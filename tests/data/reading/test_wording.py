"""Errors of shared parts."""

import pytest

from quickfit.data.reading.wording import told_as_records
from quickfit.errors import PipelineError, UsageError


@pytest.mark.parametrize("kind", [PipelineError, UsageError])
def test_an_error_names_the_function_that_was_called(kind):
    with pytest.raises(kind, match=r"^records\(cache=5\): give"), told_as_records():
        raise kind("images(cache=5): give another")
