"""Errors of the parts that `images` shares with `records`, told as those of `records`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from quickfit.errors import PipelineError, UsageError


@contextmanager
def told_as_records() -> Iterator[None]:
    """Let errors name the function that the user called."""
    try:
        yield
    except (PipelineError, UsageError) as error:
        raise type(error)(str(error).replace("images(", "records(")) from error
