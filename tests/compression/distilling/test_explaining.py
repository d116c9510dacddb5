"""Errors of Keras and TensorFlow in a line."""

import pytest

from quickfit.compression.distilling.explaining import explained
from quickfit.errors import ModelError

pytestmark = [pytest.mark.loads_tf, pytest.mark.usefixtures("tf")]


def test_the_line_with_the_reason_is_told():
    text = 'Graph execution error:\n\nFile "labels.py"\nReceived a label value of 9 …\nmore'
    message = "The training failed: ValueError: Received a label value of 9"
    with pytest.raises(ModelError, match=message), explained("The training"):
        raise ValueError(text)


def test_an_error_without_text_is_told_by_its_name():
    with pytest.raises(ModelError, match="TypeError: no reason given"), explained("It"):
        raise TypeError


def test_other_errors_stay_what_they_are():
    with pytest.raises(KeyError), explained("It"):
        raise KeyError("of the user's data")
